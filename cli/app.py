"""The list of commands, and how the process starts and ends."""

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

from .arguments.configured import (
    ConfiguredCommand,
    ConfiguredGroup,
    VerbGroup,
    with_groups_expanded,
)
from .arguments.settings import CONTEXT_SETTINGS, place_of_refused
from .commands import (
    add,
    answer,
    apply,
    audit,
    check,
    conflicts,
    correct,
    dream,
    eval_,
    export,
    forget,
    import_,
    ingest,
    list_,
    log,
    maintain,
    mcp,
    model_check,
    questions,
    recall,
    review,
    rules,
    show,
    undo,
)
from .terminal.exits import SHOWS_TRACEBACKS, Code, reporting
from .terminal.interpreter import keep_libraries_quiet, tune_interpreter
from .terminal.log_lines import log_lines_of_this_command
from .terminal.output import Output, escape_what_stdout_cannot_spell, shortened, unwritable

# Maximum characters of an error message: arguments may be megabytes long.
_MAX_MESSAGE = 1_000
# Phrases of libraries in error messages, and clearer ones.
_PHRASES = {
    "Invalid value: ": "",
    "Value error, ": "",
    "Input should be a valid integer, unable to parse string as an integer": "It is not an integer",
    "Input should be a valid number, unable to parse string as a number": "It is not a number",
    "Input should be ": "It should be ",
}
# How the library names the option of a wrong value.
_OPTION_PREFIX = re.compile(r"^Invalid value for '[^']*'(?: \(env var: [^)]*\))?: ")
# What Typer takes as true in the environment.
_TRUE = frozenset({"1", "true", "t", "yes", "y", "on"})

Command = Callable[..., None]
COMMANDS: dict[str, Command] = {
    "maintain": maintain.maintain,
    "dream": dream.dream,
    "questions": questions.questions,
    "answer": answer.answer,
    "audit": audit.audit,
    "log": log.log,
    "undo": undo.undo,
    "eval": eval_.eval_,
    "recall": recall.recall,
    "list": list_.list_,
    "show": show.show,
    "rules": rules.rules,
    "add": add.add,
    "correct": correct.correct,
    "ingest": ingest.ingest,
    "forget": forget.forget_,
    "import": import_.import_,
    "export": export.export,
    "check": check.check,
    "mcp": mcp.mcp,
    "model-check": model_check.model_check,
}
REVIEW_COMMANDS: dict[str, Command] = {
    "list": review.list_waiting,
    "show": review.show,
    "approve": review.approve,
    "decline": review.decline,
    "edit": review.edit,
    "apply": apply.apply,
}
CONFLICT_COMMANDS: dict[str, Command] = {
    "list": conflicts.list_conflicts,
    "resolve": conflicts.resolve,
}
# The panels of the first help screen, in its order.
PANELS = {
    "Consolidate": ("maintain", "dream", "review", "conflicts", "log", "undo"),
    "Read": ("recall", "list", "show"),
    "Write": ("add", "ingest", "import", "export"),
    "Operate": ("check", "mcp"),
}
# What only --help-all lists besides them.
MORE = {
    "Consolidate": ("questions", "answer", "eval"),
    "Read": ("rules",),
    "Operate": ("audit", "model-check"),
    "Write": ("correct", "forget"),
}
_PANEL_OF = {
    name: panel for panels in (PANELS, MORE) for panel, names in panels.items() for name in names
}
_HIDDEN = frozenset(f"slowwave {name}" for names in MORE.values() for name in names)
_EXTENSIONS = "Extensions"
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


def _epilog(path: str) -> str:
    """Return what follows the help of a command."""
    if path not in _EXAMPLES:
        return _MORE
    examples = "\n".join(("Examples:", *(f"  {example}" for example in _EXAMPLES[path])))
    return f"{examples}\n\n{_MORE}"


class _InPanels(ConfiguredGroup):
    """The core's commands in the order of the panels, followed by those of extensions."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command; extensions are imported for a name that is not the core's."""
        if cmd_name not in self.commands:
            self.commands.update(_extension_commands())
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in their order."""
        self.commands.update(_extension_commands())
        return [*_PANEL_OF, *sorted(self.commands.keys() - _PANEL_OF.keys())]


@cache
def _extension_commands() -> Mapping[str, Any]:
    """Import and return the commands that installed extensions register, by name."""
    extensions = typer.Typer()
    for name, command in registered("commands"):
        if isinstance(command, typer.Typer):
            extensions.add_typer(command, name=name, rich_help_panel=_EXTENSIONS)
        else:
            _add_command(extensions, name, name, command, _EXTENSIONS)
    return get_group(extensions).commands


def group_of(
    name: str,
    help: str,
    commands: dict[str, Command],
    cls: type[ConfiguredGroup] = ConfiguredGroup,
) -> typer.Typer:
    """Return a group with its commands, each with its panel, settings and error handling."""
    group = typer.Typer(
        name=name,
        help=help,
        cls=cls,
        epilog=_epilog(name),
        context_settings={"help_option_names": CONTEXT_SETTINGS["help_option_names"]},
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    for command_name, command in commands.items():
        panel = _PANEL_OF.get(command_name) if name == "slowwave" else None
        _add_command(group, command_name, f"{name} {command_name}", command, panel)
    return group


def _add_command(
    group: typer.Typer, name: str, path: str, command: Command, panel: str | None
) -> None:
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    group.command(
        name,
        cls=ConfiguredCommand,
        help="\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs),
        epilog=_epilog(path),
        context_settings=CONTEXT_SETTINGS,
        rich_help_panel=panel,
        hidden=path in _HIDDEN,
    )(reporting(with_groups_expanded(command)))


app = group_of(
    "slowwave",
    "The dream cycle of an AI agent's memory: consolidate a SQLite memory file without losing a "
    "fact, inventing one, or merging two that differ.",
    COMMANDS,
    _InPanels,
)
for _name, _help, _verbs in (
    ("review", "Decide about pending proposals.", REVIEW_COMMANDS),
    ("conflicts", "List memories that contradict each other, and settle them.", CONFLICT_COMMANDS),
):
    app.add_typer(group_of(_name, _help, _verbs, VerbGroup), rich_help_panel=_PANEL_OF[_name])


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
    module, and waits for a lock that a stopped thread owns. And freeing all that a run has read
    takes time for nothing.
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
    with log_lines_of_this_command(arguments):
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


@cache
def _commands() -> Callable[..., Any]:
    """Create the commands from their signatures, once for all that a process runs."""
    return get_command(app)


def _message_and_hint(error: typer.TyperException) -> tuple[str, str]:
    """Return what is wrong with the usage, and where to read about it."""
    context: typer.Context | None = getattr(error, "ctx", None)
    command = "slowwave" if context is None else context.command_path
    message, place = error.format_message(), place_of_refused(error)
    if place is not None:
        message = f"{place}: {_OPTION_PREFIX.sub('', message)}"
    for phrase, clearer in _PHRASES.items():
        message = message.replace(phrase, clearer)
    return shortened(message, _MAX_MESSAGE), f"See '{command} --help'."
