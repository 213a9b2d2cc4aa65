"""The list of commands, and the way in and out."""

from __future__ import annotations

import inspect
import os
import re
import signal
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from typing import Annotated, Any, NoReturn

import typer
from typer.main import get_command, get_group

from slowwave.store.extension_points import registered

from .arguments.configured import ConfiguredCommand, ConfiguredGroup, VerbGroup
from .arguments.option_groups import with_groups_expanded
from .arguments.settings import CONTEXT_SETTINGS, place_of_refused
from .commands import (
    add,
    apply,
    check,
    conflicts,
    eval_,
    export,
    import_,
    ingest,
    list_,
    log,
    maintain,
    mcp,
    recall,
    review,
    show,
    undo,
)
from .terminal.exits import SHOWS_TRACEBACKS, Code, reporting
from .terminal.interpreter import keep_libraries_quiet, tune_interpreter
from .terminal.log_lines import log_lines_of_this_command
from .terminal.output import Output, escape_what_stdout_cannot_spell, shortened, unwritable

# A mistaken argument is repeated, but not megabytes of it.
_MOST_SAID = 1_000

# Words of a library that say nothing to a user, or not what to do.
_WORDS = {
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "It is no whole "
    "number",
    "Input should be a valid number, unable to parse string as a number": "It is no number",
    "Input should be ": "It should be ",
}
# How the library names an option that a value is wrong for.
_OF_AN_OPTION = re.compile(r"^Invalid value for '[^']*'(?: \(env var: [^)]*\))?: ")

# What Typer takes for a yes in the environment.
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})

COMMANDS: dict[str, Callable[..., None]] = {
    "maintain": maintain.maintain,
    "conflicts": conflicts.conflicts,
    "log": log.log,
    "undo": undo.undo,
    "eval": eval_.eval_,
    "recall": recall.recall,
    "list": list_.list_,
    "show": show.show,
    "add": add.add,
    "ingest": ingest.ingest,
    "import": import_.import_,
    "export": export.export,
    "check": check.check,
    "mcp": mcp.mcp,
}
REVIEW_COMMANDS: dict[str, Callable[..., None]] = {
    "list": review.list_waiting,
    "show": review.show,
    "approve": review.approve,
    "decline": review.decline,
    "edit": review.edit,
    "ask": review.ask,
    "apply": apply.apply,
}
# The panels of the first help screen, in its order.
PANELS = {
    "Consolidate": ("maintain", "review", "conflicts", "log", "undo", "eval"),
    "Read": ("recall", "list", "show"),
    "Write": ("add", "ingest", "import", "export"),
    "Operate": ("check", "mcp"),
}
EXTENSIONS = "Extensions"
_EXAMPLES = {
    "slowwave": (
        "slowwave maintain memory.db --dry-run",
        "slowwave maintain memory.db --model anthropic/claude-haiku-4-5 --max-cost 1",
        "slowwave undo memory.db",
    ),
    "slowwave maintain": (
        "slowwave maintain memory.db --dry-run",
        "slowwave maintain memory.db --model openai/gpt-5-mini --review risky",
        "slowwave maintain memory.db --phase expire,consolidate --backup --quiet",
    ),
}


_MORE = "--help-all shows every option, environment variable and exit code."


def _with_examples(name: str) -> str:
    """Return what follows the help of a command."""
    examples = "\n".join(("Examples:", *(f"  {example}" for example in _EXAMPLES.get(name, ()))))
    return f"{examples}\n\n{_MORE}" if name in _EXAMPLES else _MORE


class _InPanels(ConfiguredGroup):
    """The core's commands in the order of the panels, and behind them those of extensions."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; extensions are imported for a name that is not the core's."""
        if cmd_name not in self.commands:
            self.commands.update(_extension_commands())
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in their order."""
        self.commands.update(_extension_commands())
        order = [name for names in PANELS.values() for name in names]
        return [*order, *sorted(self.commands.keys() - {*order})]


@cache
def _extension_commands() -> Mapping[str, Any]:
    """Import and return the commands that installed extensions register, by name."""
    extensions = typer.Typer()
    for name, command in registered("commands"):
        if isinstance(command, typer.Typer):
            extensions.add_typer(command, name=name, rich_help_panel=EXTENSIONS)
        else:
            _add_command(extensions, name, name, command, EXTENSIONS)
    return get_group(extensions).commands


def group_of(
    name: str,
    help: str,
    commands: dict[str, Callable[..., None]],
    cls: type[ConfiguredGroup] = ConfiguredGroup,
) -> typer.Typer:
    """Return a group with its commands, each with its panel, settings and error handling."""
    group = typer.Typer(
        name=name,
        help=help,
        cls=cls,
        epilog=_with_examples(name),
        context_settings={"help_option_names": CONTEXT_SETTINGS["help_option_names"]},
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    for command_name, command in commands.items():
        panel = _panel_of(command_name) if name == "slowwave" else None
        _add_command(group, command_name, f"{name} {command_name}", command, panel)
    return group


def _add_command(
    group: typer.Typer, name: str, path: str, command: Callable[..., None], panel: str | None
) -> None:
    group.command(
        name,
        cls=ConfiguredCommand,
        help=_unwrapped(command),
        epilog=_with_examples(path),
        context_settings=CONTEXT_SETTINGS,
        rich_help_panel=panel,
    )(reporting(with_groups_expanded(command)))


def _unwrapped(command: Callable[..., None]) -> str:
    """Return the docstring of a command with a line for each paragraph."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs)


