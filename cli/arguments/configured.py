"""The class of every command and group: settings, help in two lengths, groups of options."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from functools import partial, wraps
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from slowwave.cli.terminal.exits import EXIT_CODES, run_reported
from slowwave.cli.terminal.output import Output
from slowwave.store.places import Place

from .old_spellings import hints_of_options, old_commands, replacement_of
from .place_options import PlaceOptions, PlacesOptions
from .settings import CONTEXT_SETTINGS, check_typed, hints_of_variables

HELP_ALL = "--help-all"
# What follows the help of a command.
EPILOG = "--help-all shows every option, environment variable and exit code."
Command = Callable[..., None]
# What a command takes that has a parameter of these types.
_PLACES: dict[Any, Any] = {Place: PlaceOptions, Sequence[Place]: PlacesOptions}
_SHOWS_ALL, _HINTS = "slowwave.help_all", "slowwave.hints"
_Command = TypeVar("_Command", TyperCommand, TyperGroup)


class ConfiguredCommand(TyperCommand):
    """A command whose options can be set by the environment and by the config file."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept --help-all, and refer a usage error to the help of this command."""
        try:
            return super().parse_args(ctx, _help_for(ctx) if HELP_ALL in args else args)
        except typer.TyperException as error:
            refused: Any = error  # an option without its value has no context
            refused.ctx = getattr(error, "ctx", None) or ctx
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return FILE, where Typer has {FILE}: braces mean a choice."""
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def make_parser(self, ctx: Any) -> Any:
        """Check what is typed; add a --no-... for each flag that settings can set."""
        parser: Any = super().make_parser(ctx)
        for option in self.params:
            if isinstance(option, TyperOption) and option.is_bool_flag:
                names = [f"--no-{name[2:]}" for name in option.opts if name.startswith("--")]
                parser.add_option(
                    obj=option, opts=names, dest=option.name, action="store_const", const=False
                )
        parse = parser.parse_args

        def parse_args(args: list[str]) -> tuple[dict[str, Any], list[str], list[Any]]:
            values, remaining, order = parse(args)
            check_typed(ctx, values, order)
            return values, remaining, order

        parser.parse_args = parse_args
        return parser

    def invoke(self, ctx: Any) -> Any:
        """Run the command: hints first."""
        output = Output(json=bool(ctx.params.get("json")), quiet=bool(ctx.params.get("quiet")))
        for hint in (*ctx.meta.pop(_HINTS, ()), *hints_of_options(ctx), *hints_of_variables(ctx)):
            output.note(hint)
        file = ctx.params.get("file")
        try:
            command = partial(super().invoke, ctx)
            code = run_reported(command, file if isinstance(file, Path) else None, output)
        except typer.BadParameter as error:
            error.ctx = error.ctx or ctx
            raise
        raise typer.Exit(code)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with --help-all everything."""
        TyperCommand.format_help(_for_help(self, ctx), ctx, formatter)


