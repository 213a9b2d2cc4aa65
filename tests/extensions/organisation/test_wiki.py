"""A memory file written out as Markdown pages: what is in them, what changes, what never can."""

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
from commands import setting
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from model_nights import SMOKE, a_rule
from model_server import model_server
from nights import execute, fill, rows, unchanged
from places import ROOT

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
    "1. one\n- two\n> three\n    four",
    "a\x1b[31mred\u202etxt.exe\u2028next\x85line\tend",
    "key: 'value' \"x\" & *anchor !tag @at %directive",
    "https://evil.example/a?b=c www.evil.example evil.com ftp://evil.org //evil.net",
    "mail ann@evil.com or mailto:ann@evil.com, 1a.evil.com",
]


night = copied("smoke_night")


def pages(folder: Path) -> dict[str, str]:
    return {
        str(item.relative_to(folder)): item.read_text("utf-8")
        for item in sorted(folder.rglob("*"))
        if item.is_file()
    }


def front(text: str) -> dict[str, Any]:
    found = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    assert found is not None
    loaded: dict[str, Any] = yaml.safe_load(found[1])
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


def test_each_memory_has_a_page_and_no_link_dangles(night: Path, tmp_path: Path, cli: Cli) -> None:
    ended = cli("export", night, "--wiki", tmp_path / "wiki", "--json")
    found = pages(tmp_path / "wiki")
    assert ended.json["wiki"]["written"] == len(found)
    ids = {front(text).get("id") for text in found.values()}
    assert {row["id"] for row in rows(night, "SELECT id FROM memories")} <= ids
    for name, text in found.items():
        for link in links(text):
            target = os.path.normpath(Path(name).parent / link)
            assert target in found, (name, link)


def test_a_derived_memory_names_its_sources(night: Path, tmp_path: Path, cli: Cli) -> None:
    cli("export", night, "--wiki", tmp_path / "wiki")
    (made,) = rows(
        night, "SELECT id, content FROM memories WHERE content LIKE '%03:30%' AND generation > 0"
    )
    text = (tmp_path / "wiki" / "wiki" / "memories" / f"{made['id']}.md").read_text("utf-8")
    assert front(text)["made_from"] == ["smoke-05", "smoke-06"]
    assert "../../raw/smoke-05.md" in links(text)
    (fence,) = [item.content for item in parsed(text) if item.type == "fence"]
    assert fence == made["content"] + "\n"


