"""Where the value of an option comes from.

1. the command line; 2. the environment, SLOWWAVE_ and the option's name; 3. slowwave.toml, which is
named by --config or lies beside the memory file; 4. the default.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperArgument, TyperCommand, TyperOption

from slowwave.cli.terminal.output import PLACE_OF
from slowwave.store.places import Address

from .addresses import address_named, as_spelled, named_by, take_address, without_secrets

CONFIG_NAME = "slowwave.toml"
# What TOML has to say for each type of an option; a text for all others.
_TYPES: dict[object, tuple[str, tuple[type, ...]]] = {
    bool: ("true or false", (bool,)),
    float: ("a number", (int, float)),
    int: ("a whole number", (int,)),
}
# Options that take several values as one text, with commas between them.
_WITH_COMMAS = frozenset({"only"})
# What help calls a text that is a path, or may be one.
_PATHS = frozenset({"NAME|PATH", "WHERE", "SOURCE", "RECEIPTS"})
# Under which a command knows the config file that it has read.
_READ = "slowwave.config"
FILE_VARIABLE = "SLOWWAVE_FILE"


class ConfiguredCommand(TyperCommand):
    """A command whose every option has an environment variable and a key in the config file."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Give each option an environment variable, unless it concerns a single call."""
        super().__init__(*args, **kwargs)
        for argument in self.params:
            if isinstance(argument, TyperArgument) and argument.metavar is not None:
                # The metavar says it: else the help has "FILE <list[Path]>".
                argument.display_type = _no_label  # type: ignore[method-assign]  # of this one only
        for one in self.params:
            if _is_path(one):
                take = partial(_unless_blank, one, one.process_value)
                one.process_value = take  # type: ignore[method-assign]  # of this one only
        for option in self.params:
            if not isinstance(option, TyperOption) or option.name not in _CONFIGURED:
                continue
            if option.envvar is None:
                option.envvar = f"SLOWWAVE_{(option.name or '').upper()}"
                option.show_envvar = True

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take what is secret out of addresses where a name is meant: it may be shown."""
        shown, spelled = without_secrets(ctx, args)
        self._refuse_several_tenants(ctx, shown)
        rest = super().parse_args(ctx, shown)
        ctx.params = {name: as_spelled(one, spelled) for name, one in ctx.params.items()}
        return rest

    def _refuse_several_tenants(self, ctx: Any, args: list[str]) -> None:
        """Refuse --tenant twice where it is taken once: the last one would have all of it."""
        one = next((each for each in self.params if each.name == "tenant"), None)
        if not isinstance(one, TyperOption) or one.multiple:
            return
        _, _, order = self.make_parser(ctx).parse_args(list(args))
        if order.count(one) > 1:
            raise typer.BadParameter("Name one tenant: this command takes --tenant once.", ctx=ctx)

    def invoke(self, ctx: Any) -> Any:
        """Say of what a command refuses itself which command that was, as of all other usage.

        While it runs, of an error about a value from a config file it can be said where it stands.
        """
        token = PLACE_OF.set(partial(_place_of_named, ctx, ctx.command.params))
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.ctx = error.ctx or ctx
            raise
        finally:
            PLACE_OF.reset(token)

    def make_parser(self, ctx: Any) -> Any:
        """Add a --no-... for what the environment or a config file switches on."""
        parser = super().make_parser(ctx)
        for option in self.params:
            if isinstance(option, TyperOption) and option.is_bool_flag:
                names = [f"--no-{one[2:]}" for one in option.opts if one.startswith("--")]
                parser.add_option(
                    obj=option, opts=names, dest=option.name, action="store_const", const=False
                )
        return parser


def _no_label(ctx: object) -> str:
    """Return nothing to show of a type."""
    return ""


def _is_path(parameter: Any) -> bool:
    """Whether an option or an argument takes a path, or several."""
    annotation = parameter.type_descriptor.annotation
    return annotation in (Path, list[Path]) or parameter.metavar in _PATHS


def _unless_blank(parameter: Any, take: Callable[..., Any], ctx: Any, value: Any) -> Any:
    """Take a path; a blank one would be the current folder. It is mostly a variable not set."""
    for one in value if isinstance(value, list | tuple) else [value]:
        if isinstance(one, str) and not one.strip():
            raise typer.BadParameter("it is blank.", ctx=ctx, param=parameter)
    return take(ctx, value)


def beside_file(context: typer.Context, value: Path | None) -> Path | None:
    """Take the config file next to the memory file, unless --config names one."""
    if value is None or isinstance(named := named_by(context, value), Address):
        return None if value is None else named
    _beside(context, named)
    return named


def beside_files(context: typer.Context, values: list[Path] | None) -> list[Path] | None:
    """Take the config file next to the first of several files, unless --config names one."""
    source = context.get_parameter_source("files")
    variable = os.environ.get(FILE_VARIABLE, "")
    if source is not None and source.name == "ENVIRONMENT":
        address = take_address(context, variable)
        if address is not None:
            return [address]  # not several paths with colons in between
    named = [named_by(context, one) for one in values or ()]
    if named and not isinstance(named[0], Address):
        _beside(context, named[0])
    return named or None


def _beside(context: typer.Context, value: Path) -> None:
    """Take the config file next to a memory file, unless --config names one."""
    if "config" not in context.meta:
        beside = value.parent / CONFIG_NAME
        if _is_there(beside):
            _take(context, beside)


def beside_source(context: typer.Context, value: str) -> str:
    """Take the config file that lies in a folder of memory files, or beside a list of them."""
    path = Path(value)
    if address_named(context, value) is not None:
        return value
    _beside(context, path / "memory.db" if path.is_dir() else path)
    return value


def _is_there(path: Path) -> bool:
    """Whether a config file is there, and be it one that cannot be read: that is said then."""
    # In a folder that may not be looked into the memory file cannot be read either: that is said.
    return os.path.lexists(path)


def read_named(context: typer.Context, value: Path | None) -> Path | None:
    """Take the config file that --config names."""
    if value is not None:
        context.meta["config"] = value
        _take(context, value)
    return value


def _take(context: typer.Context, path: Path) -> None:
    """Make the values of a config file the defaults of a command."""
    values = _read(path)
    options = {
        one.name: one
        for one in context.command.params
        if isinstance(one, TyperOption) and one.name in KEYS
    }
    context.default_map = {
        name: _fitting(values[name], options[name], path) for name in values.keys() & options.keys()
    }
    context.meta[_READ] = path


def _fitting(value: Any, option: TyperOption, path: Path) -> Any:
    """Return one value where an option takes one, and several where it takes several."""
    values = value if isinstance(value, list) else [value]
    _refuse_other_types(values, option, path)
    if option.multiple:
        return values
    if option.name in _WITH_COMMAS:
        return ",".join(values)
    if len(values) == 1:
        return values[0]

    def refuse() -> NoReturn:
        raise typer.BadParameter(
            f"{path} has {len(values)} values for {option.name}, and this command takes one: "
            f"name it with {option.opts[0]}."
        )

    # Only where the command line and the environment do not say it.
    return refuse


def _refuse_other_types(values: list[Any], option: TyperOption, path: Path) -> None:
    """Refuse what TOML has another type for: Typer would make 1 of true, and "5" of 5."""
    what, types = _TYPES.get(option.type_descriptor.annotation, ("a text in quotes", (str,)))
    for value in values:
        if type(value) not in types:
            spelled = str(value).lower() if isinstance(value, bool) else repr(value)
            raise _wrong(path, f"{option.name} is {spelled}, but takes {what}.")


def _wrong(path: Path, what: str) -> typer.BadParameter:
    return typer.BadParameter(what, param_hint=f"'{path}'")


def place_of_refused(error: typer.TyperException) -> str | None:
    """Return where in a config file a value stands that is refused; None if it came from elsewhere.

    A command that refuses values itself names the option, or the value.
    """
    context: typer.Context | None = getattr(error, "ctx", None)
    if context is None:
        return None
    parameter = getattr(error, "param", None)
    if parameter is None:
        return _place_of_named(context, context.command.params, error.format_message())
    return _place_of(context, [parameter])


def _place_of_named(context: typer.Context, suspects: Iterable[Any], said: str) -> str | None:
    """Return where in a config file the options stand that a sentence names, or their values."""
    return _place_of(context, [one for one in suspects if _is_named(one, context, said)])


def _place_of(context: typer.Context, options: Iterable[Any]) -> str | None:
    keys = [one.name for one in options if _is_of_config(context, one.name)]
    return f"{context.meta[_READ]}, {', '.join(keys)}" if keys else None


def _is_of_config(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "DEFAULT_MAP"


def _is_named(parameter: Any, context: typer.Context, said: str) -> bool:
    """Whether a sentence is about an option, the first one that it names, or names its value."""
    value = context.params.get(parameter.name)
    values = value if isinstance(value, list | tuple) else [value]
    first = re.search(r"(?<![\w-])--[a-z][\w-]*", said)
    if first is not None and first[0] in parameter.opts:
        return True
    if any(f"'{one}'" in said for one in values):
        return True
    return any(_stands_in(str(one), said) for one in values if isinstance(one, str | Path))


def _stands_in(path: str, said: str) -> bool:
    """Whether a path stands in a sentence as it is; one that is a plain word, where one must be."""
    if re.search("[./]", path):
        return re.search(rf"(?<!\S){re.escape(path)}(?=[\s:,]|\.?$)", said) is not None
    return re.search(rf"Cannot [a-z ]+ {re.escape(path)}:", said) is not None


def is_on_command_line(context: typer.Context, name: str) -> bool:
    """Whether an option was named on the command line itself."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def source_of(context: typer.Context, name: str) -> str:
    """Return in words where the value of an option comes from."""
    source = context.get_parameter_source(name)
    match source and source.name:
        case "COMMANDLINE":
            return "the command line"
        case "ENVIRONMENT":
            return f"SLOWWAVE_{name.upper()}"
        case "DEFAULT_MAP":
            return f"{name} in {context.meta[_READ]}"
    return "default"