class ConfiguredGroup(TyperGroup):
    """A group of commands."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Accept --help-all."""
        return super().parse_args(ctx, _help_for(ctx) if args[:1] == [HELP_ALL] else args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, with --help-all everything."""
        TyperGroup.format_help(_for_help(self, ctx), ctx, formatter)


class VerbGroup(ConfiguredGroup):
    """Sub-commands; without a name, the first one runs: `review FILE` lists."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the verb first; it may follow FILE, as in earlier versions."""
        asks_for_help = args[:1] in ([HELP_ALL], *([name] for name in ctx.help_option_names))
        if not asks_for_help and not ctx.resilient_parsing:  # that is a completion
            args = self._with_verb_first(ctx, args)
        return super().parse_args(ctx, args)

    def _with_verb_first(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] in self.commands:
            return args
        with_value = {
            name
            for command in self.commands.values()
            for option in command.params
            if isinstance(option, TyperOption) and not option.is_flag
            for name in option.opts
        }
        for place, (before, word) in enumerate(pairwise(args), start=1):
            if word in self.commands and before not in with_value:
                path = ctx.command_path
                add_hint(ctx, f"Deprecated: '{path} FILE {word}' is now '{path} {word} FILE'.")
                return [word, *args[:place], *args[place + 1 :]]
        return [next(iter(self.commands)), *args]


def add_hint(ctx: Any, hint: str) -> None:
    """Add a hint that is written when the command runs."""
    ctx.meta.setdefault(_HINTS, []).append(hint)


def _help_for(ctx: Any) -> list[str]:
    """Return the arguments that show help, and make it the long one."""
    ctx.meta[_SHOWS_ALL] = True
    return ["--help"]


def _for_help(command: _Command, ctx: Any) -> _Command:
    """Return a copy of a command as its help shows it, short or complete."""
    shown: _Command = copy(command)
    shown.params = [copy(parameter) for parameter in command.params]
    parameter: Any  # help would show the type <bool> of a flag, and <list[Path]> of FILE
    for parameter in (*shown.params, shown.get_help_option(ctx)):
        if isinstance(parameter, TyperArgument) or getattr(parameter, "is_flag", False):
            parameter.display_type_rich = lambda ctx: ""
    if not ctx.meta.get(_SHOWS_ALL):
        ctx.auto_envvar_prefix = None  # help would name every variable
        return shown
    for parameter in shown.params:
        if (replacement := replacement_of(parameter)) is not None:
            parameter.help = f"{parameter.help} Deprecated as an option: {replacement}."
        parameter.hidden = False
    old_names = ""
    if isinstance(shown, TyperGroup):
        old_names = old_commands()
        names = shown.list_commands(ctx)
        shown.commands = {name: copy(shown.commands[name]) for name in names}
        for listed in shown.commands.values():
            listed.hidden = False
    shown.epilog = "\n\n".join(filter(None, (old_names, EXIT_CODES)))
    return shown


def group_of(
    name: str,
    help: str,
    commands: dict[str, Command],
    cls: type[ConfiguredGroup] = ConfiguredGroup,
    epilog: str = EPILOG,
) -> typer.Typer:
    """Return a group with its commands, each with its settings and error handling."""
    group = typer.Typer(
        name=name,
        help=help,
        cls=cls,
        epilog=epilog,
        context_settings={"help_option_names": CONTEXT_SETTINGS["help_option_names"]},
        pretty_exceptions_enable=False,
        rich_markup_mode="rich",
    )
    for command_name, command in commands.items():
        add_command(group, command_name, command)
    return group


def add_command(
    group: typer.Typer, name: str, command: Command, epilog: str = EPILOG, **shown: Any
) -> None:
    """Add a command with its settings and error handling. shown: where help lists it."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    group.command(
        name,
        cls=ConfiguredCommand,
        help="\n\n".join(paragraph.replace("\n", " ") for paragraph in paragraphs),
        epilog=epilog,
        context_settings=CONTEXT_SETTINGS,
        **shown,
    )(_with_groups_expanded(command))


def _with_groups_expanded(command: Command) -> Command:
    """Return a command that takes the options of its places and dataclasses one by one."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {}
    options: list[inspect.Parameter] = []
    about_file: list[inspect.Parameter] = []
    for name, parameter in signature.parameters.items():
        group = _PLACES.get(parameter.annotation, parameter.annotation)
        if name == "output":
            options += about_file
        if not is_dataclass(group):
            options.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        groups[name] = group
        if parameter.annotation in _PLACES:
            file, *about_file = _options(group)
            options.append(file)
        else:
            options += _options(group)

    @wraps(command)
    def expanded(**values: Any) -> None:
        for name, group in groups.items():
            chosen = group(**{field.name: values.pop(field.name) for field in fields(group)})
            values[name] = chosen.resolve() if group in _PLACES.values() else chosen
        command(**values)

    expanded.__signature__ = signature.replace(parameters=options)  # type: ignore[attr-defined]  # what inspect reads
    return expanded


def _options(group: Any) -> Iterator[inspect.Parameter]:
    annotations = get_type_hints(group, include_extras=True)
    for field in fields(group):
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=annotations[field.name],
        )
