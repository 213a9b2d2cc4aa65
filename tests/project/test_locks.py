"""The lock files pin everything that is installed and built."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from places import ROOT


def pins(*names: str) -> dict[str, str]:
    text = "\n".join((ROOT / "locks" / f"{name}.txt").read_text() for name in names)
    versions = re.findall(r"^([\w.-]+)==([^\s;\\]+)", text, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in versions}


def needed_by(name: str) -> set[str]:
    """Return the requirements of a package on this machine, without extras."""
    try:
        requirements = map(Requirement, requires(name) or ())
    except PackageNotFoundError:  # of another platform
        return set()
    here = {"extra": ""}
    needed = (each for each in requirements if each.marker is None or each.marker.evaluate(here))
    return {canonicalize_name(each.name) for each in needed}


def test_the_lock_files_contain_all_dependencies() -> None:
    locked = pins("base", "torch", "cuda")
    missing = {name: needed_by(name) - locked.keys() for name in ("slowwave", *pins("base"))}
    assert {name: needed for name, needed in missing.items() if needed} == {}


def test_the_build_is_pinned_to_the_setuptools_of_the_lock() -> None:
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    assert build["requires"] == [f"setuptools=={pins('base')['setuptools']}"]
