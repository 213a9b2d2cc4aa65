"""Reports in HTML and Markdown: their contents, and texts that attack them."""

from __future__ import annotations

import re
import shlex
import stat
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser import CHROMIUM, HOSTILE, browser
from builders import made_once
from cli_calls import Cli
from commands import setting
from model_nights import a_fact, served
from model_server import oracle
from nights import TWINS, daily, execute, fill, night, of_one_thing, rows
from places import FIXTURES

from slowwave.cli.terminal.differences import mark_differences
from slowwave.cli.views import night as nights_shown
from slowwave.cli.views import report as reports
from slowwave.cli.views.proposal import ProposalView
from slowwave.cli.views.report import as_markdown
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.file import create_file


class Tags(HTMLParser):
    """The tags of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@made_once
def after_a_night(path: Path, embedder: SentenceEmbedder) -> None:
    fill(path, [*daily(TWINS, "twin"), *daily(of_one_thing(), "oncall")])
    night(path, embedder)


TENANT = "<i>ops</i>"


@made_once
def hostile(path: Path, embedder: SentenceEmbedder) -> None:
    """Provide a file after a night on texts that would be more than text."""
    for number, odd in enumerate(HOSTILE):
        texts = [f"Note {number} of the gateway says {odd}"] * 2
        fill(path, daily(texts, f"<b>{number}", session=f"{number}", tenant=TENANT))
    night(path, embedder)
    assert len(rows(path, "SELECT 1 FROM proposals WHERE state = 'applied'")) >= 8


def test_a_page_has_numbers_texts_and_undo(after_a_night: Path, tmp_path: Path, cli: Cli) -> None:
    page, markdown = tmp_path / "night.html", tmp_path / "night.md"
    ended = cli("log", after_a_night, "--html", page, "--md", markdown)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out == f"Written: {page}, {markdown}\n"
    again = cli("log", after_a_night, "--html", page, "--md", markdown, "--json").json
    assert (again["command"], again["written"]) == ("report", [str(page), str(markdown)])
    assert cli("log", after_a_night, "--html", "-", "--json").code == 2
    text = page.read_text("utf-8")
    (run,) = rows(after_a_night, "SELECT id, report FROM runs")
    assert run["id"] in text
    for proposal in rows(after_a_night, "SELECT * FROM proposals"):
        assert proposal["reason"] in text
        undo = shlex.join(["slowwave", "undo", str(after_a_night), proposal["key"][:12]])
        assert undo in text
    for each in rows(after_a_night, "SELECT id FROM memories WHERE status = 'superseded'"):
        assert each["id"] in text


def test_the_undo_command_of_a_report_works(after_a_night: Path, tmp_path: Path, cli: Cli) -> None:
    odd = after_a_night.with_name("it's a memory.db")
    after_a_night.rename(odd)
    text = cli("log", odd, "--md", "-").out
    command = re.findall(r"^Undo it with `(.*)`$", text, re.MULTILINE)[-1]
    assert cli(*shlex.split(command)[1:]).code == 0
    assert "undone" in cli("log", odd, "--md", "-").out
    (run,) = rows(odd, "SELECT id FROM runs")
    assert cli("undo", odd, run["id"]).code == 0
    page = cli("log", odd, "--html", "-").out
    assert "Result, undone since" in page
    assert "slowwave undo" not in page
    assert '<article class="item effective">' not in page


def test_the_last_run_is_reported_by_default(
    after_a_night: Path, embedder: SentenceEmbedder, tmp_path: Path, cli: Cli
) -> None:
    create_file(tmp_path / "new.db")
    assert cli("log", tmp_path / "new.db", "--md", "-").ends(1, "No run has changed").out == ""
    fill(after_a_night, daily(["The lift is out of order on Mondays."] * 2, "lift"))
    night(after_a_night, embedder)
    first, last = (row["id"] for row in rows(after_a_night, "SELECT id FROM runs ORDER BY id"))
    assert last in cli("log", after_a_night, "--md", "-").out
    assert first in cli("log", after_a_night, first, "--md", "-").out


@pytest.mark.parametrize("form", ["html", "md"])
def test_maintain_writes_the_report_of_the_log(
    memory_file: Path, tmp_path: Path, cli: Cli, form: str
) -> None:
    fill(memory_file, [*daily(TWINS, "twin"), *a_fact()])
    page = tmp_path / f"night.{form}"
    with served(oracle) as model:
        maintain = ("maintain", memory_file, *model, setting("report", page))
        ended = cli(*maintain, "--dry-run", "--ask").ends(0, "there is no run to report")
        assert not page.exists()
        ended = cli(*maintain, "--json").ends(0)
        assert page.read_text("utf-8") == cli("log", memory_file, f"--{form}", "-").out
        assert ended.json["run"] in page.read_text("utf-8")
        cli(*maintain).ends(0, "there is no run to report")
    assert ended.json["run"] in page.read_text("utf-8")


def test_markdown_names_the_model_and_its_calls(tmp_path: Path, cli: Cli) -> None:
    file, answers = tmp_path / "retold.db", FIXTURES / "retold.answers.jsonl"
    assert cli("import", file, FIXTURES / "retold.jsonl").code == 0
    text = tmp_path / "night.md"
    night = ("maintain", file, setting("replay", answers), setting("report", text))
    assert cli(*night).code == 0
    output = text.read_text("utf-8")
    assert "The model: 0 calls, 2 answers from the cache" in output
    assert "written by recorded/claude" in output
    (run,) = rows(file, "SELECT id FROM runs")
    assert "written by recorded/claude" in cli("log", file, run["id"]).out


def test_differing_words_are_marked_unless_texts_are_too_long() -> None:
    long = "a word and another " * 1_000
    (source,), result = mark_differences([long], f"{long} and more")
    assert not any(item.differs for item in (*source, *result))
    old, new = "The gate opens at 7:30 for staff.", "The gate opens at 8:30 for all staff."
    (source,), result = mark_differences([old], new)
    assert [item.text for item in source if item.differs] == ["7"]
    assert [item.text for item in result if item.differs] == ["8", "all"]
    assert "".join(item.text for item in source) == old
    assert "".join(item.text for item in result) == new


def test_a_page_has_a_limit(after_a_night: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "_MAX_PROPOSALS", 1)
    page = cli("log", after_a_night, "--html", "-").out
    count = len(rows(after_a_night, "SELECT 1 FROM proposals"))
    assert page.count('<article class="item effective">') == 1
    assert f"of {count} proposals" in page


def test_markdown_always_fits_a_comment(after_a_night: Path) -> None:
    night = nights_shown.read_night(after_a_night, after_a_night, None)
    view, long = night.proposals[0], "part 17 and " * 80

    def with_sources(count: int) -> ProposalView:
        ids = tuple(f"m{number}" for number in range(count))
        proposal = replace(view.proposal, sources=ids, reason=long)
        return replace(view, proposal=proposal, before=dict.fromkeys(ids, long))

    proposals = [with_sources(100), *[with_sources(2)] * 60]
    text = as_markdown(replace(night, proposals=proposals, effects=[long] * 60))
    assert 40_000 < len(text) < 65_536
    assert re.search(r"Showing [1-9]\d of 61;", text)
    assert text.count("\n...\n```") == 1


def test_expiring_a_memory_is_reported(memory_file: Path, cli: Cli) -> None:
    ended = {"layer": "ephemeral", "expires_at": "2026-02-20T00:00:00+00:00"}
    fill(memory_file, daily(["The lift is out of order."], "over", **ended))
    page = memory_file.with_name("night.html")
    cli("maintain", memory_file, "--phase", "all", setting("report", page)).ends(0)
    assert "1 memory expired." in page.read_text("utf-8")
    assert "1 memory expired." in cli("log", memory_file, "--md", "-").out


def test_a_report_of_a_past_run_names_the_conflicts_command(after_a_night: Path, cli: Cli) -> None:
    page = cli("log", after_a_night, "--html", "-").out
    assert f"slowwave conflicts {after_a_night}" in page


@pytest.mark.parametrize(
    "outcome",
    [
        None,
        "{}",
        '{"before": {"active": 3}, "model": {}}',
        '{"before": 1, "after": {"active": "<b>"}, "model": {"calls": "<b>"}}',
        '{"before": {"active": 1, "superseded": 0, "tokens": 1, "layers": {"core": "<b>"}}}',
        '{"states": null, "seconds": "x", "model": [1], "why": 5}',
    ],
)
def test_an_interrupted_run_is_reported(outcome: str | None, after_a_night: Path, cli: Cli) -> None:
    options = '{"tenant": 5, "ingest": true}'
    change = "UPDATE runs SET outcome = 'interrupted', report = ?, options = ?"
    execute(after_a_night, change, outcome, options)
    for form in (["--html", "-"], ["--md", "-"], ["--stats"], []):
        ended = cli("log", after_a_night, *form).says("interrupted")
        assert (ended.code, ended.err) == (0, "")


# ----------------------------------------------------------------- hostile texts


def test_no_memory_adds_a_tag_or_an_attribute(hostile: Path, cli: Cli) -> None:
    for row in rows(hostile, "SELECT id FROM memories WHERE status = 'active'"):
        tags = Tags(cli("show", "--lineage", hostile, row["id"], "--html", "-").out).found
        ours = {"html", "head", "meta", "title", "style", "body", "header", "h1", "p", "code"}
        ours |= {"main", "div", "bdi", "small", "section", "h2", "ul", "li", "span", "footer"}
        assert {tag for tag, _ in tags} - ours == set()
        assert [name for _, attrs in tags for name in attrs if name.startswith("on")] == []
    page = cli("log", hostile, "--html", "-").out
    assert "tenant &lt;i&gt;ops&lt;/i&gt;" in page
    tags = Tags(page).found
    assert [tag for tag, _ in tags].count("script") == 1
    assert {tag for tag, _ in tags} & {"img", "iframe", "plaintext", "link", "a", "b"} == set()
    assert [name for _, attrs in tags for name in attrs if name.startswith("on")] == []
    assert "1337" not in page
    assert "{{ 7 * 191 }}" in page
    assert not {"\x00", "\x1b", "\u202e"} & set(page)


def test_no_memory_ends_its_block_in_markdown(hostile: Path, cli: Cli) -> None:
    text = cli("log", hostile, "--md", "-").out
    assert f"tenant {TENANT}) @@" in text
    outside, fence = [], ""
    for line in text.splitlines():
        if not fence and line.startswith("```"):
            fence = line.rstrip("dieftx")
        elif line == fence:
            fence = ""
        elif not fence:
            outside.append(line)
    assert fence == ""
    output = "\n".join(outside)
    for odd in ("<script", "@someone", "example.org", "**c**", "onerror"):
        assert odd not in output
        assert odd in text


def test_a_page_allows_only_its_own_script(after_a_night: Path, cli: Cli) -> None:
    page = cli("log", after_a_night, "--html", "-").out
    (policy,) = (
        attributes["content"] or ""
        for tag, attributes in Tags(page).found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert re.findall(r"""(?:src|href)=|url\(|@import|style=""", page) == []


# ----------------------------------------------------------------- lineage


def test_a_lineage_page_links_both_ways(after_a_night: Path, tmp_path: Path, cli: Cli) -> None:
    (edge, *_) = rows(after_a_night, "SELECT * FROM synthesized_from")
    page = tmp_path / "lineage.html"
    assert cli("show", after_a_night, edge["derived_id"], "--html", page, "--json").code == 2
    ended = cli("show", "--lineage", after_a_night, edge["derived_id"], "--html", page)
    assert (ended.code, ended.out) == (0, f"Written: {page}\n")
    made_from = page.read_text("utf-8").partition("<h2>Made from</h2>")[2]
    assert edge["source_id"] in made_from.partition("<h2>Made into</h2>")[0]
    page = cli("show", "--lineage", after_a_night, edge["source_id"], "--html", "-").out
    assert edge["derived_id"] in page.partition("<h2>Made into</h2>")[2]


# ----------------------------------------------------------------- where it is written


@pytest.mark.parametrize("command", ["log", "maintain"])
def test_no_file_is_replaced(command: str, after_a_night: Path, tmp_path: Path, cli: Cli) -> None:
    foreign = {
        "memory.html": after_a_night.read_bytes(),
        "notes.html": b"<!DOCTYPE html>\n<p>mine</p>",
        "MEMORY.md": b"- The lift is out of order.\n",
    }
    for name, content in foreign.items():
        path = tmp_path / "foreign" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        option = "--md" if path.suffix == ".md" else "--html"
        options = (option, path) if command == "log" else (setting("report", path),)
        ended = cli(command, after_a_night, *options).ends(1, "not a report of slowwave")
        assert ended.out == ""
        assert path.read_bytes() == content
    for name, why in (("loop.html", "not a report"), (f"{'n' * 300}.html", "File name too long")):
        path = tmp_path / name
        if name == "loop.html":
            path.symlink_to(path)
        cli("log", after_a_night, "--html", path).ends(1, why)
    page = tmp_path / "night.html"
    assert [cli("log", after_a_night, "--html", page).code for _ in range(2)] == [0, 0]
    assert {item.name for item in (tmp_path / "foreign").iterdir()} == set(foreign)


def test_an_unwritable_report_stops_the_run(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    fill(memory_file, daily([TWINS[0]] * 4, "twin"))
    maintain = ("maintain", memory_file, "--report")
    assert cli(*maintain, tmp_path / "none" / "night.html").ends(1, "no folder").out == ""
    assert cli(*maintain, tmp_path / "night.pdf").code == 2
    assert cli("maintain", memory_file, memory_file, *maintain[2:], tmp_path / "a.md").code == 2
    assert rows(memory_file, "SELECT 1 FROM runs") == []


def test_a_report_that_fails_keeps_the_run(memory_file: Path, tmp_path: Path, cli: Cli) -> None:
    fill(memory_file, daily([TWINS[0]] * 4, "twin"))
    # A name that can be looked for, and to which nothing can be added.
    page = tmp_path / f"{'n' * 250}.html"
    cli("maintain", memory_file, setting("report", page)).ends(3, "Cannot write")
    assert len(rows(memory_file, "SELECT 1 FROM memories WHERE status = 'active'")) == 1
    assert list(tmp_path.glob("*.html")) == []


def test_a_report_has_the_mode_of_the_file(after_a_night: Path, tmp_path: Path, cli: Cli) -> None:
    page = tmp_path / "night.html"
    for mode in (0o600, 0o640):
        after_a_night.chmod(mode)
        cli("log", after_a_night, "--html", page)
        assert stat.S_IMODE(page.stat().st_mode) == mode


# ----------------------------------------------------------------- in a browser

in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine")


@in_a_browser
@pytest.mark.parametrize("width", [360, 1_200])
def test_a_page_fits_any_window(width: int, hostile: Path, tmp_path: Path, cli: Cli) -> None:
    page = tmp_path / "night.html"
    cli("log", hostile, "--html", page)
    with browser(tmp_path / "profile") as shown:
        shown.open(page, width)
        assert shown.value("document.documentElement.scrollWidth") <= width
        assert shown.value("document.title") != "owned"
        assert shown.complaints == []
        assert shown.requests == [page.as_uri()]


@in_a_browser
def test_the_filter_hides_other_items(after_a_night: Path, tmp_path: Path, cli: Cli) -> None:
    page = tmp_path / "night.html"
    cli("log", after_a_night, "--html", page)
    shown_items = "[...document.querySelectorAll('.item')].filter((item) => item.checkVisibility())"
    with browser(tmp_path / "profile") as shown:
        shown.open(page, 360)
        everything = shown.value(f"{shown_items}.length")
        shown.value("document.getElementById('filter').focus()")
        shown.call("Input.insertText", text="PAGER")
        visible = shown.value(f"{shown_items}.map((item) => item.textContent)")
        assert 0 < len(visible) < everything
        assert all("pager" in item for item in visible)
        assert "of" in shown.value("document.getElementById('count').textContent")
        assert shown.complaints == []
