"""The wiki of a memory file: its pages, later exports, hostile texts, and second files."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from builders import a_memory, copied, copy_of, put
from cli_calls import Cli
from commands import configure
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from model_nights import a_rule, served
from model_server import oracle
from nights import execute, fill, rows, unchanged

from slowwave.cli.app import run
from slowwave.extensions.organisation.wiki.names import stem_of
from slowwave.extensions.organisation.wiki.text import (
    as_block,
    as_line,
    as_link,
    is_untouched,
    page,
)

HOSTILE = [
    "---\ntenant: stolen\n---\n# heading",
    "```\n</code><script>alert(1)</script>\n````text",
    "[click](http://evil.example) ![x](http://evil.example/x.png) <b>bold</b> <!-- gone -->",
    "| a | b |\n|---|---|\n| [[link]] | %%hidden%% $x$ ==y== |",
    "1. first\n- two\n> three\n    four",
    "a\x1b[31mred\u202etxt.exe\u2028next\x85line\tend",
    "key: 'value' \"x\" & *anchor !tag @at %directive",
    "https://evil.example/a?b=c www.evil.example evil.com ftp://evil.org //evil.net",
    "mail ann@evil.com or mailto:ann@evil.com, 1a.evil.com",
]


night = copied("smoke_night")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Provide the folder of a wiki."""
    return tmp_path / "wiki"


@pytest.fixture
def wiki(night: Path, folder: Path, cli: Cli) -> Path:
    """Provide the wiki of a night."""
    cli("export", night, "--wiki", folder).ends(0)
    return folder


def pages(folder: Path) -> dict[str, str]:
    return {
        str(item.relative_to(folder)): item.read_text("utf-8")
        for item in sorted(folder.rglob("*"))
        if item.is_file()
    }


def front(text: str) -> dict[str, Any]:
    matter = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    assert matter is not None
    loaded: dict[str, Any] = yaml.safe_load(matter[1])
    return loaded


def parsed(text: str) -> list[Any]:
    """Return the tokens of a page's body, those within lines, too."""
    body = text.split("\n---\n", 1)[1]
    # As GitHub's: with tables, and with links of bare addresses.
    tokens = MarkdownIt("gfm-like").parse(body)
    return [inner for token in tokens for inner in (token, *(token.children or ()))]


def links(text: str) -> list[str]:
    return [item.attrs["href"] for item in parsed(text) if item.type == "link_open"]


# ---- what is written ----


def test_each_memory_has_a_page_and_no_link_is_broken(night: Path, folder: Path, cli: Cli) -> None:
    ended = cli("export", night, "--wiki", folder, "--json")
    by_name = pages(folder)
    assert ended.json["wiki"]["written"] == len(by_name)
    ids = {front(text).get("id") for text in by_name.values()}
    assert {row["id"] for row in rows(night, "SELECT id FROM memories")} <= ids
    assert broken_links(by_name) == []


def broken_links(by_name: dict[str, str]) -> list[tuple[str, str]]:
    return [
        (name, link)
        for name, text in by_name.items()
        for link in links(text)
        if os.path.normpath(Path(name).parent / link) not in by_name
    ]


def test_a_derived_memory_names_its_sources(night: Path, wiki: Path) -> None:
    (derived,) = rows(
        night, "SELECT id, content FROM memories WHERE content LIKE '%03:30%' AND generation > 0"
    )
    text = (wiki / "wiki" / "memories" / f"{derived['id']}.md").read_text("utf-8")
    assert front(text)["made_from"] == ["smoke-05", "smoke-06"]
    assert "../../raw/smoke-05.md" in links(text)
    (fence,) = [token.content for token in parsed(text) if token.type == "fence"]
    assert fence == derived["content"] + "\n"


