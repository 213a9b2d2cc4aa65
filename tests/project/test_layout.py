"""The source tree is as docs/layout.md describes it."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

import pytest
from places import ROOT

from slowwave.store.schema_of_file import fresh_parts

FOLDERS = ("cli", "consolidation", "extensions", "store")
LAYOUT = (ROOT / "docs" / "layout.md").read_text("utf-8")


def strings(path: Path) -> set[str]:
    """Return the string constants of a module."""
    tree = ast.parse(path.read_text("utf-8"))
    constants = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return {value for value in constants if isinstance(value, str)}


def test_every_path_in_the_layout_exists() -> None:
    named = set(re.findall(r"`((?:[a-z_]+/)+[a-z_]*(?:\.(?:py|md))?)`", LAYOUT))
    assert len(named) > 40
    bases = ("", "cli", "consolidation")
    for name in named:
        assert any((ROOT / base / name).exists() for base in bases), name


def test_every_module_in_the_layout_exists() -> None:
    named = set(re.findall(r"`(\w+\.(?:py|md))`", LAYOUT))
    there = {path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*.*")}
    assert named - there == set()


@pytest.mark.parametrize("package", ["cli", "consolidation"])
def test_every_folder_of_a_package_is_in_the_layout(package: str) -> None:
    folders = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    assert {each for each in folders if f"`{each}/`" not in LAYOUT} == set()


def test_few_files_are_next_to_the_folders_of_a_package() -> None:
    files = {path.name for path in (ROOT / "cli").glob("*.py")}
    assert files == {"__init__.py", "__main__.py", "app.py"}
    assert len([*(ROOT / "consolidation").glob("*.py")]) <= 7


def test_consolidation_names_no_table_of_the_file() -> None:
    tables = {each.split()[1] for each in fresh_parts() if each.startswith("table ")}
    # The others have names that are words of ours, too.
    named = {each for each in tables if "_" in each} | {"embeddings", "journal", "derivations"}
    assert len(named & tables) > 5
    for path in (ROOT / "consolidation").rglob("*.py"):
        assert not strings(path) & named, path


_EXTENSIONS = (f"extensions/{name}" for name in ("fleet", "organisation", "screen"))


@pytest.mark.parametrize("folder", ["cli", "consolidation", *_EXTENSIONS])
def test_only_the_store_contains_sql(folder: str) -> None:
    sql = re.compile(r"(?:SELECT|INSERT INTO|UPDATE \w+ SET|DELETE FROM|PRAGMA) ")
    for path in (ROOT / folder).rglob("*.py"):
        if path.parent.name == "store":
            continue
        assert not list(filter(sql.match, strings(path))), path


def test_public_classes_have_unique_names() -> None:
    names = Counter(
        node.name
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )
    assert [name for name, count in names.items() if count > 1] == []
