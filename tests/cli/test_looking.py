"""Commands that show a file and its runs: list, show, log, check."""

from __future__ import annotations

import json
import re
from collections import Counter
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from builders import copied, damage_root
from cli_calls import Cli
from model_nights import SMOKE, Agent, a_rule, every_night_asks, served, write_smoke
from model_server import Answer, Asked, answering, approval, group, groups
from nights import TWINS, active, daily, execute, fill, rows, states, unchanged

night = copied("smoke_night")


def run_of(path: Path) -> str:
    return str(rows(path, "SELECT id FROM runs ORDER BY id DESC")[0]["id"])


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        ([], "status = 'active'"),
        (["--status", "superseded"], "status = 'superseded'"),
        (["--layer", "stable"], "status = 'active' AND layer = 'stable'"),
        (["--contains", "WIKI"], "status = 'active' AND content LIKE '%wiki%'"),
        (["--contains", "%"], "0"),
        (["--status", "any", "--limit", "0"], "1"),
    ],
)
def test_list_applies_filters_and_shows_the_latest_first(
    arguments: list[str], where: str, night: Path, cli: Cli
) -> None:
    listed = cli("list", night, *arguments, "--json").json
    wanted = {row["id"] for row in rows(night, f"SELECT id FROM memories WHERE {where}")}
    assert {memory["id"] for memory in listed["memories"]} == wanted
    assert listed["count"] == len(wanted)
    days = [memory["observed_at"] for memory in listed["memories"]]
    assert days == sorted(days, reverse=True)


def test_only_a_limit_shortens_a_list(memory_file: Path, cli: Cli) -> None:
    text = " ".join(f"word{number}" for number in range(300))
    fill(memory_file, [{"content": text}, {"content": "The lift is out of order."}])
    assert text in cli("list", memory_file).out
    assert "... 1 more" in cli("list", memory_file, "--limit", 1).out


def test_an_import_groups_skipped_lines_by_their_problem(
    memory_file: Path, tmp_path: Path, cli: Cli
) -> None:
    memories, source = (
        daily(["A.", "B.", "C.", "D.", "E.", "F.", "G."], "m"),
        tmp_path / "more.jsonl",
    )
    fill(memory_file, memories)
    unfinished = '{"content":'
    lines = [*map(json.dumps, memories), '{"content": "New."}', unfinished, '{"content": ""}', "x"]
    source.write_text("\n".join(lines))
    ended = cli("import", memory_file, source, "--skip-invalid").ends(0)
    assert ended.err.splitlines() == [
        "Skipped line 1: a memory with this id already exists: m-00.",
        "Skipped 6 more lines for the same reason: 2, 3, 4, 5, 6 and others.",
        f"Skipped line 9: it is not valid JSON, at column {len(unfinished)}.",
        "Skipped 1 more line for the same reason: 11.",
        "Skipped line 10: content must have at least 1 character.",
    ]
    assert "Imported 1 memory" in ended.out


def test_add_reads_stdin_and_show_prints_its_lines(
    memory_file: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "The lift is out of order.\nThe stairs are open."
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(f"{text}\n".encode())))
    added = cli("add", memory_file, "-").ends(0).out.strip()
    cli("show", memory_file, added).says(f"{added}\n{text}\n\n")
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(b"\xff")))
    cli("add", memory_file, "-").ends(1, "This memory is not valid")


def test_conflicts_name_their_tenants_if_there_are_more_than_one(
    memory_file: Path, cli: Cli
) -> None:
    texts = [f"Billing listens on port {port}." for port in (8080, 8081)]
    fill(memory_file, [{"content": text, "tenant": "ana"} for text in texts])
    assert "tenant" not in cli("conflicts", memory_file).says("8080 vs. 8081").out
    fill(memory_file, texts)
    cli("conflicts", memory_file).says(", tenant ana\n", ", tenant default\n")


def test_show_prints_a_memory(night: Path, cli: Cli) -> None:
    shown = cli("show", night, "smoke-05", "--json").json["memory"]
    row = rows(night, "SELECT * FROM memories WHERE id = 'smoke-05'")[0]
    assert shown["content"] == row["content"]
    assert shown["superseded_by"] == row["superseded_by"]
    assert row["content"] in cli("show", night, "smoke-05").out
    assert cli("show", night, "no-such-memory").code == 1