def test_the_index_links_to_rules_with_their_evidence(
    memory_file: Path, folder: Path, cli: Cli
) -> None:
    fill(memory_file, a_rule())
    with served(oracle) as model:
        cli("maintain", memory_file, *model)
    cli("export", memory_file, "--wiki", folder)
    by_name = pages(folder)
    _, _, rules = by_name["index.md"].partition("## Rules\n")
    (name,) = re.findall(r"\]\((wiki/memories/.*?)\)", rules.partition("##")[0])
    assert front(by_name[name])["made_from"] == [memory["id"] for memory in a_rule()]
    assert {f"../../raw/{memory['id']}.md" for memory in a_rule()} <= set(links(by_name[name]))


def test_entities_of_three_memories_have_pages(memory_file: Path, folder: Path, cli: Cli) -> None:
    names = {"Kind regards": 2, "atlas-api": 3, "Evan": 4}
    fill(
        memory_file,
        [
            {"id": f"{name} {number}", "content": f"Note {number} on {name}.", "entities": [name]}
            for name, count in names.items()
            for number in range(count)
        ],
    )
    cli("export", memory_file, "--wiki", folder)
    listed = {front(text)["entity"] for text in pages(folder).values() if "entity" in front(text)}
    assert listed >= {"atlas-api", "Evan"}
    assert "Kind regards" not in listed
    index = pages(folder)["index.md"]
    linked = [link for link in links(index) if link.startswith("wiki/entities/")]
    assert len(linked) == len(listed)
    assert "atlas-api](wiki/entities/default/atlas-api.md): 3 memories" in index
    execute(memory_file, "UPDATE memories SET status = 'archived' WHERE id = 'atlas-api 0'")
    cli("export", memory_file, "--wiki", folder)
    assert not (folder / "wiki" / "entities" / "default" / "atlas-api.md").exists()


# ---- what a second export changes ----


def test_a_second_export_writes_only_changed_pages(night: Path, wiki: Path, cli: Cli) -> None:
    before = {path: path.stat().st_ino for path in wiki.rglob("*.md")}
    assert cli("export", night, "--wiki", wiki, "--json").json["wiki"]["written"] == 0
    cli("add", night, "The office closes at 18:00.", "--tenant", "office")
    cli("recall", night, "invoices")
    report = cli("export", night, "--wiki", wiki, "--json").json["wiki"]
    assert (report["written"], report["removed"], report["kept"]) == (3, 0, [])
    changed = {path for path, inode in before.items() if path.stat().st_ino != inode}
    assert changed == {wiki / "index.md"}
    execute(night, "DELETE FROM memories WHERE id IN ('smoke-07', 'smoke-08')")
    assert cli("export", night, "--wiki", wiki, "--json").json["wiki"]["removed"] == 2
    assert not (wiki / "raw" / "smoke-07.md").exists()


def test_pages_that_a_person_changed_are_kept_and_named(night: Path, wiki: Path, cli: Cli) -> None:
    mine, changed = wiki / "raw" / "mine.md", wiki / "raw" / "smoke-07.md"
    mine.write_text("# my own page\n")
    changed.write_text(changed.read_text("utf-8") + "\nA remark.\n")
    execute(night, "UPDATE memories SET importance = 5 WHERE id = 'smoke-07'")
    cli("export", night, "--wiki", wiki).ends(0, "raw/smoke-07.md")
    assert changed.read_text("utf-8").endswith("A remark.\n")
    assert mine.read_text("utf-8") == "# my own page\n"


def test_an_unfinished_page_is_written_again(night: Path, wiki: Path, cli: Cli) -> None:
    with unchanged(pages, wiki):
        (wiki / "raw" / "smoke-01.md").write_text("")
        (wiki / "raw" / ".slowwave-new").write_text("half of a pa")
        cli("export", night, "--wiki", wiki)


def test_pages_have_the_mode_of_the_memory_file(night: Path, folder: Path, cli: Cli) -> None:
    night.chmod(0o640)
    cli("export", night, "--wiki", folder)
    assert (folder / "raw" / "smoke-01.md").stat().st_mode & 0o777 == 0o640
    assert (folder / "raw").stat().st_mode & 0o077 == 0o050


# ---- what no text and no folder can do ----


