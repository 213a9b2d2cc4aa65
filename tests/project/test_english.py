"""Names, docstrings, comments and messages follow docs/style.md."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from places import ROOT

# What these modules contain is public (a JSON state or key), the pattern of a text, or SQL that was
# released and is never edited. This list only shrinks.
EXCEPTIONS = {
    *("cli/views/ingest.py", "consolidation/ingest/ingest_outcome.py"),
    *("consolidation/ingest/part_store.py", "consolidation/proposals.py"),
    *("extensions/formats/mirror/tables.py", "extensions/organisation/store/log_script.py"),
    *("store/schema.py",),
}
FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for folder in ("benchmarks", "cli", "consolidation", "extensions", "locks", "training", "store")
    for path in (ROOT / folder).rglob("*.py")
    if path.relative_to(ROOT).as_posix() not in EXCEPTIONS
)
# Pages, of which docs/style.md also quotes what to avoid.
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "plugins/**/*.md", "Makefile", "pyproject.toml")
    for path in ROOT.glob(pattern)
    if path.name != "style.md"
)
NAMES = {
    *("one", "other", "others", "several", "some", "told", "said"),
    *("found", "known", "given", "made", "at"),
}
# Keywords of the public API and of MCP, and keys in JSON, by the modules that define them.
PUBLIC = {
    *(("cli/mcp/tools.py", "at"), ("cli/nights/gates.py", "found")),
    *(("consolidation/agent/conversing.py", "at"), ("consolidation/agent/rounds.py", "known")),
    *(
        ("consolidation/ingest/open_conversations.py", "at"),
        ("extensions/fleet/store/receipt.py", "at"),
    ),
    ("extensions/organisation/store/shared_log.py", "at"),
}
PHRASES = re.compile(
    r"(?<!there )\b(is|are) no (?!longer)|\b(is|are) to be\b|\bstands?\b(?!.ins?\b)|\bstood\b"
    r"|\bgo(es)? with\b|\bat the most\b|\bso many\b|\btold\b|\bbeside\b|\bwhatever\b|\bwhoever\b"
    r"|\banew\b|\bany more\b|\btak(e|es|en) back\b|\bno more\b|\bspoiled\b|\bup to date\b"
    r"|\d %(?!\w)|\bbegins with\b|\b(is|are|was|were|be) left out\b|carr(y|ies|ied)[ _](it )?out\b"
    r"|\bspeaks? of\b|\bfor good\b|\buse more of\b|\b(object|memory|path|trace|row) a line\b",
    re.IGNORECASE,
)


def bound_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg


def forbidden_names(path: str, tree: ast.AST) -> list[str]:
    return [
        f"{path}:{line} {name}"
        for line, name in bound_names(tree)
        if name in NAMES and (path, name) not in PUBLIC
    ]


def prose(tree: ast.AST, source: str) -> Iterator[tuple[int, str]]:
    """Yield the strings, comments and definitions of a module, with adjacent comments joined."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.lineno, node.name.replace("_", " ")
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, " ".join(node.value.split())
    comment, end = "", 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line = token.start[0]
            comment = f"{comment} {token.string[2:]}" if line == end + 1 else token.string
            end = line
            yield line, comment


def test_variables_docstrings_comments_and_messages_are_plain_english() -> None:
    faults = []
    for name in FILES:
        source = (ROOT / name).read_text("utf-8")
        tree = ast.parse(source)
        faults += forbidden_names(name, tree)
        faults += [
            f"{name}:{line} {text}" for line, text in prose(tree, source) if PHRASES.search(text)
        ]
    assert faults == []


def test_names_and_docstrings_of_tests_are_plain_english() -> None:
    faults = []
    for path in sorted((ROOT / "tests").glob("**/*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        faults += forbidden_names(path.relative_to(ROOT).as_posix(), tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                name = getattr(node, "name", "").replace("_", " ")
                texts = [name, " ".join((ast.get_docstring(node) or "").split())]
                faults += [f"{path}: {text}" for text in texts if PHRASES.search(text)]
    assert faults == []


def test_pages_are_plain_english() -> None:
    faults = []
    for page in PAGES:
        for paragraph in page.read_text("utf-8").split("\n\n"):
            text = " ".join(re.sub("`[^`]*`", "", paragraph).split())
            faults += [f"{page.name}: {text}"] if PHRASES.search(text) else []
    assert faults == []


def test_every_exception_to_the_style_is_still_needed() -> None:
    assert {name for name in EXCEPTIONS if not (ROOT / name).is_file()} == set()
    bound = {
        (path, name)
        for path, _ in PUBLIC
        for _, name in bound_names(ast.parse((ROOT / path).read_text("utf-8")))
    }
    assert bound >= PUBLIC


def test_what_the_style_forbids_is_found_and_nothing_else() -> None:
    forbidden = (
        *("X is no memory.", "it is to be read", "what stands there", "At the most 3 of them"),
        *("94 % of them", "It begins with a dash.", "One JSON object a line."),
        *("the run that carries it out", "carry out"),
    )
    allowed = ("There is no tenant 'x'.", "It is no longer there.", "94% of them")
    assert [text for text in (*forbidden, *allowed) if PHRASES.search(text)] == [*forbidden]