def test_a_rule_has_a_page_with_its_evidence(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    fill(memory_file, a_rule())
    with model_server() as server:
        asking = ("--model", "openai/scripted", setting("api_base", server.base))
        cli("maintain", memory_file, *asking)
    cli("export", memory_file, "--wiki", tmp_path / "wiki")
    (name,) = [page for page in pages(tmp_path / "wiki") if page.startswith("wiki/rules/")]
    text = (tmp_path / "wiki" / name).read_text("utf-8")
    assert front(text)["evidence"] == [memory["id"] for memory in a_rule()]
    assert {f"../../raw/{memory['id']}.md" for memory in a_rule()} <= set(links(text))
    assert name in links(pages(tmp_path / "wiki")["index.md"])


def test_a_name_needs_three_memories(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    names = {"Kind regards": 2, "atlas-api": 3, "Evan": 4}
    fill(
        memory_file,
        [
            {"id": f"{name} {number}", "content": f"Note {number} on {name}.", "entities": [name]}
            for name, count in names.items()
            for number in range(count)
        ],
    )
    folder = tmp_path / "wiki"
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


def test_a_second_export_changes_only_what_changed(night: Path, tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "wiki"
    cli("export", night, "--wiki", folder)
    before = {path: path.stat().st_ino for path in folder.rglob("*.md")}
    assert cli("export", night, "--wiki", folder, "--json").json["wiki"]["written"] == 0
    cli("add", night, "The office closes at 18:00.", "--tenant", "office")
    cli("recall", night, "invoices")
    ended = cli("export", night, "--wiki", folder, "--json").json["wiki"]
    assert (ended["written"], ended["removed"], ended["kept"]) == (3, 0, [])
    changed = {item for item, number in before.items() if item.stat().st_ino != number}
    assert changed == {folder / "index.md"}


def test_the_page_of_a_deleted_memory_is_removed(night: Path, tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "wiki"
    cli("export", night, "--wiki", folder)
    execute(night, "DELETE FROM memories WHERE id IN ('smoke-07', 'smoke-08')")
    assert cli("export", night, "--wiki", folder, "--json").json["wiki"]["removed"] == 2
    assert not (folder / "raw" / "smoke-07.md").exists()


def test_what_a_person_wrote_is_kept_and_named(night: Path, tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "wiki"
    cli("export", night, "--wiki", folder)
    mine, changed = folder / "raw" / "mine.md", folder / "raw" / "smoke-07.md"
    mine.write_text("# my own page\n")
    changed.write_text(changed.read_text("utf-8") + "\nA remark.\n")
    execute(night, "UPDATE memories SET importance = 5 WHERE id = 'smoke-07'")
    cli("export", night, "--wiki", folder).ends(0, "raw/smoke-07.md")
    assert changed.read_text("utf-8").endswith("A remark.\n")
    assert mine.read_text("utf-8") == "# my own page\n"


def test_an_unfinished_page_is_written_anew(night: Path, tmp_path: Path, cli: Cli) -> None:
    folder = tmp_path / "wiki"
    cli("export", night, "--wiki", folder)
    with unchanged(pages, folder):
        (folder / "raw" / "smoke-01.md").write_text("")
        (folder / "raw" / ".slowwave-new").write_text("half of a pa")
        cli("export", night, "--wiki", folder)


def test_pages_have_the_mode_of_the_file(night: Path, tmp_path: Path, cli: Cli) -> None:
    night.chmod(0o640)
    cli("export", night, "--wiki", tmp_path / "wiki")
    assert (tmp_path / "wiki" / "raw" / "smoke-01.md").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "wiki" / "raw").stat().st_mode & 0o027 == 0
    assert (tmp_path / "wiki" / "raw").stat().st_mode & 0o050 == 0o050


# ---- what no text and no folder can do ----


def test_hostile_texts_stay_texts(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    named = ["../../outside", "/etc/passwd", "..", "a/b", "CON", "Case", "case", "x" * 400, "ü*?"]
    named += ["www.evil.example", "https://evil.example"]
    put(
        memory_file,
        *(
            a_memory(name, text, tenant=name)
            for name, text in zip(named, HOSTILE * 2, strict=False)
        ),
    )
    naming = {"content": "x", "entities": [*named, *HOSTILE]}
    fill(memory_file, [{"id": f"e{number}", **naming} for number in range(3)])
    folder = tmp_path / "deep" / "wiki"
    folder.parent.mkdir()
    cli("export", memory_file, "--wiki", folder).ends(0)
    assert {entry.name for entry in tmp_path.iterdir()} <= {"deep", *_of(memory_file)}
    assert {candidate.name for candidate in folder.parent.iterdir()} == {"wiki"}
    found = pages(folder)
    shown = {front(text).get("id"): text for text in found.values()}
    for name, text in zip(named, HOSTILE * 2, strict=False):
        assert front(shown[name])["tenant"] == name
        (fence,) = [item for item in parsed(shown[name]) if item.type == "fence"]
        if text.isprintable() or "\x1b" not in text:
            assert fence.content == f"{text}\n"
    for name, text in found.items():
        kinds = {item.type for item in parsed(text)}
        assert not kinds & {"html_inline", "html_block", "image", "table_open", "code_block"}
        assert all(os.path.normpath(Path(name).parent / link) in found for link in links(text))
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f\u2028\u202e]", text)


def _of(path: Path) -> set[str]:
    return {item.name for item in path.parent.glob(f"{path.name}*")}


# As JSON that an agent wrote may hold them, halves of surrogate pairs, too.
TEXTS = st.text(st.characters(exclude_categories=()), min_size=1, max_size=40)


@settings(max_examples=150)
@given(TEXTS, TEXTS)
def test_any_text_comes_out_of_the_front_matter_as_it_went_in(one: str, other: str) -> None:
    text = page({"title": one, "tags": [other, one]}, [as_block(one), f"- {as_line(other)}"])
    assert is_untouched(text.encode())
    assert front(text)["title"] == one
    assert front(text)["tags"] == [other, one]


@settings(max_examples=300)
@given(st.text(st.sampled_from("ab \n\t`*_[]()<>#-+.1|!\\&~:/\"'{}=$%")))
def test_any_text_in_a_line_or_a_link_shows_as_itself(said: str) -> None:
    line = as_line(said)
    text = page({"title": "t"}, [f"- {line}", as_link(said, "x.md")])
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
    assert shown.split() == said.split()


@settings(max_examples=200)
@given(TEXTS, TEXTS)
def test_no_two_names_share_a_page_and_none_leads_away(one: str, other: str) -> None:
    for text in (one, other, stem_of(one)):
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", stem_of(text))
    assert (stem_of(one) == stem_of(other)) == (one == other)
    assert stem_of(stem_of(one)) == stem_of(one) or stem_of(one) != one


@pytest.mark.parametrize("place", ["raw", "wiki", "wiki/tenants"])
def test_no_link_is_followed(night: Path, tmp_path: Path, cli: Cli, place: str) -> None:
    folder, outside = tmp_path / "wiki", tmp_path / "outside"
    outside.mkdir()
    (folder / place).parent.mkdir(parents=True)
    (folder / place).symlink_to(outside)
    cli("export", night, "--wiki", folder).ends(1, "another file is in the way")
    assert list(outside.iterdir()) == []


def test_a_link_or_a_pipe_in_place_of_a_page_stays(night: Path, tmp_path: Path, cli: Cli) -> None:
    folder, secret = tmp_path / "wiki", tmp_path / "secret"
    secret.write_text("")
    (folder / "raw").mkdir(parents=True)
    (folder / "raw" / "smoke-01.md").symlink_to(secret)
    os.mkfifo(folder / "raw" / "smoke-02.md")
    (folder / "raw" / "smoke-03.md").mkdir()
    kept = cli("export", night, "--wiki", folder, "--json").json["wiki"]["kept"]
    assert kept == ["raw/smoke-01.md", "raw/smoke-02.md", "raw/smoke-03.md"]
    assert secret.read_text() == ""


# ---- wrong usage, and after each run ----


def test_an_unwritable_folder_is_reported(night: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "file").write_text("mine")
    for folder in (tmp_path / "file", tmp_path / "no" / "such", night):
        ended = cli("export", night, "--wiki", folder)
        assert (ended.code, ended.err.startswith("Error: Cannot write into")) == (1, True)
    ended = cli("export", night, "--wiki", tmp_path / "none" / "wiki")
    assert f"there is no folder {tmp_path / 'none'}.\nCreate it first.\n" in ended.err
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "link").symlink_to("none")
    cli("export", night, "--wiki", tmp_path / "link").ends(1, "is in the way", "a new folder")


def test_a_folder_of_another_file_is_refused(night: Path, tmp_path: Path, cli: Cli) -> None:
    folder, other = tmp_path / "wiki", copy_of(night, tmp_path / "other: file.db")
    cli("export", night, "--wiki", folder)
    with unchanged(pages, folder):
        for command in (["export"], ["maintain"]):
            ended = cli(*command, other, "--wiki", folder)
            said = f"it contains the wiki of {night.name}, not of {other.name}"
            assert (ended.code, said in ended.err) == (1, True), ended.err
    (folder / "index.md").unlink()
    for _ in range(2):
        assert cli("export", other, "--wiki", folder).code == 0


def test_a_read_only_folder_has_a_hint_that_helps(night: Path, cli: Cli) -> None:
    closed = Path("/sys")
    if not closed.is_dir():
        pytest.skip("this system has no folder that nobody may write in")
    cli("export", night, "--wiki", closed / "w").ends(1, "let this user write to it")


def test_of_two_exports_at_once_one_is_refused(night: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "wiki").mkdir()
    held = os.open(tmp_path / "wiki", os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert cli("export", night, "--wiki", tmp_path / "wiki").code == 11
    finally:
        os.close(held)
    assert list((tmp_path / "wiki").iterdir()) == []


def test_wiki_excludes_options_of_lines(night: Path, tmp_path: Path, cli: Cli) -> None:
    assert cli("export", night, "--wiki", tmp_path / "wiki", "--all").code == 2
    assert not (tmp_path / "wiki").exists()


def test_a_run_writes_the_configured_wiki(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    cli("import", memory_file, SMOKE)
    memory_file.with_name("slowwave.toml").write_text(f'wiki = "{tmp_path / "wiki"}"\n')
    cli("maintain", memory_file, "--dry-run")
    assert not (tmp_path / "wiki").exists()
    ended = cli("maintain", memory_file, "--json")
    assert ended.json["wiki"]["written"] == len(pages(tmp_path / "wiki")) > 10
    assert cli("export", memory_file).out.startswith('{"content"')


def as_it_is_now(path: Path, folder: Path) -> bool:
    """Whether a wiki says what an export would say now."""
    fresh = folder.with_name("fresh")
    assert run(["export", str(path), "--wiki", str(fresh), "--quiet"]) == 0
    same = pages(folder) == pages(fresh)
    shutil.rmtree(fresh)
    return same


def test_a_wiki_that_fails_keeps_the_run(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    cli("import", memory_file, SMOKE)
    (tmp_path / "file").write_text("")
    night = ("maintain", memory_file, "--quiet", "--wiki")
    for refused in (tmp_path / "file", tmp_path / "none" / "wiki"):
        cli(*night, refused).ends(1, "Cannot write into")
    assert rows(memory_file, "SELECT outcome FROM runs") == []
    wiki = tmp_path / "wiki"
    (wiki / "wiki").mkdir(parents=True)
    (wiki / "wiki" / "tenants").write_text("in the way")
    ended = cli(*night, wiki)
    assert (ended.code, ended.err.count("Error:")) == (3, 1)
    assert "another file is in the way" in ended.err
    assert rows(memory_file, "SELECT outcome FROM runs") == [{"outcome": "done"}]
    (wiki / "wiki" / "tenants").unlink()
    assert cli(*night, wiki).code == 0
    assert as_it_is_now(memory_file, wiki)


def test_every_change_updates_the_wiki(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    wiki, plan, chat = tmp_path / "wiki", tmp_path / "plan.jsonl", tmp_path / "chat.txt"
    cli("import", memory_file, SMOKE)
    for text in ("The office closes at six.", "The office closes at six"):
        cli("add", memory_file, text)
    maintain = ("maintain", memory_file)
    cli(*maintain, "--dry-run", "--plan-out", plan)
    cli("experience", memory_file, "add", ROOT / "fixtures" / "experience.jsonl")
    chat.write_text("User: I own a red Brompton.\nAssistant: ok\n")
    memory_file.with_name("slowwave.toml").write_text(f'wiki = "{wiki}"\n')

    def done(*command: object) -> Any:
        """Run a command, and see that the wiki says what came of it."""
        ended = cli(*command, "--json").ends(0)
        assert ended.json["wiki"]["folder"] == str(wiki)
        assert as_it_is_now(memory_file, wiki), command
        return ended.json

    applied = done("review", "apply", memory_file, plan)
    undone = done("undo", memory_file, applied["run"])
    assert undone["wiki"]["written"] > 0
    run_id = done("ingest", memory_file, chat)["run"]
    assert cli("undo", memory_file, run_id, "--dry-run", "--json").json.get("wiki") is None
    assert done("experience", memory_file, "compress")["wiki"]["written"] > 0
    waiting = done(*maintain, "--review", "always", "--reconsider")["proposals"]
    done("review", "approve", memory_file, waiting[0]["id"])
    done("review", "decline", memory_file, waiting[1]["id"])


def test_a_failed_wiki_ends_a_command_with_3(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    wiki, chat = tmp_path / "wiki", tmp_path / "chat.txt"
    wiki.mkdir()
    (wiki / "raw").write_text("in the way")
    chat.write_text("User: I own a red Brompton.\nAssistant: ok\n")
    cli("experience", memory_file, "add", ROOT / "fixtures" / "experience.jsonl")
    for command in (["ingest", memory_file, chat], ["experience", memory_file, "compress"]):
        assert cli(*command, "--wiki", chat).code == 1  # and nothing was done
        done = "The rest is done; only the wiki was not updated."
        cli(*command, "--wiki", wiki).ends(3, "Cannot write into", done)
        (run_id,) = [row["id"] for row in rows(memory_file, "SELECT id FROM runs "
                     "WHERE outcome = 'done' ORDER BY id DESC LIMIT 1")]  # fmt: skip
        assert cli("undo", memory_file, run_id, "--wiki", chat).code == 1
        assert cli("undo", memory_file, run_id, "--wiki", wiki).code == 3
    assert rows(memory_file, "SELECT 1 FROM memories WHERE status = 'active'") == []