def test_hostile_texts_stay_texts(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    named = ["../../outside", "/etc/passwd", "..", "a/b", "CON", "Case", "case", "x" * 400, "ü*?"]
    named += ["www.evil.example", "https://evil.example"]
    texts = dict(zip(named, HOSTILE * 2, strict=False))
    put(memory_file, *(a_memory(name, text, tenant=name) for name, text in texts.items()))
    naming = {"content": "x", "entities": [*named, *HOSTILE]}
    fill(memory_file, [{"id": f"e{number}", **naming} for number in range(3)])
    folder = tmp_path / "deep" / "wiki"
    folder.parent.mkdir()
    cli("export", memory_file, "--wiki", folder).ends(0)
    own = {path.name for path in memory_file.parent.glob(f"{memory_file.name}*")}
    assert {entry.name for entry in tmp_path.iterdir()} <= {"deep", *own}
    assert list(folder.parent.iterdir()) == [folder]
    by_name = pages(folder)
    shown = {front(text).get("id"): text for text in by_name.values()}
    for name, text in texts.items():
        assert front(shown[name])["tenant"] == name
        (fence,) = [token for token in parsed(shown[name]) if token.type == "fence"]
        if text.isprintable() or "\x1b" not in text:
            assert fence.content == f"{text}\n"
    for text in by_name.values():
        kinds = {token.type for token in parsed(text)}
        assert not kinds & {"html_inline", "html_block", "image", "table_open", "code_block"}
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u202e]", text)
    assert broken_links(by_name) == []


# As JSON that an agent wrote may hold them, halves of surrogate pairs, too.
TEXTS = st.text(st.characters(exclude_categories=()), min_size=1, max_size=40)


@settings(max_examples=150)
@given(TEXTS, TEXTS)
def test_the_front_matter_keeps_any_text(first: str, second: str) -> None:
    text = page(
        {"title": first, "tags": [second, first]}, [as_block(first), f"- {as_line(second)}"]
    )
    assert is_untouched(text.encode())
    assert front(text)["title"] == first
    assert front(text)["tags"] == [second, first]


@settings(max_examples=300)
@given(st.text(st.sampled_from("ab \n\t`*_[]()<>#-+.1|!\\&~:/\"'{}=$%")))
def test_any_text_in_a_line_or_a_link_is_shown_literally(raw: str) -> None:
    line = as_line(raw)
    text = page({"title": "t"}, [f"- {line}", as_link(raw, "x.md")])
    inner = [item for item in parsed(text) if item.type not in ("inline", "text", "link_open")]
    assert {item.type for item in inner} <= {
        *("bullet_list_open", "list_item_open", "paragraph_open", "paragraph_close"),
        *("list_item_close", "bullet_list_close", "link_close", "text_special"),
    }
    shown = "".join(
        item.content
        for item in parsed(f"x\n---\n- {line}")
        if item.type in ("text", "text_special")
    )
    assert shown.split() == raw.split()


@settings(max_examples=200)
@given(TEXTS, TEXTS)
def test_each_name_has_a_page_of_its_own_in_the_folder(first: str, second: str) -> None:
    for text in (first, second, stem_of(first)):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", stem_of(text))
    assert (stem_of(first) == stem_of(second)) == (first == second)
    assert stem_of(stem_of(first)) == stem_of(first) or stem_of(first) != first


@pytest.mark.parametrize("place", ["raw", "wiki", "wiki/tenants"])
def test_no_symbolic_link_is_followed(night: Path, folder: Path, cli: Cli, place: str) -> None:
    outside = folder.with_name("outside")
    outside.mkdir()
    (folder / place).parent.mkdir(parents=True)
    (folder / place).symlink_to(outside)
    cli("export", night, "--wiki", folder).ends(1, "another file is in the way")
    assert list(outside.iterdir()) == []


