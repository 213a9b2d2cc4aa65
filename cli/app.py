"""The list of commands, and how the process starts and ends."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pkgutil import resolve_name
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_command, get_group

from slowwave.store.extension_points import registered

from .arguments.configured import EPILOG, Command, ConfiguredGroup, add_command, add_hint, group_of
from .arguments.old_spellings import current_command
from .arguments.settings import place_of_refused
from .terminal.exits import SHOWS_TRACEBACKS, Code, report_defect
from .terminal.interpreter import keep_libraries_quiet, tune_interpreter
from .terminal.log_lines import log_lines_of_this_command
from .terminal.output import Output, escape_what_stdout_cannot_spell, shortened, unwritable

# Maximum characters of an error message: arguments may be megabytes long.
_MAX_MESSAGE = 1_000
# How Typer begins the message about a wrong value: with the option, if that is known.
_REFUSED = re.compile(
    r"^Invalid value(?: for (?P<name>'.*?')(?: \(env var: [^)]*\))?)?: (?:Value error, )?"
)
# Requirements of a value, by the type of pydantic's error.
_MUST_BE = {
    "bool_parsing": "must be true or false, not '{input}'",
    "float_parsing": "must be a number, not '{input}'",
    "greater_than_equal": "must be at least {ge:g}, not {input}",
    "int_parsing": "must be an integer, not '{input}'",
    "less_than_equal": "must be at most {le:g}, not {input}",
}
# Values of a variable that Typer accepts as true.
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})

# The panels of the first help screen, in its order, with the module and name of each command.
PANELS = {
    "Consolidate": {
        "maintain": "maintain:maintain",
        "review": "review:app",
        "conflicts": "conflicts:app",
        "log": "log:log",
        "undo": "undo:undo",
    },
    "Read": {"recall": "recall:recall", "list": "list_:list_", "show": "show:show"},
    "Write": {
        "add": "add:add",
        "ingest": "ingest:ingest",
        "import": "import_:import_",
        "export": "export:export",
        "forget": "forget:forget_",
    },
    "Operate": {"check": "check:check", "mcp": "mcp:mcp"},
}
# Commands that only --help-all lists.
MORE = {
    "Consolidate": {
        "dream": "agent_rounds:dream",
        "questions": "agent_rounds:questions",
        "answer": "agent_rounds:answer",
        "eval": "eval_:eval_",
    },
    "Read": {"rules": "rules:rules"},
    "Operate": {"audit": "audit:audit", "model-check": "model_check:model_check"},
    "Write": {"correct": "correct:correct"},
}
_CORE = {
    name: (place, {"rich_help_panel": panel, "hidden": panels is MORE})
    for panels in (PANELS, MORE)
    for panel, places in panels.items()
    for name, place in places.items()
}
_EXTENSIONS = "Extensions"
_EXAMPLES = {
    "slowwave": (
        "slowwave maintain memory.db --dry-run",
        "slowwave maintain memory.db --model anthropic/claude-haiku-4-5 --max-cost 1",
        "slowwave undo memory.db",
    ),
    "maintain": (
        "slowwave maintain memory.db --dry-run",
        "slowwave maintain memory.db --model openai/gpt-5-mini --review risky",
        "slowwave maintain memory.db --phase expire,consolidate --backup --quiet",
    ),
}


def _epilog(name: str) -> str:
    examples = "\n".join(f"  {example}" for example in _EXAMPLES.get(name, ()))
    names = ", ".join(command for places in MORE.values() for command in places)
    more = f"More commands, with --help-all: {names}.\n\n" if name == "slowwave" else ""
    return f"Examples:\n{examples}\n\n{more}{EPILOG}" if examples else EPILOG


class _InPanels(ConfiguredGroup):
    """The core's commands in the order of the panels, followed by those of extensions.

    A command is imported when it is run or listed.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; import it first."""
        if cmd_name not in self.commands:
            if cmd_name in _CORE:
                place, shown = _CORE[cmd_name]
                command = resolve_name(f"{__package__}.commands.{place}")
                self.commands[cmd_name] = _command(cmd_name, command, **shown)
            else:
                self._add_extensions(cmd_name)
        if cmd_name not in self.commands:
            self.list_commands(ctx)  # Typer suggests one of them
        return self.commands.get(cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, by an old spelling too."""
        args, hint = current_command(args)
        if hint is not None:
            add_hint(ctx, hint)
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in their order; import all commands."""
        for name in _CORE:
            self.get_command(ctx, name)
        self._add_extensions()
        return [*_CORE, *sorted(self.commands.keys() - _CORE.keys())]

    def _add_extensions(self, only: str | None = None) -> None:
        for name, command in registered("commands", only):
            self.commands[name] = _command(name, command, rich_help_panel=_EXTENSIONS)


def _command(name: str, command: Command | typer.Typer, **shown: Any) -> Any:
    """Return a command or a group in the form that Typer runs. shown: where help lists it."""
    within = typer.Typer()
    if isinstance(command, typer.Typer):
        within.add_typer(command, name=name, **shown)
    else:
        add_command(within, name, command, epilog=_epilog(name), **shown)
    return get_group(within).commands[name]


app = group_of(
    "slowwave",
    "The dream cycle of an AI agent's memory: consolidate a SQLite memory file without losing a "
    "fact, inventing one, or merging two that differ.",
    {},
    _InPanels,
    epilog=_epilog("slowwave"),
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"slowwave {version('slowwave')}")
        raise typer.Exit


@app.callback()
def _root(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            allow_from_autoenv=False,
            callback=_show_version,
            help="Show the version.",
        ),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option(
            "--debug", envvar="SLOWWAVE_DEBUG", help="Show the traceback of an internal error."
        ),
    ] = False,
) -> None:
    """Read the options before a command."""
    SHOWS_TRACEBACKS.set(debug)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    tune_interpreter()
    code = run(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):
        # The outcome is reported: a signal must not change the code any longer.
        signal.signal(number, signal.SIG_IGN)
    _end_at_once(code)


def _end_at_once(code: int) -> NoReturn:
    """End the process without Python's own cleanup.

    A thread that still calls a model could block it forever: a destructor in litellm imports a
    module, and waits for a lock that a stopped thread owns. Freeing all that a run has read would
    only take time.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the reader of our output is gone, or was interrupted too
    except OSError:
        code = code or Code.OUTPUT
    with suppress(OSError):  # there is nowhere else to report it
        sys.stderr.flush()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """Run the command line and return its exit code; wrong usage is reported, too."""
    with log_lines_of_this_command():
        keep_libraries_quiet()
        # Whether JSON is wanted, before a command reads its options.
        is_set = os.environ.get("SLOWWAVE_JSON", "").lower() in _TRUE
        json = "--no-json" not in arguments and ("--json" in arguments or is_set)
        escape_what_stdout_cannot_spell()
        return _run(arguments, Output(json, quiet=False))