def _read(path: Path) -> dict[str, Any]:
    from slowwave.store.opening import read_text

    try:
        table = tomllib.loads(read_text(path))
    except OSError as error:
        raise _wrong(path, f"it cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(path, f"it is not valid TOML: {error}.") from error
    values = {key.replace("-", "_"): value for key, value in table.items()}
    if len(values) < len(table):
        twice = sorted(key for key in table if "-" in key and key.replace("-", "_") in table)
        raise _wrong(path, f"it has a key in two spellings: {', '.join(twice)}.")
    unknown = sorted(values.keys() - KEYS)
    if unknown:
        raise _wrong(path, _unknown_keys(unknown))
    return values


def _unknown_keys(unknown: list[str]) -> str:
    """Return what to say of keys that no option goes by: each with the nearest ones, or all."""
    near = {one: get_close_matches(one, sorted(KEYS), n=2, cutoff=0.7) for one in unknown}
    named = [f"{one} ({' or '.join(near[one])}?)" if near[one] else one for one in unknown]
    said = f"it has keys that no option goes by: {', '.join(named)}."
    return said if all(near.values()) else f"{said} Known are: {', '.join(sorted(KEYS))}."


# What slowwave.toml may hold: the names of all options but the one that names the file itself, and
# those that are said of one call only (what undo takes back, and whether it only rehearses).
KEYS = frozenset(
    {
        *("again", "distill", "instructions", "interval", "lookback", "max_facts"),
        *("min_importance", "ttl", "watch", "whole"),
        *("all_phases", "enabled", "expire", "retain", "decay", "max_active"),
        *("min_interval", "min_new"),
        *("all", "api_base", "ask", "author", "backup", "block", "block_format", "budget"),
        *("checker", "concurrency", "diverse", "guard", "guard_limit", "recency", "worth"),
        *(
            "consolidate",
            "contains",
            "dry_run",
            "embedder",
            "exit_code",
            "format",
            "from_format",
            "full",
        ),
        *("importance", "include_protected", "json", "keep_backups", "kind", "layer"),
        *("limit", "log_format", "max_calls", "max_cost", "max_time", "max_tokens"),
        *("metrics_file", "min_ratio", "model"),
        *("only", "origin", "pin", "purge", "quiet", "reconsider", "review"),
        *("record", "replay", "report", "session", "skip_invalid", "source"),
        *("engine", "metrics", "receipts", "shard", "workers"),
        *("state", "status", "tag", "tenant", "trust", "vectors", "verbose", "wiki", "yes"),
    }
)
_CONFIGURED = KEYS | {"config"}