def test_links_pipes_and_folders_instead_of_pages_stay(night: Path, folder: Path, cli: Cli) -> None:
    secret, raw = folder.with_name("secret"), folder / "raw"
    secret.write_text("")
    raw.mkdir(parents=True)
    (raw / "smoke-01.md").symlink_to(secret)
    os.mkfifo(raw / "smoke-02.md")
    (raw / "smoke-03.md").mkdir()
    kept = cli("export", night, "--wiki", folder, "--json").json["wiki"]["kept"]
    assert kept == ["raw/smoke-03.md", "raw/smoke-01.md", "raw/smoke-02.md"]
    assert secret.read_text() == ""


# ---- wrong usage, and after each run ----


def test_an_unwritable_folder_is_reported(night: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "no" / "such", night):
        cli("export", night, "--wiki", folder).ends(1, "Error: Cannot write into")
    missing = f"there is no folder {tmp_path / 'none'}.\nCreate it first.\n"
    cli("export", night, "--wiki", tmp_path / "none" / "wiki").ends(1, missing)
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "link").symlink_to("none")
    cli("export", night, "--wiki", tmp_path / "link").ends(1, "is in the way", "a new folder")


def test_the_wiki_of_another_file_is_refused(night: Path, wiki: Path, cli: Cli) -> None:
    second = copy_of(night, night.with_name("second: file.db"))
    with unchanged(pages, wiki):
        for command in ("export", "maintain"):
            why = f"it contains the wiki of {night.name}, not of {second.name}"
            cli(command, second, "--wiki", wiki).ends(1, why)
    (wiki / "index.md").unlink()
    for _ in range(2):
        assert cli("export", second, "--wiki", wiki).code == 0


@pytest.mark.skipif(not Path("/sys").is_dir(), reason="every folder can be written to")
def test_a_read_only_folder_has_a_hint(night: Path, cli: Cli) -> None:
    cli("export", night, "--wiki", "/sys/w").ends(1, "let this user write to it")


def test_a_concurrent_export_is_refused(night: Path, folder: Path, cli: Cli) -> None:
    folder.mkdir()
    locked = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(locked, fcntl.LOCK_EX)
        assert cli("export", night, "--wiki", folder).code == 11
    finally:
        os.close(locked)
    assert list(folder.iterdir()) == []


def test_wiki_and_all_exclude_each_other(night: Path, folder: Path, cli: Cli) -> None:
    assert cli("export", night, "--wiki", folder, "--all").code == 2
    assert not folder.exists()


def is_current(path: Path, folder: Path) -> bool:
    """Whether a wiki equals a new export."""
    fresh = folder.with_name("fresh")
    assert run(["export", str(path), "--wiki", str(fresh), "--quiet"]) == 0
    same = pages(folder) == pages(fresh)
    shutil.rmtree(fresh)
    return same


def test_a_wiki_that_fails_keeps_the_run(smoke: Path, tmp_path: Path, cli: Cli) -> None:
    night = ("maintain", smoke, "--quiet", "--wiki")
    cli(*night, tmp_path / "none" / "wiki").ends(1, "Cannot write into")
    assert rows(smoke, "SELECT outcome FROM runs") == []
    wiki = tmp_path / "wiki"
    obstacle = wiki / "wiki" / "tenants"
    obstacle.parent.mkdir(parents=True)
    obstacle.write_text("in the way")
    ended = cli(*night, wiki).ends(3, "another file is in the way")
    assert ended.err.count("Error:") == 1
    assert rows(smoke, "SELECT outcome FROM runs") == [{"outcome": "done"}]
    obstacle.unlink()
    assert cli(*night, wiki).code == 0
    assert is_current(smoke, wiki)


@pytest.mark.parametrize("command", ["maintain", "answer", "dream"])
def test_every_run_updates_the_wiki(
    command: str, memory_file: Path, folder: Path, cli: Cli
) -> None:
    for text in ("The office closes at six.", "The office closes at six"):
        cli("add", memory_file, text)
    configure(memory_file, wiki=str(folder))
    cli("maintain", memory_file, "--dry-run")
    assert not folder.exists()
    ended = cli(command, memory_file, "--json").ends(0)
    assert (ended.json["wiki"]["folder"], is_current(memory_file, folder)) == (str(folder), True)
