"""Where the value of an option comes from.

1. the command line; 2. the environment, SLOWWAVE_ and the option's name (Click's
`auto_envvar_prefix`); 3. slowwave.toml, named by --config or next to the memory file (Click's
`default_map`); 4. the default.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import typer
from typer.core import TyperOption

from slowwave.store.errors import StoreError
from slowwave.store.opening import read_text
from slowwave.store.places import Address, address_of

CONFIG_NAME = "slowwave.toml"
FILE_VARIABLE = "SLOWWAVE_FILE"
CONTEXT_SETTINGS = {"help_option_names": ["--help", "-h"], "auto_envvar_prefix": "SLOWWAVE"}
# These can delete memories. The file may set them, but no environment variable: one left in a shell
# would make every run delete. All other options without a variable apply to a single call.
DELETING = frozenset({"phase", "purge", "all_phases"})
# The TOML type for each type of option; a string for all others.
_TYPES: dict[object, tuple[str, tuple[type, ...]]] = {
    bool: ("true or false", (bool,)),
    float: ("a number", (int, float)),
    int: ("an integer", (int,)),
}
# Options that take several values as one text, separated by commas.
_WITH_COMMAS = frozenset({"only", "phase"})
_CONFIG = "slowwave.config"
# The values of a command as they were typed, by parameter: `Path` collapses the slashes of a URL.
_TYPED = "slowwave.typed"
# Variables that are not options of commands.
_VARIABLES = frozenset({"FILE", "DEBUG", "MCP_TOKEN"})
_SOURCES = {"COMMANDLINE": "the command line", "ENVIRONMENT": "SLOWWAVE_{}"}


def settable_options(command: Any) -> Iterator[TyperOption]:
    """Yield the options of a command, or of all commands of a group, that the file may set."""
    if hasattr(command, "commands"):
        for name in command.list_commands(None):  # of extensions, too
            yield from settable_options(command.get_command(None, name))
        return
    for option in command.params:
        is_option = isinstance(option, TyperOption) and option.name != "config"
        if is_option and (option.allow_from_autoenv or option.name in DELETING):
            yield option


def check_typed(context: typer.Context, typed: dict[str, Any], order: list[Any]) -> None:
    """Refuse a blank value, an empty limit, a URL instead of a path, and a second tenant.

    typed: the values on the command line. order: their parameters. Raises wrong usage.
    """
    context.meta[_TYPED] = typed
    parameter: Any
    for parameter in context.command.params:
        values, variable = typed.get(parameter.name), None
        if values in (None, (), []):
            values = parameter.resolve_envvar_value(context)
            variable = parameter.envvar or f"SLOWWAVE_{parameter.name.upper()}"
        # Click ignores an empty variable.
        if values is None and _is_limit(parameter.name) and os.environ.get(str(variable)) == "":
            raise typer.BadParameter(f"{variable} is empty: set the limit, or unset it.")
        is_option = isinstance(parameter, TyperOption)
        if parameter.name == "tenant" and not parameter.multiple and order.count(parameter) > 1:
            raise typer.BadParameter("Specify --tenant only once.")
        argument = parameter.metavar or parameter.name.upper()
        name = variable or (parameter.opts[0] if is_option else argument)
        for value in values if isinstance(values, list | tuple) else [values]:
            # Usually a variable that is not set; Path("") would be the current folder.
            if isinstance(value, str) and not value.strip():
                raise typer.BadParameter(f"{name} must not be blank.")
            is_file = parameter.name in ("file", "files")
            is_path = parameter.type_descriptor.annotation in (Path, list[Path])
            if is_path and not is_file and parse_address(context, str(value)):
                raise typer.BadParameter(f"{name} takes a file, not a database.")


def _is_limit(name: str) -> bool:
    return name.startswith("max_") or name == "monthly_budget"


def hints_of_variables(context: typer.Context) -> Iterator[str]:
    """Yield notes about variables without effect, in commands that take a model: it costs money.

    Raises `typer.BadParameter` if a limit is meant: without it the command would spend more.
    """
    prefix = f"{CONTEXT_SETTINGS['auto_envvar_prefix']}_"
    variables = {name.removeprefix(prefix) for name in os.environ if name.startswith(prefix)}
    known_names = _VARIABLES | _variables_of(context.command)
    if "MODEL" not in known_names or variables <= known_names:
        return
    known_names |= _variables_of(context.find_root().command)
    for name in sorted(variables - known_names):
        near = get_close_matches(name, known_names, n=1, cutoff=0.7)
        suggestion = f" Did you mean {prefix}{near[0]}?" if near else ""
        if near and _is_limit(near[0].lower()):
            raise typer.BadParameter(f"{prefix}{name} is not a setting.{suggestion}", ctx=context)
        yield f"{prefix}{name} has no effect: it is not a setting.{suggestion}"


def _variables_of(command: Any) -> frozenset[str]:
    """Return the variables of a command, or of all commands of a group, without the prefix."""
    options = settable_options(command)
    return frozenset(str(opt.name).upper() for opt in options if opt.name not in DELETING)


def config_for_file(context: typer.Context, value: Path | None) -> Path | None:
    """Return FILE or its address; note the config file next to it for `read_named`."""
    if value is None:
        return None
    address = parse_address(context, context.meta[_TYPED].get("file") or str(value))
    return address or _noting_config(context, value)


def config_for_files(context: typer.Context, values: list[Path] | None) -> list[Path] | None:
    """Return the FILEs or their addresses; read the config file next to the first."""
    typed = context.meta[_TYPED].get("files")
    if not typed and values:
        # Click would split a URL at its colons.
        address = parse_address(context, os.environ[FILE_VARIABLE])
        if address is not None:
            return [address]
        typed = values
    addresses = [parse_address(context, str(text)) for text in typed or ()]
    files = [address or path for address, path in zip(addresses, values or (), strict=True)]
    if files and not isinstance(files[0], Address):
        _noting_config(context, files[0])
    return [_unlike_option(file) for file in files] or None


def parse_address(context: typer.Context, text: str) -> Address | None:
    """Return the address that a text is; None for a path.

    Raises wrong usage for an invalid address, and where a command takes only files.
    """
    try:
        address = address_of(text)
    except StoreError as error:
        raise typer.BadParameter(f"{error.message} {error.hint}") from error
    if address is not None and all(option.name != "format" for option in context.command.params):
        raise typer.BadParameter("This command takes a file, not a database.")
    return address


def _noting_config(context: typer.Context, path: Path) -> Path:
    """Return a path that printed commands can name; note the config file next to it."""
    path = _unlike_option(path)
    config = config_path(path)
    # A dangling link is an error, not an absent file.
    if os.path.lexists(config):
        context.meta.setdefault(_CONFIG, config)
    return path


def _unlike_option(path: Path) -> Path:
    """Return a path that is not taken for an option in printed commands."""
    return path.absolute() if str(path).startswith("-") else path


def config_for_source(context: typer.Context, value: str) -> str:
    """Read the config file in a folder of memory files, or next to a list of them."""
    path = Path(value)
    is_folder = os.path.isdir(path)  # noqa: PTH112 - Path.is_dir raises if the name is too long
    _noting_config(context, path / ".." if is_folder else path)  # whose parent is the folder
    return value


def config_path(file: Path) -> Path:
    """Return where the config file of a memory file is: next to what a link leads to."""
    is_link = os.path.islink(file)  # noqa: PTH114 - Path.is_symlink raises if the name is too long
    real = Path(os.path.realpath(file)) if is_link else file
    return real.parent / CONFIG_NAME


def read_named(context: typer.Context, value: Path | None) -> Path | None:
    """Read the config file of --config, else the one next to FILE, whose callback comes first."""
    if (path := value or context.meta.get(_CONFIG)) is not None:
        _read(context, path)
    return value


def kill_switch_for(context: typer.Context, file: Path) -> str | None:
    """Return what switches a file off in the config file next to it, in words; else None.

    Raises `typer.BadParameter` if that config file is wrong.
    """
    path = config_path(file)
    values = _checked(context, path) if os.path.lexists(path) else {}
    return None if values.get("enabled", True) in (True, [True]) else f"enabled in {path}"


def settings_of(context: typer.Context, command: str) -> Iterator[tuple[str, str]]:
    """Yield the settings that a command has and this one lacks, if not default, and where they are.

    Raises `typer.BadParameter` if the config file is wrong.
    """
    path = context.meta.get(_CONFIG)
    values = {} if path is None else _checked(context, path)
    own = {parameter.name for parameter in context.command.params}
    root: Any = context.find_root().command
    for option in settable_options(root.get_command(context, command)):
        name, variable = str(option.name), f"SLOWWAVE_{option.name}".upper()
        if name in own:
            continue
        place, value = f"{name} in {path}", option.default
        if name not in DELETING and (text := option.value_from_envvar(context)) is not None:
            place, value = variable, option.process_value(context, text)
        elif path is not None and name in values:
            value = _to_default(values[name], option, path)
        # The default phase is None and means consolidate.
        if value not in (option.default, "consolidate"):
            yield name, place


def _read(context: typer.Context, path: Path) -> None:
    """Make the values of a config file the defaults of a command."""
    context.meta[_CONFIG] = path
    values = _checked(context, path)
    context.default_map = {
        str(option.name): _to_default(values[option.name], option, path)
        for option in settable_options(context.command)
        if option.name in values
    }


def _checked(context: typer.Context, path: Path) -> dict[str, Any]:
    """Return the values of a config file. Raises `typer.BadParameter`."""
    settable = list(settable_options(context.find_root().command))
    values = _values(path, frozenset(option.name or "" for option in settable))
    for name, value in values.items():
        # A value that no command takes is wrong in each of them, and not only where it counts.
        options = [option for option in settable if option.name == name]
        types = {type(part) for part in (value if isinstance(value, list) else [value])}
        if not any(types <= {*_type_of(option)[1]} for option in options):
            _to_default(value, options[0], path)
    return values


def _values(path: Path, keys: frozenset[str]) -> dict[str, Any]:
    try:
        table = tomllib.loads(read_text(path, "utf-8-sig"))  # editors add a byte order mark
    except OSError as error:
        raise _wrong(path, f"it cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise _wrong(path, "it is not UTF-8.") from error
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _wrong(path, f"it is not valid TOML: {error}.") from error
    values = {key.replace("-", "_"): value for key, value in table.items()}
    if len(values) < len(table):
        twice = sorted(key for key in table if "-" in key and key.replace("-", "_") in table)
        raise _wrong(path, f"it has a key in two spellings: {', '.join(twice)}.")
    for key in sorted(values.keys() - keys):
        if isinstance(values[key], dict):
            raise _wrong(path, f"it has a table, [{key}]: put its keys at the top, without tables.")
        near = get_close_matches(key, sorted(keys), n=1)
        suggestion = f"Did you mean {near[0]}?" if near else "See docs/configuration.md."
        raise _wrong(path, f"it has an unknown key, {key}. {suggestion}")
    return values


def _type_of(option: TyperOption) -> tuple[str, tuple[type, ...]]:
    return _TYPES.get(option.type_descriptor.annotation, ("a string", (str,)))


def _to_default(value: Any, option: TyperOption, path: Path) -> Any:
    """Return a value in the form that an option takes: a list, a text with commas, or one value."""
    values = value if isinstance(value, list) else [value]
    expected, types = _type_of(option)
    for each in values:
        if type(each) not in types:  # Typer would convert true to 1, and 5 to "5"
            shown = str(each).lower() if isinstance(each, bool) else repr(each)
            raise _wrong(path, f"{option.name} must be {expected}, not {shown}.")
    place = f"'{path}, {option.name}'"
    if any(not str(each).strip() for each in values):
        return partial(_refuse, place, "it must not be blank.")
    if option.multiple:
        return values
    if option.name in _WITH_COMMAS:
        return ",".join(values)
    if len(values) == 1:
        return values[0]
    problem = f"it has {len(values)} values, and this command takes one: specify {option.opts[0]}."
    return partial(_refuse, place, problem)


def _refuse(place: str, problem: str) -> NoReturn:
    """Refuse a value; Click calls this only if no other source has one."""
    raise typer.BadParameter(problem, param_hint=place)


def _wrong(path: Path, problem: str) -> typer.BadParameter:
    problem = f"{problem} Correct it, or pass another file with --config."
    return typer.BadParameter(problem, param_hint=f"'{path}'")


def is_on_command_line(context: typer.Context, name: str) -> bool:
    """Whether an option was passed on the command line itself."""
    return _source(context, name) == "COMMANDLINE"


def source_of(context: typer.Context, name: str) -> str:
    """Return in words where the value of an option comes from."""
    source = _source(context, name)
    if source == "DEFAULT_MAP":
        return f"{name} in {context.meta[_CONFIG]}"
    return _SOURCES.get(source, "default").format(name.upper())


def _source(context: typer.Context, name: str) -> str:
    source = context.get_parameter_source(name)
    return "" if source is None else source.name


def place_of_refused(error: typer.TyperException) -> str | None:
    """Return the variable, or where in the config file, a refused value is; else None."""
    context: typer.Context | None = getattr(error, "ctx", None)
    parameter = getattr(error, "param", None)
    if context is None or parameter is None:
        return None
    source = _source(context, parameter.name)
    if source == "ENVIRONMENT":
        # The hint is the path of a config file.
        parts = (source_of(context, parameter.name), getattr(error, "param_hint", None))
        return ", ".join(filter(None, parts)).replace("'", "")
    return f"{context.meta[_CONFIG]}, {parameter.name}" if source == "DEFAULT_MAP" else None