def _panel_of(name: str) -> str | None:
    return next((panel for panel, names in PANELS.items() if name in names), None)


app = group_of(
    "slowwave",
    "The dream cycle of an AI agent's memory: consolidate a SQLite memory file without losing a "
    "fact, inventing one, or merging two that differ.",
    COMMANDS,
    _InPanels,
)
review_app = group_of(
    "review", "Decide about proposals that wait for a person.", REVIEW_COMMANDS, VerbGroup
)
app.add_typer(review_app, rich_help_panel=_panel_of("review"))


def _show_version(wanted: bool) -> None:
    if wanted:
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
            "--debug", envvar="SLOWWAVE_DEBUG", help="Show where a defect of slowwave happened."
        ),
    ] = False,
) -> None:
    """Read the options in front of a command."""
    SHOWS_TRACEBACKS.set(debug)


def main() -> None:
    """Run the command line and end the process with its exit code."""
    tune_interpreter()
    code = run(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM):
        # What was done is reported: a signal must not change the code any more.
        signal.signal(number, signal.SIG_IGN)
    _end_at_once(code)


def _end_at_once(code: int) -> NoReturn:
    """End the process at once, without Python's own clean-up.

    A thread that still asks a model could hold that up for good: a destructor in litellm imports
    a module, and waits for a lock that a stopped thread holds. And freeing all that a night read
    would take time for nothing.
    """
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        pass  # the reader of our output has gone, or was interrupted, too
    except OSError:
        code = code or Code.OUTPUT
    with suppress(OSError):  # there is no other place to say so
        sys.stderr.flush()
    os._exit(code)


def _refuse_undecodable(arguments: list[str]) -> None:
    """Refuse bytes that are no text: no id, name or memory can hold them."""
    for argument in arguments:
        if any("\ud800" <= letter <= "\udfff" for letter in argument):
            raise typer.BadParameter(f"'{shortened(argument, 80)}' is not valid UTF-8.")


def run(arguments: list[str]) -> int:
    """Run the command line and give its exit code; wrong usage ends in a sentence, too."""
    with log_lines_of_this_command(arguments):
        return _run(arguments)


def _run(arguments: list[str]) -> int:
    keep_libraries_quiet()
    # Before its options are read a command cannot know that JSON is wanted.
    output = Output(json=_wants_json(arguments), quiet=False)
    escape_what_stdout_cannot_spell()
    try:
        _refuse_undecodable(arguments)
        commands = _commands()
        return int(
            commands(arguments or ["--help"], prog_name="slowwave", standalone_mode=False) or 0
        )
    except typer.TyperException as error:
        output.error(*_message_and_hint(error), Code.USAGE)
        return Code.USAGE
    except (BrokenPipeError, SystemExit):
        # Typer makes the second of the first: the reader of the help has read enough.
        return Code.DONE
    except OSError as error:
        output.error(unwritable(error), "", Code.OUTPUT)
        return Code.OUTPUT
    except (typer.Abort, KeyboardInterrupt):
        return Code.INTERRUPTED


@cache
def _commands() -> Callable[..., Any]:
    """Build the commands from their signatures, once for all that a process runs."""
    return get_command(app)


def _wants_json(arguments: list[str]) -> bool:
    """Whether JSON is wanted, as far as that shows before a command reads its options."""
    if "--no-json" in arguments:
        return False
    return "--json" in arguments or os.environ.get("SLOWWAVE_JSON", "").lower() in _TRUE


def _message_and_hint(error: typer.TyperException) -> tuple[str, str]:
    """Return what is wrong with the usage, and where to read about it."""
    context: typer.Context | None = getattr(error, "ctx", None)
    command = "slowwave" if context is None else context.command_path
    place = place_of_refused(error)
    where = "" if place is None else f"{place}: "
    said = error.format_message()
    if place is not None:
        said = _OF_AN_OPTION.sub("", said)  # the place has the key already
    for theirs, ours in _WORDS.items():
        said = said.replace(theirs, ours)
    return shortened(f"{where}{said}", _MOST_SAID), f"See '{command} --help'."