def test_stats_counts_memories_now_and_by_run(night: Path, cli: Cli) -> None:
    stats = cli("log", "--stats", night, "--json").json
    assert stats["active"]["active"] == len(active(night))
    by_status = {name: sum(layers.values()) for name, layers in stats["by_status"].items()}
    assert by_status == Counter(states(night).values())
    (run,) = stats["runs"]
    assert (run["active_before"], run["active_after"]) == (9, len(active(night)))


def test_diff_shows_superseded_and_new_contents(night: Path, cli: Cli) -> None:
    changes = cli("log", "--diff", night, run_of(night), "--json").json["changes"]
    gone = {change["before"] for change in changes} - {None}
    come = {change["after"] for change in changes} - {None}
    superseded = rows(night, "SELECT content FROM memories WHERE status = 'superseded'")
    assert gone == {row["content"] for row in superseded}
    assert come == set(active(night)) - {row["content"] for row in rows(night, NOT_MADE)}


NOT_MADE = "SELECT content FROM memories WHERE origin <> 'consolidation'"


def test_a_diff_does_not_change_after_later_runs_or_undo(night: Path, cli: Cli) -> None:
    run = run_of(night)
    before = cli("log", "--diff", night, run, "--json").json["changes"]
    more = "Helvi settles the invoices on the first Tuesday of the month, with the bank's token."
    cli("add", night, more)
    cli("maintain", night)
    assert run_of(night) != run
    assert cli("log", "--diff", night, run, "--json").json["changes"] == before
    assert cli("undo", night, run).code == 0
    after = cli("log", "--diff", night, run, "--json").json["changes"]
    assert {each["before"] for each in after} == {each["before"] for each in before}


def test_log_shows_proposals_and_tokens_like_the_report(tmp_path: Path, cli: Cli) -> None:
    memories = tmp_path / "memory.db"
    cli("import", memories, SMOKE)
    with every_night_asks(answering(write_smoke, approval)):
        report = cli("maintain", memories).out
    logged = cli("log", memories, run_of(memories)).out
    numbers = re.compile(r"^(\w+ \w{8}) .*; ([\d,]+ -> [\d,]+ tokens)", re.MULTILINE)
    assert len(numbers.findall(report)) == 3
    assert sorted(numbers.findall(logged)) == sorted(numbers.findall(report))
    planned = rows(memories, "SELECT draft FROM proposals WHERE operation <> 'merge'")
    assert planned
    assert all(f"  = {row['draft']}" in logged for row in planned)
    assert "  - 2026-02-03  Helvi settles the invoices" in logged


def test_report_and_log_show_what_a_rule_leaves_out(agent: Agent, cli: Cli) -> None:
    agent.remember(a_rule())

    def written(asked: Asked) -> Answer:
        left_out = [(asked.memories[4], "cousin Malte", "trivia")]
        text = "Show a draft before any message to a relative."
        return groups(group("extract", asked.memories, text, left_out))

    with served(answering(written, approval)) as model:
        report = cli("maintain", agent.path, *model)
    for shown in (report, cli("log", agent.path, run_of(agent.path))):
        shown.says('omitted (trivia): "cousin Malte"')
    (proposal,) = cli("log", agent.path, run_of(agent.path), "--json").json["proposals"]
    assert [omitted["memory"] for omitted in proposal["left_out"]] == ["rule-04"]


def test_log_names_the_memories_of_a_run_that_were_made_active_again(night: Path, cli: Cli) -> None:
    run = run_of(night)
    assert "Active again" not in cli("log", night, run).out
    (gone, *_) = cli("list", night, "--status", "superseded", "--json").json["memories"]
    cli("undo", night, gone["id"]).ends(0)
    cli("log", night, run).says(f"Active again since: {gone['id']}.")
    cli("log", night, "--diff").says(f"Active again since: {gone['id']}.")
    assert cli("log", night, run, "--json").json["active_again"] == [gone["id"]]
    cli("undo", night).ends(0)
    assert "Active again" not in cli("log", night, run).out


def test_log_and_undo_say_what_to_do_with_the_id_of_a_proposal(night: Path, cli: Cli) -> None:
    run = run_of(night)
    proposal = cli("log", night, run, "--json").json["proposals"][0]["id"]
    cli("log", night, proposal[:8]).ends(1, f"It is a proposal: slowwave log {night} {run}")
    cli("undo", night, proposal).ends(0)
    cli("undo", night, proposal).ends(1, "its state is undone", "slowwave review show")