def _run(arguments: list[str], output: Output) -> int:
    try:
        for argument in arguments:
            # No id, name or memory can contain bytes that are not text.
            if any("\ud800" <= letter <= "\udfff" for letter in argument):
                raise typer.BadParameter(f"'{shortened(argument, 80)}' is not valid UTF-8.")
        arguments = arguments or ["--help"]
        return int(_commands()(arguments, prog_name="slowwave", standalone_mode=False) or 0)
    except typer.TyperException as error:
        output.error(*_message_and_hint(error), Code.USAGE)
        return Code.USAGE
    except (BrokenPipeError, SystemExit):
        # Typer raises SystemExit if the reader of the help has read enough.
        return Code.DONE
    except OSError as error:
        output.error(unwritable(error), "", Code.OUTPUT)
        return Code.OUTPUT
    except (typer.Abort, KeyboardInterrupt):
        return Code.INTERRUPTED
    except Exception as error:  # noqa: BLE001 - while arguments are parsed
        return report_defect(error, output)


@cache
def _commands() -> Callable[..., Any]:
    """Create the commands from their signatures, once for all that a process runs."""
    return get_command(app)


def _message_and_hint(error: typer.TyperException) -> tuple[str, str]:
    """Return the problem with the usage, and where to read about it."""
    context: typer.Context | None = getattr(error, "ctx", None)
    command = "slowwave" if context is None else context.command_path
    message, place = error.format_message(), place_of_refused(error)
    if (refused := _REFUSED.match(message)) is not None:
        name = place or (refused["name"] or "").replace("'", "")
        wanted, problem = _wanted(error), message[refused.end() :]
        message = f"{name} {wanted}." if wanted else _placed(name, problem)
    elif place is not None:
        message = _placed(place, message)
    is_extra = message.startswith("Got unexpected extra argument")
    how = "Quote a text with spaces; '> PATH' writes output to a file. " if is_extra else ""
    return shortened(message, _MAX_MESSAGE), f"{how}See '{command} --help'."


def _placed(name: str, problem: str) -> str:
    """Return a problem after the name of its value, which replaces an option at its beginning."""
    if name and problem.startswith("--"):
        return f"{name} {problem.partition(' ')[2]}"
    return f"{name}: {problem}" if name else problem


def _wanted(error: typer.TyperException) -> str | None:
    """Return what a value of the wrong type or size must be; None for other errors."""
    if (errors := getattr(error.__cause__, "errors", None)) is None:
        return None
    first = errors()[0]
    wanted: str | None = _MUST_BE.get(first["type"])
    return wanted and wanted.format(**first.get("ctx", {}), input=first["input"])
