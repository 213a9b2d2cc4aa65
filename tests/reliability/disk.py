"""A disk that fails as planned, under the real SQLite and the real program.

SQLite reaches its files through a table of functions, its VFS. The default one is copied here, and
what writes, cuts, syncs, creates or deletes a file goes through Python first. Each of these is a
touch and has a number, and so has what Python itself does to files in the same folder. At a chosen
touch the process dies, or the touch fails; or all touches are written down, for a power loss to
be played back later. The -shm file is memory that SQLite shares between processes: left alone.

Only for a process that ends soon: this cannot be uninstalled.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import signal
import sqlite3
import sys
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_int, c_int64, c_void_p
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

What = Literal["nothing", "kill", "tear", "error", "full", "unreadable", "record"]

_FULL, _CANTOPEN = 13, 14
_IOERR = {"write": 778, "sync": 1034, "truncate": 1546, "delete": 2570}
_CREATE = 4  # SQLITE_OPEN_CREATE
# What Python does to names, besides opening them.
_NAMES = {"os.link", "os.rename", "os.remove", "os.chmod", "os.mkdir", "os.truncate"}


@dataclass(frozen=True)
class Fault:
    """What happens at which touch: 1 is the first; `lasting`: at every later one, too."""

    folder: str
    what: What = "nothing"
    number: int = 0
    lasting: bool = False
    # Where the touches are written down, or whose permissions are taken away.
    path: str = ""


def linked_library() -> str | None:
    """Return the path of the SQLite that Python uses; None if it is a part of Python itself."""
    maps = Path("/proc/self/maps")
    match = re.search(r"\S*/libsqlite3\.so\S*", maps.read_text()) if maps.exists() else None
    return match.group() if match and sqlite3.sqlite_version else None


class Disk:
    """The files of a folder, whose touches are counted."""

    def __init__(self, fault: Fault) -> None:
        """Start counting; `install` hooks SQLite and Python."""
        self.fault = fault
        self.touches = 0
        self._record = (
            Path(fault.path).open("w", buffering=1)  # noqa: SIM115 - until the process ends
            if fault.what == "record"
            else None
        )

    def touch(self, kind: str, path: str, torn: Callable[[], object] | None = None) -> bool:
        """Count a touch before it is made, and return whether it must fail.

        `torn` makes the first half of it.
        """
        if Path(path).parent != Path(self.fault.folder):
            return False
        self.touches += 1
        due = self.touches == self.fault.number
        if due and self.fault.what == "tear" and torn is not None:
            torn()
        if due and self.fault.what in ("kill", "tear"):
            os.kill(os.getpid(), signal.SIGKILL)
        if due and self.fault.what == "unreadable":
            Path(self.fault.path).chmod(0)
        due |= self.fault.lasting and self.touches > self.fault.number > 0
        return due and self.fault.what in ("error", "full")

    def write_down(self, kind: str, path: str, *more: object) -> None:
        """Record a touch, for a simulated power loss."""
        if self._record is not None and Path(path).parent == Path(self.fault.folder):
            self._record.write(json.dumps([kind, Path(path).name, *more]) + "\n")

    def code(self, kind: str) -> int:
        """Return the error code for a touch that fails."""
        if kind == "open":
            return _CANTOPEN
        return _FULL if self.fault.what == "full" and kind == "write" else _IOERR[kind]

    def install(self) -> None:
        """Hook SQLite and Python."""
        _listen_to_sqlite(self)
        if self._record is not None:
            _write_commits_down(self)
        sys.addaudithook(self._heard)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT
        if event == "open":
            if isinstance(arguments[0], int) or not arguments[2] & writes:
                return
        elif event not in _NAMES:
            return
        path = _path_of(arguments[0])
        if self.touch(event, path):
            number = errno.ENOSPC if self.fault.what == "full" else errno.EIO
            raise OSError(number, os.strerror(number), path)
        if event == "open":
            self.write_down("create", path)


def _path_of(file: int | str | bytes | os.PathLike[str]) -> str:
    """Return the whole path of a name or of an open file."""
    name = f"/proc/self/fd/{file}" if isinstance(file, int) else os.fsdecode(file)
    return str(Path(name).readlink() if isinstance(file, int) else Path(name).absolute())


# Pointers to functions, in the order of sqlite3.h.
_METHODS = (
    *("close", "read", "write", "truncate", "sync", "size", "lock", "unlock", "reserved"),
    *("control", "sector", "device", "shm_map", "shm_lock", "shm_barrier", "shm_unmap"),
    *("fetch", "unfetch"),
)
_FUNCTIONS = (
    *("open", "delete", "access", "full", "dlopen", "dlerror", "dlsym", "dlclose", "random"),
    *("sleep", "time", "error", "time64", "set_call", "get_call", "next_call"),
)


class _Methods(ctypes.Structure):
    """sqlite3_io_methods, version 3."""

    _fields_ = [("version", c_int), *((name, c_void_p) for name in _METHODS)]


class _Vfs(ctypes.Structure):
    """sqlite3_vfs, version 3."""

    _fields_ = [
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        *((name, c_void_p) for name in _FUNCTIONS),
    ]


_Open = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, c_void_p)
_Delete = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
_Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_Truncate = CFUNCTYPE(c_int, c_void_p, c_int64)
_Sync = CFUNCTYPE(c_int, c_void_p, c_int)
_Opened = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
_Traced = CFUNCTYPE(c_int, ctypes.c_uint, c_void_p, c_void_p, c_void_p)
# sqlite3_trace_v2: a statement begins, a statement has ended.
_BEGINS, _ENDS = 1, 2

# SQLite keeps pointers to these for as long as the process lives.
_kept: list[object] = []


def _listen_to_sqlite(disk: Disk) -> None:
    library = ctypes.CDLL(linked_library())
    library.sqlite3_vfs_find.restype = POINTER(_Vfs)
    original = library.sqlite3_vfs_find(None).contents
    vfs = _Vfs.from_buffer_copy(original)
    vfs.name = b"faulty"
    really_open, really_delete = _Open(original.open), _Delete(original.delete)
    paths: dict[int, str] = {}
    tables: dict[int, _Methods] = {}

    @_Open
    def open_(vfs: int, name: int | None, file: int, flags: int, out: int | None) -> int:
        path = ctypes.string_at(name).decode() if name else ""
        creates = bool(path and flags & _CREATE and not Path(path).exists())
        if creates and disk.touch("open", path):
            c_void_p.from_address(file).value = None  # SQLite closes what has methods
            return disk.code("open")
        code = really_open(vfs, name, file, flags, out)
        methods = c_void_p.from_address(file)
        if code == 0 and path and methods.value:
            paths[file] = path
            if methods.value not in tables:
                tables[methods.value] = _listening(disk, methods.value, paths)
            methods.value = ctypes.addressof(tables[methods.value])
        if code == 0 and creates:
            disk.write_down("create", path)
        return int(code)

    @_Delete
    def delete(vfs: int, name: int, sync: int) -> int:
        path = ctypes.string_at(name).decode()
        if Path(path).exists() and disk.touch("delete", path):
            return disk.code("delete")
        code = really_delete(vfs, name, sync)
        if code == 0:
            disk.write_down("delete", path, bool(sync))
        return int(code)

    vfs.open, vfs.delete = (ctypes.cast(item, c_void_p).value for item in (open_, delete))
    _kept.extend([open_, delete, vfs, tables])
    library.sqlite3_vfs_register(ctypes.byref(vfs), 1)


def _write_commits_down(disk: Disk) -> None:
    """Record when each commit begins and when it returns."""
    library = ctypes.CDLL(linked_library())
    library.sqlite3_sql.restype = c_char_p
    library.sqlite3_sql.argtypes = [c_void_p]
    library.sqlite3_trace_v2.argtypes = [c_void_p, ctypes.c_uint, _Traced, c_void_p]

    @_Traced
    def traced(event: int, context: int | None, statement: int, more: int) -> int:
        if (library.sqlite3_sql(statement) or b"").strip().upper().startswith(b"COMMIT"):
            kind = "commits" if event == _BEGINS else "committed"
            disk.write_down(kind, f"{disk.fault.folder}/any")
        return 0

    @_Opened
    def opened(db: int, error: int, functions: int) -> int:
        return int(library.sqlite3_trace_v2(db, _BEGINS | _ENDS, traced, None))

    _kept.extend([traced, opened])
    library.sqlite3_auto_extension(opened)


def _listening(disk: Disk, methods: int, paths: dict[int, str]) -> _Methods:
    """Copy the functions of an open file, and wrap those that change it."""
    original = _Methods.from_address(methods)
    table = _Methods.from_buffer_copy(original)
    really_write, really_truncate = _Write(original.write), _Truncate(original.truncate)
    really_sync = _Sync(original.sync)

    @_Write
    def write(file: int, data: int, size: int, offset: int) -> int:
        half = size // 2
        if disk.touch("write", paths[file], lambda: really_write(file, data, half, offset)):
            return disk.code("write")
        code = really_write(file, data, size, offset)
        disk.write_down("write", paths[file], offset, ctypes.string_at(data, size).hex())
        return int(code)

    @_Truncate
    def truncate(file: int, size: int) -> int:
        if disk.touch("truncate", paths[file]):
            return disk.code("truncate")
        code = really_truncate(file, size)
        disk.write_down("truncate", paths[file], size)
        return int(code)

    @_Sync
    def sync(file: int, flags: int) -> int:
        if disk.touch("sync", paths[file]):
            return disk.code("sync")
        code = really_sync(file, flags)
        disk.write_down("sync", paths[file])
        return int(code)

    table.write, table.truncate, table.sync = (
        ctypes.cast(item, c_void_p).value for item in (write, truncate, sync)
    )
    _kept.extend([write, truncate, sync, table])
    return table