def test_the_table_of_runs_fits_80_columns(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    cli("maintain", memory_file)
    assert max(len(line) for line in cli("log", memory_file).out.splitlines()) <= 80


def test_a_dry_undo_names_its_proposals_or_obstacles(night: Path, cli: Cli) -> None:
    with unchanged(rows, night, "SELECT * FROM memories"):
        ended = cli("undo", night, run_of(night), "--dry-run", "--json").ends(0)
        assert len(ended.json["proposals"]) == 3
    assert rows(night, "SELECT outcome FROM runs") == [{"outcome": "done"}]
    (derived, *_) = cli("list", night, "--layer", "stable", "--json").json["memories"]
    execute(night, "UPDATE memories SET content = 'Rewritten.' WHERE id = ?", derived["id"])
    ended = cli("undo", night, run_of(night), "--dry-run").ends(1, derived["id"])
    assert ended.err == cli("undo", night, run_of(night)).err


def test_undo_without_an_id_follows_the_order_of_runs(memory_file: Path, cli: Cli) -> None:
    for name in ("Pip", "Nell"):
        fill(memory_file, daily([f"The office cat is called {name}."] * 2, name))
        cli("maintain", memory_file)
    log = [run["id"] for run in cli("log", memory_file, "--json").json["runs"]]
    long_ago = "UPDATE runs SET started_at = '2020-01-01T00:00:00+00:00' WHERE id <> ?"
    execute(memory_file, long_ago, log[0])
    for options, left in (([], 3), (["--last"], 4)):
        ended = cli("undo", memory_file, *options, "--json").ends(0)
        assert (ended.json["run"], ended.json["runs"]) == (log[-1], [log.pop()])
        assert len(active(memory_file)) == left
    cli("undo", memory_file).ends(1, "no run left to undo")


def test_a_conflict_stays_listed_when_one_side_is_superseded(memory_file: Path, cli: Cli) -> None:
    subject = "The log retention configured in Loki is"
    reported = f"{subject} 21 days!"
    fill(memory_file, daily([f"{subject} 12 days.", f"{subject} 21 days.", reported], "loki"))

    def values() -> set[tuple[str, ...]]:
        conflicts = cli("conflicts", memory_file, "--json").json["conflicts"]
        return {tuple(each["values"]) for each in conflicts}

    before = values()
    assert before
    cli("maintain", memory_file)
    assert states(memory_file)["loki-01"] == "superseded"
    assert values() == before


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["show", "{file}", "nothing"], "'slowwave list {file} --status any' lists them."),
        (["log", "{file}", "nothing"], "'slowwave log {file}' lists them."),
        (["undo", "{file}", "0123456789"], "'slowwave log {file}' lists the runs"),
        (["review", "approve", "{file}", "--all"], "'slowwave review {file}' lists all."),
        (["maintain", "{file}", "--tenant", "shared"], "'slowwave shared {file}'"),
    ],
)
def test_a_hint_names_the_file(arguments: list[str], hint: str, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "my memory.db"
    assert cli("import", path, "--empty").code == 0
    assert cli("add", path, "The lift is old.").code == 0
    assert cli("shared", "admit", path, "ada", "--author", "ada", "--human").code == 0
    assert cli("shared", "publish", path, "kettle", "It is new.", "--author", "ada").code == 0
    ended = cli(*(str(path) if word == "{file}" else word for word in arguments))
    assert hint.format(file=f"'{path}'") in ended.err
    assert "FILE" not in ended.err


def test_a_hint_quotes_a_missing_or_empty_file(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "sp ace" / "mém öry.db"
    path.parent.mkdir()
    cli("maintain", path).ends(10, f"slowwave import '{path}' --empty")
    path.touch()
    cli("maintain", path).ends(10, f"{path} has no content (0 bytes).", "Restore it")


def test_check_counts_what_is_readable_in_a_damaged_file(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, daily(["The lift is old."], "lift"))
    damage_root(memory_file, "runs")
    ended = cli("check", memory_file, "--json")
    assert (ended.code, ended.json["whole"], ended.json["memories"]) == (10, False, 1)
    error = json.loads(ended.err)
    assert (error["code"], "is not intact" in error["error"]) == (10, True)
    assert f"'slowwave export {memory_file} --all'" in error["hint"]
