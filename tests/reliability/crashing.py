"""The real command line in a forked child, on a disk that fails as planned.

Importing everything and loading the model takes ten seconds, so one process does it once and is
forked for each command: one thread, no file open. It is reached through a socket, by as many
threads of the tests as like to, and ends with them.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import redirect_stdout, suppress
from dataclasses import asdict, dataclass
from io import StringIO
from pathlib import Path

import cli_calls

from .disk import Disk, Fault

_TESTS = Path(__file__).parents[1]
# A command that has not ended by then hangs.
_MAX_SECONDS = 90
# CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: with them, root may read and write everything.
_MAY_ALL = 0b110


@dataclass(frozen=True)
class Job:
    """A command, and the fault that happens meanwhile."""

    arguments: tuple[str, ...]
    # None: the disk is not listened to.
    fault: Fault | None = None
    kill_after: float | None = None
    # No file may grow beyond this many bytes.
    largest_file: int | None = None
    # Permissions count, for root too.
    unprivileged: bool = False


@dataclass(frozen=True)
class Ended(cli_calls.Ended):
    """How a command ended; the code is negative if it was a signal."""

    touches: int
    seconds: float


def run(job: Job) -> Ended:
    """Run a command and wait for its end. Raises TimeoutError if it hangs."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(_server())
        with connection.makefile("rw") as stream:
            stream.write(json.dumps(asdict(job)) + "\n")
            stream.flush()
            answer = json.loads(stream.readline())
    if answer["code"] is None:
        raise TimeoutError(f"{job.arguments} did not end: {answer['err']}")
    return Ended(**answer)


_STARTING = threading.Lock()


def _server() -> str:
    """Return the path of the socket of the forking process: there is one for all threads."""
    with _STARTING:
        return _start()


@functools.cache
def _start() -> str:
    """Start the forking process, and return the path of its socket."""
    folder = tempfile.mkdtemp(prefix="slowwave-")
    path = f"{folder}/socket"
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys, reliability.crashing as c; c.serve(sys.argv[1])", path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(_TESTS), *sys.path[1:]]),
            **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1"),
        },
    )

    def end() -> None:
        process.communicate()
        Path(path).unlink(missing_ok=True)
        Path(folder).rmdir()

    atexit.register(end)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return path


def serve(path: str) -> None:
    """Load everything, then fork for each job until stdin is closed."""
    _warm_up()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the children here
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        os.write(1, b"ready\n")
        while listener in select.select([listener, sys.stdin], [], [])[0]:
            connection, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                _answer(connection)
                os._exit(0)
            connection.close()


def _warm_up() -> None:
    """Run a whole night once, so that a child finds everything loaded."""
    from nights import fill

    from slowwave.cli.app import run as command
    from slowwave.consolidation.model.litellm_client import load_litellm
    from slowwave.consolidation.vectors import embedder as embed

    # On one core the model has no threads of its own, which no child would have.
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    embed._load = functools.cache(embed._load)
    texts = ["Helvi settles the invoices.", "The invoices are settled by Helvi.", "Tea is at 4."]
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        path = f"{folder}/memory.db"
        command(["import", "--empty", path, "--quiet"])
        fill(Path(path), texts)
        command(["maintain", path, "--consolidate", "--json", "--quiet"])
        command(["check", path, "--quiet"])
    load_litellm()
    os.sched_setaffinity(0, cores)


def _answer(connection: socket.socket) -> None:
    with connection, connection.makefile("rw") as stream:
        asked = json.loads(stream.readline())
        job = Job(**{**asked, "fault": asked["fault"] and Fault(**asked["fault"])})
        with tempfile.TemporaryDirectory() as folder:
            answer = _ended(job, Path(folder))
        stream.write(json.dumps(answer) + "\n")


def _ended(job: Job, folder: Path) -> dict[str, object]:
    for name in ("out", "err", "touches"):  # here, since the command may be killed at once
        (folder / name).touch()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _command(job, folder)
    ends_at = began + (_MAX_SECONDS if job.kill_after is None else job.kill_after)
    hangs = False
    while (status := os.waitpid(child, os.WNOHANG)) == (0, 0):
        if time.monotonic() > ends_at:
            os.kill(child, signal.SIGKILL)
            hangs, ends_at = job.kill_after is None, ends_at + _MAX_SECONDS
        time.sleep(0.001)
    return {
        "code": None if hangs else os.waitstatus_to_exitcode(status[1]),
        "out": (folder / "out").read_text(errors="replace"),
        "err": (folder / "err").read_text(errors="replace"),
        "touches": int(f"0{(folder / 'touches').read_text()}"),  # none if it was killed
        "seconds": time.monotonic() - began,
    }


def _command(job: Job, folder: Path) -> None:
    """Run the command in this process, and exit."""
    from slowwave.cli.app import run as command

    for number, name in ((1, "out"), (2, "err")):
        os.dup2(os.open(folder / name, os.O_WRONLY), number)
    disk = Disk(job.fault or Fault(folder=""))
    code = 70
    try:
        count = os.open(folder / "touches", os.O_WRONLY)
        if job.fault is not None:
            disk.install()
        if job.largest_file is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (job.largest_file,) * 2)
        if job.unprivileged:
            drop_power()
        code = command(list(job.arguments))
        with suppress(OSError):  # the largest file may be smaller than even this
            os.write(count, str(disk.touches).encode())
    except BaseException:  # noqa: BLE001 - a defect of the harness must be seen
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def drop_power() -> None:
    """Drop the capabilities by which root ignores permissions."""
    libc = ctypes.CDLL(None, use_errno=True)
    head = (ctypes.c_uint32 * 2)(0x20080522, 0)  # _LINUX_CAPABILITY_VERSION_3, this process
    sets = (ctypes.c_uint32 * 6)()  # effective, permitted, inheritable; then their upper halves
    if libc.capget(head, sets):
        raise OSError(ctypes.get_errno(), "capget")
    for number in range(3):
        sets[number] &= ~_MAY_ALL
    if libc.capset(head, sets):
        raise OSError(ctypes.get_errno(), "capset")
