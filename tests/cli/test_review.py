"""Review mode: pending proposals, and what a person decides on them."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import made_once, until_closed
from cli_calls import Cli
from model_nights import SMOKE, a_fact, a_rule, every_night_asks
from model_server import Answer, Asked, answering, approval, group, groups
from nights import CountingEmbedder, active, daily, execute, fill, picture, rows, unchanged
from reviews import IN_ONE, MERGE, SYNTHESIS, UPDATE, reviewed_night, states

from slowwave.cli.app import run
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.running.approval import Approval, ReviewResult
from slowwave.consolidation.running.review_queue import read_queue
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.store.file import open_writing
from slowwave.store.lock import maintenance_lock

pytestmark = pytest.mark.usefixtures("smoke_model")

NIGHT_OF = ("maintain", "--review", "always")


@made_once
def waiting(path: Path, smoke_model: None) -> None:
    """Provide a file with three pending proposals: a merge, a synthesis and an update."""
    for command in (["import", path, SMOKE], [*NIGHT_OF, path]):
        assert run([str(item) for item in command]) == 0
    execute(path, "PRAGMA wal_checkpoint(TRUNCATE)")


def approved(path: Path, embedder: Embedder) -> ReviewResult:
    """Approve all pending proposals."""
    with maintenance_lock(path), open_writing(path) as file:
        pending = [item.result for item in read_queue(file)]
        return Approval(file, embedder, datetime.now(UTC), "approve").apply(pending)


def queue(cli: Cli, path: Path) -> list[dict[str, Any]]:
    """Return the pending proposals without the time of their decision."""
    proposals: list[dict[str, Any]] = cli("review", path, "--json").json["proposals"]
    return [proposal | {"decided_at": None} for proposal in proposals]


def short_ids(proposals: list[dict[str, Any]], state: str | None = None) -> list[str]:
    """Return the short ids of proposals, or only of those in a state."""
    return [each["id"][:8] for each in proposals if state in (None, each["state"])]


# ---- the night ----


def test_always_applies_nothing_and_queues_every_draft(smoke: Path, cli: Cli) -> None:
    with unchanged(picture, smoke, ["memories", "synthesized_from"]):
        planned = cli("maintain", smoke, "--dry-run", "--ask", "--json").json
        ended = reviewed_night(cli, smoke, "always", "--json").ends(0)
    queued = {item["id"]: item["draft"] for item in queue(cli, smoke)}
    assert queued == {proposal["id"]: proposal["draft"] for proposal in planned["proposals"]}
    for proposal in ended.json["proposals"]:
        assert proposal["state"] == "pending"
        assert proposal["why"].startswith("queued for review")


def test_report_and_log_show_pending_proposals(smoke: Path, cli: Cli) -> None:
    report = reviewed_night(cli, smoke).out
    pending = "3 pending: 1 merge, 1 synthesize, 1 update"
    assert f"{pending}. Decide with: slowwave review {smoke}\n" in report
    run = rows(smoke, "SELECT id FROM runs")[0]["id"]
    for shown in (report, cli("log", smoke, run).out):
        assert f"update {UPDATE} (pending)" in shown
        assert "  - 2026-02-11  The backup of the wiki runs at 02:30 every night." in shown
        assert "  = The backup of the wiki runs at 03:30 every night." in shown
        assert "  ! queued for review: it replaces a value" in shown
    logged = cli("log", smoke, run, "--json").json["proposals"]
    assert ["vector" in proposal["numbers"]["kept"] for proposal in logged] == [False] * 3
    worth = re.findall(r"; \d+ -> \d+ tokens$", report, re.MULTILINE)
    assert len(worth) == 3
    assert all(item in cli("review", smoke).out for item in worth)


def test_risky_applies_duplicates_and_queues_model_drafts(smoke: Path, cli: Cli) -> None:
    report = reviewed_night(cli, smoke, "risky").out
    assert states(smoke) == {MERGE: "applied", SYNTHESIS: "pending", UPDATE: "pending"}
    assert "The backup of the wiki runs at 02:30 every night." in active(smoke)
    assert f"Decide with: slowwave review {smoke}\n" in report
    assert "Undo it with: slowwave undo" in report


@pytest.mark.parametrize("field", [{"origin": "human"}, {"pinned": True}])
def test_risky_queues_protected_sources(memory_file: Path, cli: Cli, field: dict[str, Any]) -> None:
    fill(memory_file, daily(["Search listens on port 9090."], "protected", **field))
    fill(memory_file, daily(["Search listens on port 9090"], "copy"))
    (pending,) = reviewed_night(cli, memory_file, "risky", "--json").json["proposals"]
    assert (pending["state"], "a protected memory" in pending["why"]) == ("pending", True)


@pytest.fixture
def risky(memory_file: Path) -> Iterator[Path]:
    """Provide memories for a rule, a synthesis, and a merge of two that lie apart."""
    bike = ("Ana's bike is blue.", "The bicycle of Ana Ferreira has a basket.")
    fill(memory_file, [*a_fact(), *a_rule(), *daily(bike, "bike")])
    with every_night_asks(answering(write_risky, approval)):
        yield memory_file


def write_risky(asked: Asked) -> Answer:
    lease = [memory for memory in asked.memories if "LeaseKeeper" in memory.text]
    bike = [memory for memory in asked.memories if "Ana" in memory.text]
    rule = [memory for memory in asked.memories if "draft" in memory.text]
    renewed = (
        "LeaseKeeper on worker-3 renews the job lock every 10 seconds, at most 360 times, and logs "
        "it to /var/log/lease.log."
    )
    return groups(
        group("synthesize", lease, renewed),
        group("merge", bike, "Ana Ferreira's bike is blue, with a basket."),
        group("extract", rule, "Show the user a draft before any message to the family."),
    )


def test_risky_queues_model_drafts_loose_groups_and_rules(risky: Path, cli: Cli) -> None:
    ended = reviewed_night(cli, risky, "risky", "--json")
    why = [each["why"] for each in ended.json["proposals"] if each["state"] == "pending"]
    assert len(why) == 3
    for risk in ("about a rule", "; a model wrote it", "low mean similarity"):
        assert any(risk in each for each in why), risk
    again = reviewed_night(cli, risky, "risky", "--json").json
    assert (again["run"], again["model"]["calls"], again["proposals"]) == (None, 0, [])
    approved = cli("review", "approve", risky, "--all", "--json")
    assert {proposal["state"] for proposal in approved.json["proposals"]} == {"applied"}
    derivations = rows(risky, "SELECT writer, model FROM derivations WHERE operation = 'extract'")
    assert [(row["writer"], row["model"] is None) for row in derivations] == [("model", False)]


@pytest.mark.parametrize("review", ["always", "risky", "never"])
def test_the_next_run_repeats_no_pending_proposal(waiting: Path, cli: Cli, review: str) -> None:
    assert reviewed_night(cli, waiting, review, "--json").json["proposals"] == []
    assert len(queue(cli, waiting)) == 3


def test_a_dry_run_names_what_would_be_pending(smoke: Path, cli: Cli) -> None:
    before = smoke.read_bytes()
    planned = reviewed_night(cli, smoke, "risky", "--dry-run", "--ask", "--json").json
    assert {proposal["state"] for proposal in planned["proposals"]} == {"planned"}
    why = {proposal["operation"]: proposal["why"] for proposal in planned["proposals"]}
    assert why == {
        "merge": None,
        "synthesize": "queued for review: a model wrote it",
        "update": "queued for review: it replaces a value; a model wrote it",
    }
    assert smoke.read_bytes() == before
    assert reviewed_night(cli, smoke, "risky", "--json").json["after"] == planned["after"]


def test_proposals_have_the_same_keys_in_all_commands(smoke: Path, cli: Cli) -> None:
    night = reviewed_night(cli, smoke, "risky", "--json").json
    keys = night["proposals"][0].keys()
    shown = [
        cli("review", smoke, "--json"),
        cli("log", smoke, night["run"], "--json"),
        cli("review", "approve", smoke, UPDATE, "--json"),
        cli("review", "decline", smoke, SYNTHESIS, "--json"),
    ]
    for ended in shown:
        assert ended.json["proposals"]
        assert all(keys <= proposal.keys() for proposal in ended.json["proposals"])
    # The ledger records what becomes of a proposal that is applied at once, but not its numbers.
    pending = [proposal for proposal in night["proposals"] if proposal["state"] == "pending"]
    logged = {proposal["id"]: proposal for proposal in shown[1].json["proposals"]}
    worth = {"trust", "tokens_before", "tokens_after"}
    assert len(pending) == 2
    for item in pending:
        same = keys - worth
        assert {key: logged[item["id"]][key] for key in same} == {key: item[key] for key in same}
    assert cli("log", smoke, "--json").json["runs"][0]["before"] == night["before"]


# ---- looking ----


def test_a_proposal_is_shown_with_its_sources_and_its_result(waiting: Path, cli: Cli) -> None:
    before = waiting.read_bytes()
    output = cli("review", waiting).out
    for text in active(waiting)[1:]:
        assert text in output or "fence" in text
    (update,) = cli("review", "show", waiting, UPDATE, "--json").json["proposals"]
    assert [source["content"] for source in update["sources"]] == [
        "The backup of the wiki runs at 02:30 every night.",
        "The backup of the wiki now runs at 03:30 every night.",
    ]
    assert (update["state"], update["stale"]) == ("pending", None)
    shown = cli("review", "show", waiting, UPDATE).out
    assert update["id"] in shown
    assert f"Decide with: slowwave review approve|decline|edit {waiting} ID" in shown
    listed = cli("review", "list", waiting, "--operation", "update", "--json").json["proposals"]
    assert [item["id"] for item in listed] == [update["id"]]
    assert waiting.read_bytes() == before


# ---- approving ----


def test_approving_all_equals_a_run_without_review(smoke: Path, tmp_path: Path, cli: Cli) -> None:
    unreviewed = Path(shutil.copy(smoke, tmp_path / "unreviewed.db"))
    cli("maintain", unreviewed)
    reviewed_night(cli, smoke)
    cli("review", "approve", smoke, "--all", "--json").ends(0)
    assert active(smoke) == active(unreviewed)
    assert cli("check", smoke).code == 0
    assert queue(cli, smoke) == []
    assert reviewed_night(cli, smoke, "never", "--json").json["run"] is None


def test_an_approval_uses_the_vectors_of_the_run(waiting: Path, embedder: SentenceEmbedder) -> None:
    counting = CountingEmbedder(embedder)
    decided = approved(waiting, counting)
    assert {result.state for result in decided.results} == {"applied"}
    assert counting.requests == []
    sql = "SELECT content, vector FROM memories JOIN embeddings ON id = memory_id"
    derived = rows(waiting, f"{sql} WHERE origin = 'consolidation'")
    assert len(derived) == 2
    for row in derived:
        vector = np.frombuffer(row["vector"], "<f4")
        assert vector @ embedder.encode([row["content"]])[0] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        "json_remove(numbers, '$.kept.vector')",
        "json_set(numbers, '$.kept.vector.model', 'another')",
        "json_set(numbers, '$.kept.vector.blob', 'AAAA')",
        "json_set(numbers, '$.kept.vector', 5)",
    ],
)
def test_drafts_without_a_usable_vector_are_embedded_together(
    waiting: Path, embedder: SentenceEmbedder, change: str
) -> None:
    where = "json_extract(numbers, '$.kept.vector') IS NOT NULL"
    execute(waiting, f"UPDATE proposals SET numbers = {change} WHERE {where}")
    counting = CountingEmbedder(embedder)
    decided = approved(waiting, counting)
    assert {result.state for result in decided.results} == {"applied"}
    proposals = [result.proposal for result in decided.results]
    drafts = [proposal.draft.text for proposal in proposals if not proposal.keeps_text]
    assert len(drafts) == 2
    assert [sorted(request) for request in counting.requests] == [sorted(drafts)]


def test_a_source_without_a_vector_does_not_prevent_approval(waiting: Path, cli: Cli) -> None:
    execute(waiting, "DELETE FROM embeddings")
    assert cli("review", "approve", waiting, "--all").code == 0
    assert set(states(waiting).values()) == {"applied"}


def test_vectors_of_another_model_prevent_approval(waiting: Path, cli: Cli) -> None:
    execute(waiting, "UPDATE embeddings SET dimensions = 1, vector = x'0000803f'")
    with unchanged(picture, waiting):
        message = "have 1 dimensions, but the model returns 384"
        cli("review", "approve", waiting, "--all").ends(1, message)


@pytest.mark.parametrize("way", [["approve", "--all"], ["decline", "--all"]])
def test_decisions_on_a_locked_file_exit_11(waiting: Path, cli: Cli, way: list[str]) -> None:
    with unchanged(picture, waiting):
        with maintenance_lock(waiting):
            ended = cli("review", *way, waiting)
        assert ended.ends(11, "Another maintenance run has locked").out == ""


def test_a_busy_file_exits_11(waiting: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowwave.store.connection.BUSY_TIMEOUT_MS", 300)
    with unchanged(picture, waiting):
        with closing(sqlite3.connect(waiting, isolation_level=None)) as agent:
            agent.execute("BEGIN IMMEDIATE")
            ended = cli("review", "approve", waiting, "--all")
            agent.execute("ROLLBACK")
        assert ended.ends(11, "is locked by another program").out == ""


@pytest.mark.parametrize("which", ["the proposal", "the run"])
def test_an_undone_approval_is_pending_again(waiting: Path, cli: Cli, which: str) -> None:
    before = queue(cli, waiting)
    (shown,) = cli("review", "show", waiting, UPDATE[:4], "--json").json["proposals"]
    with unchanged(picture, waiting):
        run = cli("review", "approve", waiting, UPDATE[:4], "--json").json["run"]
        assert shown["draft"] in active(waiting)
        assert states(waiting) == {MERGE: "pending", SYNTHESIS: "pending", UPDATE: "applied"}
        ended = cli("undo", waiting, run if which == "the run" else UPDATE, "--json")
    assert [key[:8] for key in ended.json["waiting"]] == [UPDATE]
    assert queue(cli, waiting) == before
    assert reviewed_night(cli, waiting, "always", "--json").json["proposals"] == []
    approved = cli("review", "approve", waiting, UPDATE).ends(0)
    approved.says(f"Undo it with: slowwave undo {waiting} {UPDATE}")
    again = cli("undo", waiting, UPDATE)
    assert f"1 proposal is pending again: slowwave review {waiting}" in again.err
    assert "will not be proposed again" not in again.err
    assert queue(cli, waiting) == before


def test_an_undone_approval_may_be_stale(waiting: Path, cli: Cli) -> None:
    (merge,) = cli("review", "approve", waiting, MERGE, "--json").json["proposals"]
    execute(waiting, f"UPDATE memories SET status = 'archived' WHERE id = '{merge['survivor']}'")
    assert "pending again" not in cli("undo", waiting, MERGE).ends(0, "1 proposal is stale").err


def test_an_undone_run_leaves_nothing_pending(waiting: Path, cli: Cli) -> None:
    assert cli("review", "approve", waiting, MERGE).code == 0
    back = "status = 'active', superseded_by = NULL, superseded_at = NULL"
    execute(waiting, f"UPDATE memories SET {back} WHERE status = 'superseded'")
    execute(waiting, "DELETE FROM synthesized_from")
    night = cli("maintain", waiting, "--reconsider", "--json").json
    assert MERGE in short_ids(night["proposals"], "applied")
    assert cli("undo", waiting, night["run"], "--json").json["waiting"] == []


def test_proposals_of_an_operation_are_approved_in_a_run(waiting: Path, cli: Cli) -> None:
    ended = cli("review", "approve", waiting, "--operation", "merge", "--json").json
    assert short_ids(ended["proposals"]) == [MERGE]
    cli("log", waiting, ended["run"]).says("none (review)", f"merge {MERGE} (applied)")


def test_approving_a_stale_proposal_changes_nothing(waiting: Path, cli: Cli) -> None:
    execute(waiting, "UPDATE memories SET content = 'It is gone.' WHERE content LIKE '%03:30%'")
    tables = ("memories", "proposals", "runs", "journal")
    with unchanged(picture, waiting, tables):
        messages = ("was changed since the plan was made", "Nothing was changed.")
        cli("review", "approve", waiting, UPDATE).ends(1).says(*messages)
    why = "! memory smoke-06 was changed since the plan was made"
    cli("review", waiting).says(f"update {UPDATE} (stale)", why)


def test_stale_proposals_are_listed_last(waiting: Path, cli: Cli) -> None:
    execute(waiting, "UPDATE memories SET status = 'archived' WHERE content LIKE '%03:30%'")
    ended = cli("review", "approve", waiting, "--all").ends(3)
    assert states(waiting) == {MERGE: "applied", SYNTHESIS: "applied", UPDATE: "pending"}
    lines = ended.out.splitlines()
    assert lines[-3] == f"update {UPDATE} (stale)"
    assert lines[-2].startswith("  ! ")
    assert "2 applied, 1 stale" in lines[-1]


@pytest.mark.parametrize(("rejected", "code"), [(1, 3), (3, 1)])
def test_proposals_that_the_file_rejects_fail_alone(
    waiting: Path, cli: Cli, rejected: int, code: int
) -> None:
    pending = [item["operation"] for item in queue(cli, waiting)]
    failing = pending[:rejected]
    operations = ", ".join(f"'{operation}'" for operation in failing)
    refused = f"WHEN NEW.operation IN ({operations}) BEGIN SELECT RAISE(ABORT, 'no room'); END"
    execute(waiting, f"CREATE TRIGGER no_room BEFORE INSERT ON derivations {refused}")
    ended = (
        cli("review", "approve", waiting, "--all").ends(code).says("rejects the change: no room")
    )
    assert ("Nothing was changed." in ended.out) is (code == 1)
    assert [item["operation"] for item in queue(cli, waiting)] == failing


def test_an_approval_of_all_takes_three_commits(waiting: Path, embedder: SentenceEmbedder) -> None:
    output: list[str] = []
    with maintenance_lock(waiting), open_writing(waiting) as file:
        pending = [item.result for item in read_queue(file)]
        file.conn.set_trace_callback(output.append)
        Approval(file, embedder, datetime.now(UTC), "approve").apply(pending)
    assert len(pending) == 3
    # The run begins, all three are applied, and it ends.
    assert output.count("COMMIT") == 3


def test_an_approval_shows_its_progress_at_a_terminal(waiting: Path) -> None:
    terminal, stderr = os.openpty()
    command = [sys.executable, "-m", "slowwave.cli", "review", "approve", str(waiting), "--all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr) as process:
        os.close(stderr)
        # A terminal holds 4 KiB: on a busy machine, where there is more to show, not all of it.
        shown = b"".join(until_closed(terminal)).decode()
        output, _ = process.communicate()
    os.close(terminal)
    assert (process.returncode, b"3 applied" in output) == (0, True)
    assert "checking drafts" in shown
    assert "writing to the file" in shown
    assert "3/3" in shown


def test_a_second_proposal_for_a_memory_names_the_first(waiting: Path, cli: Cli) -> None:
    cli("add", waiting, "The backup of the wiki now runs at 04:30 every night.")
    (later,) = reviewed_night(cli, waiting, "always", "--json").json["proposals"]
    ended = cli("review", "approve", waiting, "--all", "--json").ends(3)
    outcomes = {each["id"][:8]: (each["state"], each["why"]) for each in ended.json["proposals"]}
    why = f"memory smoke-05 was already changed by update {UPDATE}"
    assert outcomes[UPDATE][0] == "applied"
    assert outcomes[later["id"][:8]] == ("stale", why)
    assert why in cli("log", waiting, ended.json["run"]).out
    # What is left of it is proposed anew.
    (anew,) = reviewed_night(cli, waiting, "never", "--json").json["proposals"]
    assert (anew["state"], "04:30" in anew["draft"]) == ("applied", True)


def test_an_export_contains_pending_proposals(waiting: Path, tmp_path: Path, cli: Cli) -> None:
    lines = tmp_path / "all.jsonl"
    lines.write_text(cli("export", waiting, "--all").out)
    imported = tmp_path / "imported.db"
    assert cli("import", imported, lines).code == 0
    assert queue(cli, imported) == queue(cli, waiting)
    assert cli("review", "approve", imported, "--all").code == 0


def test_a_repeated_proposal_is_pending_once(waiting: Path, cli: Cli) -> None:
    reviewed_night(cli, waiting, "always", "--reconsider")
    assert len(queue(cli, waiting)) == 3
    cli("maintain", waiting, "--reconsider")
    assert queue(cli, waiting) == []


# ---- declining ----


def test_a_reason_to_decline_is_kept_shown_and_remembered(waiting: Path, cli: Cli) -> None:
    with unchanged(picture, waiting):
        reason = ("--reason", "the wiki is gone")
        ended = cli("review", "decline", waiting, UPDATE, *reason, "--json").ends(0)
        assert short_ids(ended.json["proposals"], "declined") == [UPDATE]
    run = rows(waiting, "SELECT id FROM runs")[0]["id"]
    assert "declined by a person: the wiki is gone" in cli("log", waiting, run).out
    shown = cli("review", "show", waiting, UPDATE).out
    assert ("the wiki is gone" in shown, "--reconsider" in shown) == (True, True)
    assert "Decide with" not in shown
    verdict = f"Proposal {UPDATE} is no longer pending: it was declined on "
    why = "(declined by a person: the wiki is gone)."
    cli("review", "approve", waiting, UPDATE).ends(1, verdict, why)
    assert cli("review", "approve", waiting, MERGE).code == 0
    assert (
        f"{MERGE} is no longer pending: it was applied on 20"
        in cli("review", "decline", waiting, MERGE).err
    )
    assert UPDATE not in short_ids(queue(cli, waiting))
    assert cli("maintain", waiting, "--json").json["proposals"] == []
    dry = ("--dry-run", "--ask", "--json")
    again = cli("maintain", waiting, "--reconsider", *dry).json
    assert UPDATE in short_ids(again["proposals"])
    assert "It will not be proposed again" in cli("review", "decline", waiting, SYNTHESIS).err


def test_a_decision_is_shown_with_its_result(waiting: Path, tmp_path: Path, cli: Cli) -> None:
    night = rows(waiting, "SELECT id FROM runs")[0]["id"]
    assert cli("review", "approve", waiting, MERGE).code == 0
    assert cli("review", "edit", waiting, SYNTHESIS, "--text", IN_ONE).code == 0
    assert cli("review", "decline", waiting, UPDATE).code == 0
    each = "".join(cli("review", "show", waiting, key).out for key in (MERGE, SYNTHESIS, UPDATE))
    log = cli("log", waiting, night).out
    for output in (log, each):
        # All that the merge and the synthesis took away, and nothing of the update.
        assert (output.count("\n  - "), output.count("\n  * 2026-02-1")) == (5, 2)
        assert len(re.findall("! queued for review[^;]*; applied by run ", output)) == 2
        assert "\n  = 2026-02-03  Helvi settles the invoices on the first" in output
        assert f"in a person's words\n  = {IN_ONE}\n" in output
        assert "    would have been: The backup of the wiki runs at 03:30" in output
    page = tmp_path / "report.md"
    assert cli("log", waiting, night, "--md", page).code == 0
    output = " ".join(page.read_text().split())
    assert output.count(" - 2026-02-") == 5
    assert "+ Helvi settles the invoices from the shared account on the first" in output
    assert f"slowwave undo {waiting} {MERGE}" in output


# ---- editing ----


def test_an_edited_draft_has_a_human_origin_and_can_be_undone(waiting: Path, cli: Cli) -> None:
    before, pending = picture(waiting), queue(cli, waiting)
    assert cli("review", "edit", waiting, SYNTHESIS, "--text", IN_ONE).code == 0
    (derived,) = rows(waiting, "SELECT id, content, origin FROM memories WHERE generation > 0")
    assert (derived["content"], derived["origin"]) == (IN_ONE, "human")
    assert "written by a person" in cli("show", "--lineage", waiting, derived["id"]).out
    assert cli("check", waiting).code == 0
    assert cli("undo", waiting, SYNTHESIS).code == 0
    assert picture(waiting) == before
    assert queue(cli, waiting) == pending


def test_an_update_can_be_edited_but_a_merge_cannot(waiting: Path, cli: Cli) -> None:
    reworded = "Every night at 03:30 the backup of the wiki runs."
    ended = cli("review", "edit", waiting, UPDATE, "--text", reworded)
    assert (ended.code, reworded in active(waiting)) == (0, True), ended.out
    (shown,) = cli("review", "show", waiting, SYNTHESIS, "--json").json["proposals"]
    assert cli("review", "edit", waiting, SYNTHESIS, "--text", shown["draft"] + "\n").code == 0
    (memory,) = rows(waiting, "SELECT origin FROM memories WHERE content = ?", shown["draft"])
    assert memory["origin"] == "consolidation"
    cli("review", "edit", waiting, MERGE, "--text", "Helvi pays.").ends(1, "writes no text")
    assert cli("check", waiting).code == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (IN_ONE.replace("14:00", "15:00"), "15:00"),
        (IN_ONE.replace("Helvi", "Mallory"), "Mallory"),
    ],
)
def test_unsupported_edits_are_refused(waiting: Path, cli: Cli, text: str, fault: str) -> None:
    tables = ("memories", "proposals", "runs", "journal")
    with unchanged(picture, waiting, tables):
        cli("review", "edit", waiting, SYNTHESIS, "--text", text).ends(1).says(fault)


def test_a_draft_is_edited_in_the_editor_at_a_terminal(
    waiting: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor, words = tmp_path / "editor.py", f"{IN_ONE}\nMallory agrees."
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {editor}")
    assert cli("review", "edit", waiting, SYNTHESIS).code == 2
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    editor.write_text(f"import sys\nopen(sys.argv[1], 'w').write({words!r})\n")
    refused = cli("review", "edit", waiting, SYNTHESIS).ends(1).says("Mallory")
    assert f"The text from the editor:\n{words}\n" in refused.err
    editor = tmp_path / "visual.py"
    editor.write_text(f"import sys\nopen(sys.argv[1], 'w').write({IN_ONE!r})\n")
    monkeypatch.setenv("VISUAL", f"{sys.executable} {editor}")
    assert cli("review", "edit", waiting, SYNTHESIS).code == 0
    assert IN_ONE in active(waiting)
    editor.unlink()  # it is not opened for a text that would be refused
    cli("review", "edit", waiting, MERGE).ends(1, "writes no text")


# ---- wrong usage, and other files ----


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["approve", "FILE"], "--all"),
        (["approve", "FILE", MERGE, "--all"], "--all"),
        (["approve", "FILE", MERGE, "--reason", "so"], "--reason"),
        (["decline", "FILE", MERGE, "--text", "so"], "--text"),
        (["edit", "FILE", MERGE, UPDATE, "--text", "so"], "unexpected extra argument"),
        (["edit", "FILE", "--all", "--text", "so"], "--all"),
        (["edit", "FILE", SYNTHESIS, "--text", "   "], "--text must not be blank"),
        ([], "FILE"),
    ],
)
def test_misuse_exits_2(waiting: Path, cli: Cli, arguments: list[str], sentence: str) -> None:
    waiting.with_name("slowwave.toml").write_text("all = true\n")
    cli("review", *(waiting if each == "FILE" else each for each in arguments)).ends(2, sentence)
    assert len(queue(cli, waiting)) == 3


@pytest.mark.parametrize("which", [["nothing"], ["b6b"], ["--operation", "extract"]])
def test_an_unknown_proposal_exits_1(waiting: Path, cli: Cli, which: list[str]) -> None:
    ended = cli("review", "approve", waiting, *which)
    assert (ended.code, "pending proposal" in ended.err or "is pending" in ended.err) == (1, True)
    cli("review", "decline", waiting, "--all")
    assert "no pending proposals" in cli("review", waiting).out


# ---- what cannot be applied any more ----


CHANGED = (
    "UPDATE memories SET content = 'The backup of the wiki now runs at 04:15 every night.' "
    "WHERE content LIKE '%03:30%'"
)


def test_the_next_run_withdraws_stale_proposals(waiting: Path, cli: Cli) -> None:
    execute(waiting, CHANGED)
    assert f"update {UPDATE} (stale)" in cli("review", waiting).out
    before = picture(waiting)
    cli("maintain", waiting, "--dry-run", "--review", "always").says(
        f"1 pending proposal would be withdrawn: {UPDATE}"
    )
    assert picture(waiting) == before
    night = reviewed_night(cli, waiting, "always", "--json").json
    (aside,) = night["set_aside"]
    assert night["waiting"] == 2
    assert aside["proposal"].startswith(UPDATE)
    assert "was changed since" in aside["why"]
    listed = {item["id"][:8]: item["operation"] for item in queue(cli, waiting)}
    assert UPDATE not in listed
    # The newer text is proposed in its place.
    assert sorted(listed.values()) == ["merge", "synthesize", "update"]
    shown = cli("review", "show", waiting, UPDATE, "--json").json["proposals"][0]
    assert (shown["state"], "was changed since" in shown["why"]) == ("stale", True)
    before = picture(waiting)
    again = reviewed_night(cli, waiting, "always", "--json").json
    assert (again["set_aside"], again["proposals"], again["run"]) == ([], [], None)
    assert picture(waiting) == before


@pytest.mark.parametrize("protection", ["pinned = 1", "layer = 'core'", "origin = 'human'"])
def test_newly_protected_memories_stay(waiting: Path, cli: Cli, protection: str) -> None:
    execute(waiting, f"UPDATE memories SET {protection} WHERE content LIKE '%02:30%'")
    with unchanged(active, waiting):
        why = "became protected since the plan was made"
        cli("review", "approve", waiting, UPDATE).ends(1).says(why)
    (aside,) = reviewed_night(cli, waiting, "always", "--json").json["set_aside"]
    assert aside["proposal"].startswith(UPDATE)


def test_include_protected_replaces_a_pinned_memory(smoke: Path, cli: Cli) -> None:
    execute(smoke, "UPDATE memories SET pinned = 1 WHERE content LIKE '%02:30%'")
    reviewed_night(cli, smoke, "always", "--include-protected")
    assert cli("review", "approve", smoke, UPDATE).code == 0
    assert "The backup of the wiki runs at 02:30 every night." not in active(smoke)


def test_a_run_counts_pending_proposals_of_earlier_runs(waiting: Path, cli: Cli) -> None:
    pending = f"3 proposals of earlier runs are pending: slowwave review {waiting}"
    for more in ((), ("--dry-run",)):
        cli("maintain", waiting, *more).says(": nothing new to do.", pending)
    cli("review", "decline", waiting, SYNTHESIS)
    cli("review", "approve", waiting, UPDATE)
    assert cli("maintain", waiting, "--json").json["waiting"] == 1
    cli("review", "approve", waiting, MERGE)
    assert "wait" not in cli("maintain", waiting).out


def test_a_withdrawn_proposal_returns_with_its_memories(waiting: Path, cli: Cli) -> None:
    output = "The backup of the wiki now runs at 03:30 every night."
    execute(waiting, CHANGED)
    reviewed_night(cli, waiting)
    execute(waiting, f"UPDATE memories SET content = '{output}' WHERE content LIKE '%04:15%'")
    reviewed_night(cli, waiting)
    assert UPDATE in short_ids(queue(cli, waiting))
    assert cli("review", "approve", waiting, UPDATE).code == 0


def test_a_run_withdraws_nothing_of_other_tenants(waiting: Path, cli: Cli) -> None:
    cli("add", waiting, "Plants need light.", "--tenant", "ops")
    execute(waiting, CHANGED)
    night = reviewed_night(cli, waiting, "always", "--tenant", "ops", "--json").json
    assert night["set_aside"] == []
    assert UPDATE in short_ids(queue(cli, waiting))


# ---- what is damaged ----

# A proposal, a path in its stored JSON or a column of the ledger, and the new value.
DAMAGES = {
    "no object": (UPDATE, "$.kept.proposal", "5"),
    "another form": (UPDATE, "$.kept.proposal.entities", "5"),
    "another text": (UPDATE, "$.kept.proposal.draft.claims[0].text", '"Boats sink."'),
    "a merge with nothing that stays": (MERGE, "survivor", "NULL"),
    "what stays is not a source": (UPDATE, "survivor", "'nobody'"),
    "what stays leaves, too": (MERGE, "$.kept.proposal.leaving[0]", '"smoke-02"'),
    "other sources": (UPDATE, "sources", """'["smoke-01", "smoke-02"]'"""),
    "no sources": (UPDATE, "sources", "'[]'"),
    "a claim of no source": (SYNTHESIS, "$.kept.proposal.draft.claims[0].sources", "[1]"),
    "a count below nothing": (UPDATE, "$.kept.usage.calls", "-1"),
}


def damage(path: Path, proposal: str, where: str, value: str) -> None:
    in_json = f"numbers = json_set(numbers, '{where}', json('{value}'))"
    change = in_json if where.startswith("$") else f"{where} = {value}"
    execute(path, f"UPDATE proposals SET {change} WHERE key LIKE '{proposal}%'")


def test_the_columns_of_a_pending_proposal_count_instead_of_their_copies(
    waiting: Path, cli: Cli
) -> None:
    before = queue(cli, waiting)
    for name in ("id", "operation", "tenant", "survivor", "reason"):
        damage(waiting, "", f"$.kept.proposal.{name}", '"nobody"')
    damage(waiting, "", "$.kept.proposal.sources", "[]")
    assert queue(cli, waiting) == before
    assert cli("check", waiting).code == 0
    assert cli("review", "approve", waiting, "--all").code == 0
    assert set(states(waiting).values()) == {"applied"}


@pytest.mark.parametrize(("proposal", "where", "value"), DAMAGES.values(), ids=DAMAGES.keys())
def test_damaged_proposals_are_stale_and_never_applied(
    waiting: Path, cli: Cli, embedder: SentenceEmbedder, proposal: str, where: str, value: str
) -> None:
    damage(waiting, proposal, where, value)
    is_stale = {item["id"][:8]: item["stale"] is not None for item in queue(cli, waiting)}
    assert is_stale == {item: item == proposal for item in (MERGE, SYNTHESIS, UPDATE)}
    decided = approved(waiting, embedder)
    assert {result.proposal.id[:8]: result.state for result in decided.results} == {
        item: "stale" if item == proposal else "applied" for item in (MERGE, SYNTHESIS, UPDATE)
    }
    assert "it cannot be read: " in str(next(r.why for r in decided.results if r.state == "stale"))


def test_a_damaged_proposal_blocks_no_other_one(waiting: Path, cli: Cli) -> None:
    damage(waiting, *DAMAGES["no object"])
    unreadable = "  ! it cannot be read: it is not a proposal"
    withdrawn = "the next run withdraws it, and considers its memories again"
    cli("review", waiting).ends(0).says(f"update {UPDATE} (stale)", unreadable, withdrawn)
    run = rows(waiting, "SELECT id FROM runs")[0]["id"]
    cli("log", waiting, run).ends(0).says(unreadable, f"merge {MERGE} (pending)")
    assert cli("review", "approve", waiting, MERGE).code == 0
    cli("review", "edit", waiting, UPDATE, "--text", "Boats sink.").ends(1, "Decline it.")
    assert cli("review", "decline", waiting, UPDATE).code == 0
    assert states(waiting)[UPDATE] == "declined"
    assert cli("review", "decline", waiting, "--all").code == 0
    assert queue(cli, waiting) == []


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_run_repeats_a_damaged_proposal(waiting: Path, cli: Cli, is_kept: bool) -> None:
    if is_kept:
        damage(waiting, *DAMAGES["what stays is not a source"])
    else:
        removed = "numbers = json_remove(numbers, '$.kept')"
        execute(waiting, f"UPDATE proposals SET {removed} WHERE key LIKE '{UPDATE}%'")
    cli("check", waiting).ends(10).says("damaged proposal: pending proposal " + UPDATE)
    cli("maintain", waiting, "--dry-run", "--review", "always").says(
        f"1 pending proposal would be withdrawn: {UPDATE} (it cannot be read: "
    )
    night = reviewed_night(cli, waiting, "always", "--json").json
    assert [item["proposal"][:8] for item in night["set_aside"]] == [UPDATE]
    assert short_ids(night["proposals"]) == short_ids(night["proposals"], "pending") == [UPDATE]
    assert night["waiting"] == 2
    assert cli("check", waiting).code == 0
    assert cli("review", "approve", waiting, UPDATE).code == 0


def test_an_interruption_at_a_commit_leaves_its_proposals_in_the_report(
    waiting: Path, cli: Cli, embedder: SentenceEmbedder
) -> None:
    interruption, commits = Interruption(), list[str]()
    with maintenance_lock(waiting), open_writing(waiting) as file:
        results = [pending.result for pending in read_queue(file)]

        def interrupt(statement: str) -> None:
            # The beginning of the run is deferred, and then the transactions of proposals.
            if statement == "COMMIT" and interruption._deferred:
                commits.append(statement)
                if len(commits) == 2:
                    interruption.request()

        file.conn.set_trace_callback(interrupt)
        approval = Approval(file, embedder, datetime.now(UTC), "approve", interruption=interruption)
        decided = approval.apply(results)
        file.conn.set_trace_callback(None)
    (report,) = rows(waiting, "SELECT report FROM runs WHERE outcome = 'interrupted'")
    applied = list(states(waiting).values()).count("applied")
    assert json.loads(report["report"])["states"]["applied"] == applied > 0
    assert [result.state for result in decided.results].count("applied") == applied


class InterruptedByItsProgram(Progress):
    """Raises what Ctrl-C raises in a Python program, once something is applied."""

    def stage(self, name: str, done: int, total: int) -> None:
        if name == "applying":
            raise KeyboardInterrupt


def test_the_interruption_of_a_python_program_is_raised(waiting: Path, embedder: Embedder) -> None:
    with maintenance_lock(waiting), open_writing(waiting) as file:
        results = [pending.result for pending in read_queue(file)]
        progress = InterruptedByItsProgram()
        with pytest.raises(KeyboardInterrupt):
            Approval(file, embedder, datetime.now(UTC), "approve", progress).apply(results)
    assert "interrupted" in {row["outcome"] for row in rows(waiting, "SELECT outcome FROM runs")}


def test_a_terminal_shows_long_texts_whole_only_where_they_are_decided_on(
    memory_file: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"The gateway {'is slow today and ' * 30}will be replaced"
    fill(memory_file, [{"id": "a", "content": text}, {"id": "b", "content": f"{text}."}])
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    dry = "maintain", memory_file, "--dry-run"
    assert "be replaced" not in cli(*dry).says("The gateway is slow").out
    assert cli(*dry, "--verbose").out.replace("\n", " ").count("be replaced") == 2
    assert "be replaced" not in cli(*NIGHT_OF, memory_file).out
    assert "be replaced" not in cli("review", memory_file).says("The gateway is slow").out
    (proposal,) = queue(cli, memory_file)
    cli("review", memory_file, proposal["id"]).says("be replaced")
    assert "be replaced" not in cli("review", "approve", memory_file, proposal["id"]).out
    assert "be replaced" not in cli("log", memory_file, "--diff").says("The gateway is slow").out
