"""Settings among the arguments of a command: variables of the environment while it runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Of these each value counts, of all others the last.
MULTIPLE = ("retain",)


@dataclass(frozen=True)
class Setting:
    """A setting of slowwave.toml, passed as an environment variable."""

    name: str
    value: str

    @property
    def variable(self) -> str:
        return f"SLOWWAVE_{self.name.upper()}"


def setting(name: str, value: object) -> Setting:
    return Setting(name, str(value))


def split(arguments: Iterable[object]) -> tuple[list[str], dict[str, str]]:
    """Return the arguments for the command line, and the variables for the environment."""
    words: list[str] = []
    variables: dict[str, str] = {}
    for each in arguments:
        if isinstance(each, Setting):
            earlier = variables.get(each.variable, "") if each.name in MULTIPLE else ""
            variables[each.variable] = f"{earlier} {each.value}".strip() if earlier else each.value
        else:
            words.append(str(each))
    return words, variables


@contextmanager
def environment(variables: dict[str, str]) -> Iterator[None]:
    """Set variables of the environment while the block runs."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def configure(memory_file: Path, **settings: object) -> None:
    """Write the slowwave.toml next to a memory file."""
    lines = (f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    memory_file.with_name("slowwave.toml").write_text("".join(lines), "utf-8")
