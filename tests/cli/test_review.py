"""A night in review mode: what waits for a person, and what becomes of the person's decisions."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders import copied, until_closed
from cli_calls import Cli
from model_nights import SMOKE, a_fact, a_rule, every_night_asks
from model_server import Answer, Asked, answering, approval, group, groups
from nights import active, daily, execute, fill, picture, rows, unchanged
from numpy.typing import NDArray
from reviews import IN_ONE, MERGE, SYNTHESIS, UPDATE, reviewed_night, states

from slowwave.cli.app import run
from slowwave.consolidation.running.approval import ReviewResult, apply_approved
from slowwave.consolidation.running.review_queue import read_queue
from slowwave.consolidation.vectors.embedder import Embedder, SentenceEmbedder
from slowwave.store.file import maintenance_lock, open_writing

pytestmark = pytest.mark.usefixtures("smoke_model")

NIGHT_OF = ("maintain", "--review", "always")


@pytest.fixture(scope="module")
def after_a_night(tmp_path_factory: pytest.TempPathFactory, smoke_model: None) -> Path:
    """Provide them after a night in which everything waits: a merge, a synthesis, an update."""
    path = tmp_path_factory.mktemp("waiting") / "memory.db"
    for command in (["import", "--empty", path], ["import", path, SMOKE], [*NIGHT_OF, path]):
        assert run([str(item) for item in command]) == 0
    execute(path, "PRAGMA wal_checkpoint(TRUNCATE)")
    return path


waiting = copied("after_a_night")


class CountingEmbedder(SentenceEmbedder):
    """The real one, which keeps what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Sequence[str]] = []

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked.append(texts)
        return super().encode(texts)


def approved(path: Path, embedder: Embedder) -> ReviewResult:
    """Approve all that waits."""
    with maintenance_lock(path), open_writing(path) as file:
        kept = [item.kept for item in read_queue(file)]
        return apply_approved(file, kept, embedder, datetime.now(UTC), "approve")


def undated(several: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what waits without when it began to."""
    return [item | {"decided_at": None} for item in several]


def queue(cli: Cli, path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = cli("review", path, "--json").json["proposals"]
    return found


# ---- the night ----


def test_always_applies_nothing_and_queues_every_draft(smoke: Path, cli: Cli) -> None:
    with unchanged(picture, smoke, ["memories", "synthesized_from"]):
        planned = cli("maintain", smoke, "--dry-run", "--ask", "--json").json
        ended = reviewed_night(cli, smoke, "always", "--json").ends(0)
    kept = {item["id"]: item["draft"] for item in queue(cli, smoke)}
    assert kept == {proposal["id"]: proposal["draft"] for proposal in planned["proposals"]}
    assert {proposal["state"] for proposal in ended.json["proposals"]} == {"pending"}
    assert all(
        proposal["why"].startswith("queued for review") for proposal in ended.json["proposals"]
    )


def test_what_waits_is_told_by_the_report_and_the_log(smoke: Path, cli: Cli) -> None:
    report = reviewed_night(cli, smoke).out
    pending = "3 pending: 1 merge, 1 synthesize, 1 update"
    assert f"{pending}. Decide with: slowwave review {smoke}\n" in report
    run = rows(smoke, "SELECT id FROM runs")[0]["id"]
    for said in (report, cli("log", smoke, run).out):
        assert f"update {UPDATE} (pending)" in said
        assert "  - 2026-02-11  The backup of the wiki runs at 02:30 every night." in said
        assert "  = The backup of the wiki runs at 03:30 every night." in said
        assert "  ! queued for review: it replaces a value" in said
    kept = [
        proposal["numbers"]["kept"]
        for proposal in cli("log", smoke, run, "--json").json["proposals"]
    ]
    assert len(kept) == 3
    assert not any("vector" in entry for entry in kept)
    worth = re.findall(r"; \d+ -> \d+ tokens$", report, re.MULTILINE)
    assert len(worth) == 3
    assert all(item in cli("review", smoke).out for item in worth)


def test_risky_applies_duplicates_and_queues_a_models_words(smoke: Path, cli: Cli) -> None:
    report = reviewed_night(cli, smoke, "risky").out
    assert states(smoke) == {MERGE: "applied", SYNTHESIS: "pending", UPDATE: "pending"}
    assert "The backup of the wiki runs at 02:30 every night." in active(smoke)
    assert f"Decide with: slowwave review {smoke}\n" in report
    assert "Undo it with: slowwave undo" in report


@pytest.mark.parametrize("field", [{"origin": "human"}, {"pinned": True}])
def test_risky_queues_protected_sources(memory_file: Path, cli: Cli, field: dict[str, Any]) -> None:
    fill(memory_file, daily(["Search listens on port 9090."], "one", **field))
    fill(memory_file, daily(["Search listens on port 9090"], "other"))
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


def test_risky_queues_a_models_words_loose_groups_and_rules(risky: Path, cli: Cli) -> None:
    ended = reviewed_night(cli, risky, "risky", "--json")
    why = [
        proposal["why"] for proposal in ended.json["proposals"] if proposal["state"] == "pending"
    ]
    assert len(why) == 3
    for risk in ("about a rule", "; a model wrote it", "low mean similarity"):
        assert any(risk in each for each in why), risk
    again = reviewed_night(cli, risky, "risky", "--json").json
    assert (again["run"], again["model"]["calls"], again["proposals"]) == (None, 0, [])
    approved = cli("review", "approve", risky, "--all", "--json")
    assert {proposal["state"] for proposal in approved.json["proposals"]} == {"applied"}
    made = rows(risky, "SELECT writer, model FROM derivations WHERE operation = 'extract'")
    assert [(row["writer"], row["model"] is None) for row in made] == [("model", False)]


@pytest.mark.parametrize("review", ["always", "risky", "never"])
def test_the_next_night_does_not_repeat_pending_ones(waiting: Path, cli: Cli, review: str) -> None:
    assert reviewed_night(cli, waiting, review, "--json").json["proposals"] == []
    assert len(queue(cli, waiting)) == 3


def test_a_dry_run_says_what_would_wait_and_counts_it_as_not_done(smoke: Path, cli: Cli) -> None:
    before = smoke.read_bytes()
    told_ = reviewed_night(cli, smoke, "risky", "--dry-run", "--ask", "--json").json
    assert {proposal["state"] for proposal in told_["proposals"]} == {"planned"}
    why = {proposal["operation"]: proposal["why"] for proposal in told_["proposals"]}
    assert why == {
        "merge": None,
        "synthesize": "queued for review: a model wrote it",
        "update": "queued for review: it replaces a value; a model wrote it",
    }
    assert smoke.read_bytes() == before
    assert reviewed_night(cli, smoke, "risky", "--json").json["after"] == told_["after"]


def test_each_command_gives_a_proposal_the_keys_of_a_night(smoke: Path, cli: Cli) -> None:
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
    said = cli("review", waiting).out
    for text in active(waiting)[1:]:
        assert text in said or "fence" in text
    (one,) = cli("review", "show", waiting, UPDATE, "--json").json["proposals"]
    assert [source["content"] for source in one["sources"]] == [
        "The backup of the wiki runs at 02:30 every night.",
        "The backup of the wiki now runs at 03:30 every night.",
    ]
    assert (one["state"], one["stale"]) == ("pending", None)
    shown = cli("review", "show", waiting, UPDATE).out
    assert one["id"] in shown
    assert f"Decide with: slowwave review approve|decline|edit {waiting} ID" in shown
    listed = cli("review", "list", waiting, "--operation", "update", "--json").json["proposals"]
    assert [item["id"] for item in listed] == [one["id"]]
    assert waiting.read_bytes() == before


# ---- approving ----


def test_approving_all_equals_a_night_without_review(smoke: Path, tmp_path: Path, cli: Cli) -> None:
    other = tmp_path / "other.db"
    shutil.copy(smoke, other)
    cli("maintain", other)
    reviewed_night(cli, smoke)
    cli("review", "approve", smoke, "--all", "--json").ends(0)
    assert active(smoke) == active(other)
    assert cli("check", smoke).code == 0
    assert queue(cli, smoke) == []
    assert reviewed_night(cli, smoke, "never", "--json").json["run"] is None


def test_what_is_approved_was_embedded_by_the_night(waiting: Path) -> None:
    embedder = CountingEmbedder()
    decided = approved(waiting, embedder)
    assert {result.state for result in decided.results} == {"applied"}
    assert embedder.asked == []
    made = [
        (row["content"], np.frombuffer(row["vector"], "<f4"))
        for row in rows(
            waiting,
            "SELECT content, vector FROM memories JOIN embeddings ON id = memory_id "
            "WHERE origin = 'consolidation'",
        )
    ]
    assert len(made) == 2
    for text, vector in made:
        assert vector @ embedder.encode([text])[0] == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("lost", ["json_remove", "another model", "damaged", "no vector"])
def test_drafts_whose_vectors_are_of_no_use_are_embedded_together(waiting: Path, lost: str) -> None:
    where = "json_extract(numbers, '$.kept.vector') IS NOT NULL"
    change = {
        "json_remove": "json_remove(numbers, '$.kept.vector')",
        "another model": "json_set(numbers, '$.kept.vector.model', 'another')",
        "damaged": "json_set(numbers, '$.kept.vector.blob', 'AAAA')",
        "no vector": "json_set(numbers, '$.kept.vector', 5)",
    }[lost]
    execute(waiting, f"UPDATE proposals SET numbers = {change} WHERE {where}")
    embedder = CountingEmbedder()
    decided = approved(waiting, embedder)
    assert {result.state for result in decided.results} == {"applied"}
    drafts = [
        result.proposal.draft.text for result in decided.results if not result.proposal.keeps_text
    ]
    assert len(drafts) == 2
    assert [sorted(request) for request in embedder.asked] == [sorted(drafts)]


def test_a_source_without_a_vector_does_not_prevent_approval(waiting: Path, cli: Cli) -> None:
    execute(waiting, "DELETE FROM embeddings")
    assert cli("review", "approve", waiting, "--all").code == 0
    assert set(states(waiting).values()) == {"applied"}


def test_with_vectors_of_another_model_nothing_is_approved(waiting: Path, cli: Cli) -> None:
    execute(waiting, "UPDATE embeddings SET dimensions = 1, vector = x'0000803f'")
    with unchanged(picture, waiting):
        refused = cli("review", "approve", waiting, "--all")
        assert refused.code == 1
        assert "have 1 dimensions, but the model returns 384" in refused.err


@pytest.mark.parametrize("way", [["approve", "--all"], ["decline", "--all"]])
def test_a_locked_file_is_left_as_it_is(waiting: Path, cli: Cli, way: list[str]) -> None:
    with unchanged(picture, waiting):
        with maintenance_lock(waiting):
            ended = cli("review", *way, waiting)
        assert (ended.code, ended.out) == (11, "")
        assert "Another maintenance run has locked" in ended.err


def test_a_busy_file_is_unchanged(waiting: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowwave.store.connection.BUSY_TIMEOUT_MS", 300)
    with unchanged(picture, waiting):
        with closing(sqlite3.connect(waiting, isolation_level=None)) as agent:
            agent.execute("BEGIN IMMEDIATE")
            ended = cli("review", "approve", waiting, "--all")
            agent.execute("ROLLBACK")
        assert (ended.code, ended.out) == (11, "")
        assert "is locked by another program" in ended.err


def test_an_approval_by_a_short_id_is_undone_to_the_bit(waiting: Path, cli: Cli) -> None:
    with unchanged(picture, waiting):
        (shown,) = cli("review", "show", waiting, UPDATE[:4], "--json").json["proposals"]
        ended = cli("review", "approve", waiting, UPDATE[:4])
        assert ended.code == 0
        assert f"Undo it with: slowwave undo {waiting} {UPDATE}" in ended.out
        assert shown["draft"] in active(waiting)
        assert states(waiting) == {MERGE: "pending", SYNTHESIS: "pending", UPDATE: "applied"}
        assert cli("undo", waiting, UPDATE).code == 0


@pytest.mark.parametrize("which", ["the proposal", "the run"])
def test_an_undone_approval_is_pending_again(waiting: Path, cli: Cli, which: str) -> None:
    before = queue(cli, waiting)
    run = cli("review", "approve", waiting, UPDATE, "--json").json["run"]
    ended = cli("undo", waiting, run if which == "the run" else UPDATE, "--json")
    assert [item[:8] for item in ended.json["waiting"]] == [UPDATE]
    assert undated(queue(cli, waiting)) == undated(before)
    assert reviewed_night(cli, waiting, "always", "--json").json["proposals"] == []
    assert cli("review", "approve", waiting, UPDATE).code == 0
    again = cli("undo", waiting, UPDATE)
    assert f"1 proposal is pending again: slowwave review {waiting}" in again.err
    assert "will not be proposed again" not in again.err
    assert undated(queue(cli, waiting)) == undated(before)


def test_an_undone_approval_that_cannot_be_repeated_is_stale(waiting: Path, cli: Cli) -> None:
    (merge,) = cli("review", "approve", waiting, MERGE, "--json").json["proposals"]
    execute(waiting, f"UPDATE memories SET status = 'archived' WHERE id = '{merge['survivor']}'")
    assert "pending again" not in cli("undo", waiting, MERGE).ends(0, "1 proposal is stale").err


def test_what_a_night_applied_is_not_pending_after_an_undo(waiting: Path, cli: Cli) -> None:
    assert cli("review", "approve", waiting, MERGE).code == 0
    back = "status = 'active', superseded_by = NULL, superseded_at = NULL"
    execute(waiting, f"UPDATE memories SET {back} WHERE status = 'superseded'")
    execute(waiting, "DELETE FROM synthesized_from")
    night = cli("maintain", waiting, "--reconsider", "--json").json
    assert MERGE in [
        proposal["id"][:8] for proposal in night["proposals"] if proposal["state"] == "applied"
    ]
    assert cli("undo", waiting, night["run"], "--json").json["waiting"] == []


def test_those_of_one_operation_are_approved_together_as_a_run(waiting: Path, cli: Cli) -> None:
    ended = cli("review", "approve", waiting, "--operation", "merge", "--json").json
    assert [proposal["id"][:8] for proposal in ended["proposals"]] == [MERGE]
    said = cli("log", waiting, ended["run"]).out
    assert "none: a review" in said
    assert f"merge {MERGE} (applied)" in said


def test_what_is_stale_is_told_and_nothing_is_changed(waiting: Path, cli: Cli) -> None:
    execute(waiting, "UPDATE memories SET content = 'It is gone.' WHERE content LIKE '%03:30%'")
    tables = ("memories", "proposals", "runs", "journal")
    with unchanged(picture, waiting, tables):
        cli("review", "approve", waiting, UPDATE).ends(1).says(
            "was changed since the plan was made", "Nothing was changed."
        )
    listed = cli("review", waiting).out
    assert f"update {UPDATE} (stale)" in listed
    assert "! memory smoke-06 was changed since the plan was made" in listed


def test_stale_proposals_come_last_and_the_rest_is_applied(waiting: Path, cli: Cli) -> None:
    execute(waiting, "UPDATE memories SET status = 'archived' WHERE content LIKE '%03:30%'")
    ended = cli("review", "approve", waiting, "--all").ends(3)
    assert states(waiting) == {MERGE: "applied", SYNTHESIS: "applied", UPDATE: "pending"}
    lines = ended.out.splitlines()
    assert lines[-3] == f"update {UPDATE} (stale)"
    assert lines[-2].startswith("  ! ")
    assert "2 applied, 1 stale" in lines[-1]


@pytest.mark.parametrize("applied", [0, 1])
def test_a_failed_write_keeps_what_was_applied(waiting: Path, cli: Cli, applied: int) -> None:
    before, pending = active(waiting), [item["operation"] for item in queue(cli, waiting)]
    execute(
        waiting,
        f"CREATE TRIGGER no_room BEFORE UPDATE ON proposals "
        f"WHEN NEW.operation = '{pending[applied]}' BEGIN SELECT RAISE(ABORT, 'no room'); END",
    )
    ended = cli("review", "approve", waiting, "--all", "--json")
    outcomes = [row["outcome"] for row in rows(waiting, "SELECT outcome FROM runs")]
    assert [item["operation"] for item in queue(cli, waiting)] == pending[applied:]
    if applied:
        assert (ended.code, "partial" in outcomes) == (3, True)
        found = [proposal["state"] for proposal in ended.json["proposals"]]
        assert found == ["applied", "failed", "failed"]
    else:
        assert (ended.code, "no room" in ended.err, "failed" in outcomes) == (1, True, True)
        assert active(waiting) == before


def test_an_approval_of_all_takes_three_commits(waiting: Path, embedder: SentenceEmbedder) -> None:
    said: list[str] = []
    with maintenance_lock(waiting), open_writing(waiting) as file:
        kept = [item.kept for item in read_queue(file)]
        file.conn.set_trace_callback(said.append)
        apply_approved(file, kept, embedder, datetime.now(UTC), "approve")
    assert len(kept) == 3
    # The run begins, all three are applied, and it ends.
    assert said.count("COMMIT") == 3


def test_at_a_terminal_an_approval_says_how_far_it_is(waiting: Path) -> None:
    terminal, stderr = os.openpty()
    command = [sys.executable, "-m", "slowwave.cli", "review", "approve", str(waiting), "--all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr) as process:
        os.close(stderr)
        # A terminal holds 4 KiB: on a busy machine, where there is more to show, not all of it.
        shown = b"".join(until_closed(terminal)).decode()
        said, _ = process.communicate()
    os.close(terminal)
    assert (process.returncode, b"3 applied" in said) == (0, True)
    assert "checking drafts" in shown
    assert "writing to the file" in shown
    assert "3/3" in shown


def test_a_second_proposal_for_a_memory_names_the_first(waiting: Path, cli: Cli) -> None:
    cli("add", waiting, "The backup of the wiki now runs at 04:30 every night.")
    (later,) = reviewed_night(cli, waiting, "always", "--json").json["proposals"]
    ended = cli("review", "approve", waiting, "--all", "--json").ends(3)
    outcomes = {
        proposal["id"][:8]: (proposal["state"], proposal["why"])
        for proposal in ended.json["proposals"]
    }
    why = f"memory smoke-05 was already changed by update {UPDATE}"
    assert outcomes[UPDATE][0] == "applied"
    assert outcomes[later["id"][:8]] == ("stale", why)
    assert why in cli("log", waiting, ended.json["run"]).out
    # What is left of it is proposed anew.
    (anew,) = reviewed_night(cli, waiting, "never", "--json").json["proposals"]
    assert (anew["state"], "04:30" in anew["draft"]) == ("applied", True)


def test_what_waits_goes_along_with_an_export(waiting: Path, tmp_path: Path, cli: Cli) -> None:
    lines = tmp_path / "all.jsonl"
    lines.write_text(cli("export", waiting, "--all").out)
    other = tmp_path / "other.db"
    assert cli("import", other, lines).code == 0
    assert queue(cli, other) == queue(cli, waiting)
    assert cli("review", "approve", other, "--all").code == 0


def test_what_was_proposed_anew_waits_once(waiting: Path, cli: Cli) -> None:
    reviewed_night(cli, waiting, "always", "--reconsider")
    assert len(queue(cli, waiting)) == 3
    cli("maintain", waiting, "--reconsider")
    assert queue(cli, waiting) == []


# ---- declining ----


def test_a_reason_to_decline_is_kept_shown_and_remembered(waiting: Path, cli: Cli) -> None:
    with unchanged(picture, waiting):
        ended = cli("review", "decline", waiting, UPDATE, "--reason", "the wiki is gone", "--json")
        assert ended.code == 0
        assert [proposal["state"] for proposal in ended.json["proposals"]] == ["declined"]
    run = rows(waiting, "SELECT id FROM runs")[0]["id"]
    assert "declined by a person: the wiki is gone" in cli("log", waiting, run).out
    shown = cli("review", "show", waiting, UPDATE).out
    assert ("the wiki is gone" in shown, "--reconsider" in shown) == (True, True)
    assert "Decide with" not in shown
    ended = cli("review", "approve", waiting, UPDATE)
    assert ended.code == 1
    assert f"Proposal {UPDATE} was declined on " in ended.err
    assert "(declined by a person: the wiki is gone). It is no longer pending." in ended.err
    assert cli("review", "approve", waiting, MERGE).code == 0
    assert f"{MERGE} was applied on 20" in cli("review", "decline", waiting, MERGE).err
    assert UPDATE not in {item["id"][:8] for item in queue(cli, waiting)}
    assert cli("maintain", waiting, "--json").json["proposals"] == []
    dry = ("--dry-run", "--ask", "--json")
    again = cli("maintain", waiting, "--reconsider", *dry).json
    assert UPDATE in {proposal["id"][:8] for proposal in again["proposals"]}
    assert "It will not be proposed again" in cli("review", "decline", waiting, SYNTHESIS).err


def test_a_decision_is_shown_with_its_result(waiting: Path, tmp_path: Path, cli: Cli) -> None:
    night = rows(waiting, "SELECT id FROM runs")[0]["id"]
    assert cli("review", "approve", waiting, MERGE).code == 0
    assert cli("review", "edit", waiting, SYNTHESIS, "--text", IN_ONE).code == 0
    assert cli("review", "decline", waiting, UPDATE).code == 0
    merge, synthesis, update = (
        cli("review", "show", waiting, item).out for item in (MERGE, SYNTHESIS, UPDATE)
    )
    log = cli("log", waiting, night).out
    for said in (log, merge + synthesis + update):
        # All that the merge and the synthesis took away, and nothing of the update.
        assert (said.count("\n  - "), said.count("\n  * 2026-02-1")) == (5, 2)
        assert len(re.findall("! queued for review[^;]*; applied by run ", said)) == 2
        assert "\n  = 2026-02-03  Helvi settles the invoices on the first" in said
        assert f"in a person's words\n  = {IN_ONE}\n" in said
        assert "    would have been: The backup of the wiki runs at 03:30" in said
    page = tmp_path / "report.md"
    assert cli("log", waiting, night, "--md", page).code == 0
    said = " ".join(page.read_text().split())
    assert said.count(" - 2026-02-") == 5
    assert "+ Helvi settles the invoices from the shared account on the first" in said
    assert f"slowwave undo {waiting} {MERGE}" in said


# ---- editing ----


def test_a_persons_words_are_a_persons_and_can_be_undone(waiting: Path, cli: Cli) -> None:
    before, pending = picture(waiting), queue(cli, waiting)
    assert cli("review", "edit", waiting, SYNTHESIS, "--text", IN_ONE).code == 0
    (made,) = rows(waiting, "SELECT id, content, origin FROM memories WHERE generation > 0")
    assert (made["content"], made["origin"]) == (IN_ONE, "human")
    assert "written by a person" in cli("show", "--lineage", waiting, made["id"]).out
    assert cli("check", waiting).code == 0
    assert cli("undo", waiting, SYNTHESIS).code == 0
    assert picture(waiting) == before
    assert undated(queue(cli, waiting)) == undated(pending)


def test_a_person_may_reword_an_update_but_not_a_merge(waiting: Path, cli: Cli) -> None:
    reworded = "Every night at 03:30 the backup of the wiki runs."
    ended = cli("review", "edit", waiting, UPDATE, "--text", reworded)
    assert (ended.code, reworded in active(waiting)) == (0, True), ended.out
    (shown,) = cli("review", "show", waiting, SYNTHESIS, "--json").json["proposals"]
    assert cli("review", "edit", waiting, SYNTHESIS, "--text", shown["draft"] + "\n").code == 0
    (made,) = rows(waiting, "SELECT origin FROM memories WHERE content = ?", shown["draft"])
    assert made["origin"] == "consolidation"
    cli("review", "edit", waiting, MERGE, "--text", "Helvi pays.").ends(1, "writes no text")
    assert cli("check", waiting).code == 0


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (IN_ONE.replace("14:00", "15:00"), "15:00"),
        (IN_ONE.replace("Helvi", "Mallory"), "Mallory"),
        ("   ", "is empty"),
    ],
)
def test_unsupported_words_are_refused(waiting: Path, cli: Cli, text: str, fault: str) -> None:
    tables = ("memories", "proposals", "runs", "journal")
    with unchanged(picture, waiting, tables):
        cli("review", "edit", waiting, SYNTHESIS, "--text", text).ends(1).says(fault)


def test_at_a_terminal_the_draft_is_edited_in_the_persons_editor(
    waiting: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(f"import sys\nopen(sys.argv[1], 'w').write({IN_ONE!r})\n")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {editor}")
    assert cli("review", "edit", waiting, SYNTHESIS).code == 2
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
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
        ([], "FILE"),
    ],
)
def test_misuse_ends_with_2(waiting: Path, cli: Cli, arguments: list[str], sentence: str) -> None:
    waiting.with_name("slowwave.toml").write_text("all = true\n")
    ended = cli("review", *(waiting if argument == "FILE" else argument for argument in arguments))
    assert (ended.code, sentence in ended.err) == (2, True)
    assert len(queue(cli, waiting)) == 3


@pytest.mark.parametrize("which", [["nothing"], ["b6b"], ["--operation", "extract"]])
def test_an_id_of_nothing_pending_ends_with_1(waiting: Path, cli: Cli, which: list[str]) -> None:
    ended = cli("review", "approve", waiting, *which)
    assert (ended.code, "pending proposal" in ended.err or "is pending" in ended.err) == (1, True)
    cli("review", "decline", waiting, "--all")
    assert "no pending proposals" in cli("review", waiting).out


# ---- what cannot be applied any more ----


CHANGED = (
    "UPDATE memories SET content = 'The backup of the wiki now runs at 04:15 every night.' "
    "WHERE content LIKE '%03:30%'"
)


def test_what_is_stale_is_shown_so_and_set_aside_by_the_next_night(waiting: Path, cli: Cli) -> None:
    execute(waiting, CHANGED)
    assert f"update {UPDATE} (stale)" in cli("review", waiting).out
    before = picture(waiting)
    cli("maintain", waiting, "--dry-run", "--review", "always").says(
        f"1 pending proposal would be withdrawn, since memories have changed: {UPDATE}"
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
def test_newly_protected_memories_are_kept(waiting: Path, cli: Cli, protection: str) -> None:
    execute(waiting, f"UPDATE memories SET {protection} WHERE content LIKE '%02:30%'")
    with unchanged(active, waiting):
        ended = cli("review", "approve", waiting, UPDATE)
        assert ended.code == 1
        assert "became protected since the plan was made" in ended.out
    (aside,) = reviewed_night(cli, waiting, "always", "--json").json["set_aside"]
    assert aside["proposal"].startswith(UPDATE)


def test_with_include_protected_a_pinned_memory_can_be_replaced(smoke: Path, cli: Cli) -> None:
    execute(smoke, "UPDATE memories SET pinned = 1 WHERE content LIKE '%02:30%'")
    reviewed_night(cli, smoke, "always", "--include-protected")
    assert cli("review", "approve", smoke, UPDATE).code == 0
    assert "The backup of the wiki runs at 02:30 every night." not in active(smoke)


def test_a_night_says_how_many_proposals_of_earlier_nights_wait(waiting: Path, cli: Cli) -> None:
    for more in ((), ("--dry-run",)):
        said = cli("maintain", waiting, *more).out
        assert ": nothing new to do." in said
        assert f"3 proposals of earlier runs are pending: slowwave review {waiting}" in said
    cli("review", "decline", waiting, SYNTHESIS)
    cli("review", "approve", waiting, UPDATE)
    assert cli("maintain", waiting, "--json").json["waiting"] == 1
    cli("review", "approve", waiting, MERGE)
    assert "wait" not in cli("maintain", waiting).out


def test_a_withdrawn_proposal_returns_with_its_memories(waiting: Path, cli: Cli) -> None:
    said = "The backup of the wiki now runs at 03:30 every night."
    execute(waiting, CHANGED)
    reviewed_night(cli, waiting)
    execute(waiting, f"UPDATE memories SET content = '{said}' WHERE content LIKE '%04:15%'")
    reviewed_night(cli, waiting)
    assert UPDATE in {item["id"][:8] for item in queue(cli, waiting)}
    assert cli("review", "approve", waiting, UPDATE).code == 0


def test_a_night_of_one_tenant_leaves_what_waits_of_others(waiting: Path, cli: Cli) -> None:
    cli("add", waiting, "Plants need light.", "--tenant", "other")
    execute(waiting, CHANGED)
    night = reviewed_night(cli, waiting, "always", "--tenant", "other", "--json").json
    assert night["set_aside"] == []
    assert UPDATE in {item["id"][:8] for item in queue(cli, waiting)}


# ---- what is damaged ----

# Which proposal, and what of what is kept of it becomes what.
DAMAGES = {
    "no object": (UPDATE, "$.kept.proposal", "5"),
    "another form": (UPDATE, "$.kept.proposal.entities", "5"),
    "another id": (UPDATE, "$.kept.proposal.id", f'"{"a" * 32}"'),
    "another text": (UPDATE, "$.kept.proposal.draft.claims[0].text", '"Boats sink."'),
    "a merge with nothing that stays": (MERGE, "$.kept.proposal.survivor", "null"),
    "what stays is no source": (UPDATE, "$.kept.proposal.survivor", '"nobody"'),
    "what stays leaves, too": (MERGE, "$.kept.proposal.leaving[0]", '"smoke-02"'),
    "other sources": (UPDATE, "$.kept.proposal.sources", '["smoke-01", "smoke-02"]'),
    "a claim cites what is no source": (
        SYNTHESIS,
        "$.kept.proposal.draft.claims[0].sources",
        "[1]",
    ),
    "a count below nothing": (UPDATE, "$.kept.usage.calls", "-1"),
}


def damage(path: Path, proposal: str, where: str, value: str) -> None:
    execute(
        path,
        f"UPDATE proposals SET numbers = json_set(numbers, '{where}', json('{value}')) "
        f"WHERE key LIKE '{proposal}%'",
    )


@pytest.mark.parametrize(("proposal", "where", "value"), DAMAGES.values(), ids=DAMAGES.keys())
def test_what_is_damaged_is_named_and_never_carried_out(
    waiting: Path, cli: Cli, embedder: SentenceEmbedder, proposal: str, where: str, value: str
) -> None:
    damage(waiting, proposal, where, value)
    found = {item["id"][:8]: item["stale"] is not None for item in queue(cli, waiting)}
    assert found == {item: item == proposal for item in (MERGE, SYNTHESIS, UPDATE)}
    decided = approved(waiting, embedder)
    assert {result.proposal.id[:8]: result.state for result in decided.results} == {
        item: "stale" if item == proposal else "applied" for item in (MERGE, SYNTHESIS, UPDATE)
    }
    assert "it cannot be read: " in str(next(r.why for r in decided.results if r.state == "stale"))


def test_one_that_is_damaged_blocks_no_other_and_can_be_declined(waiting: Path, cli: Cli) -> None:
    damage(waiting, *DAMAGES["no object"])
    listed = cli("review", waiting)
    assert listed.code == 0
    assert f"update {UPDATE} (stale)" in listed.out
    assert "  ! it cannot be read: it is not a proposal" in listed.out
    assert "the next run withdraws it, and considers its memories again" in listed.out
    cli("log", waiting, rows(waiting, "SELECT id FROM runs")[0]["id"]).ends(0).says(
        "  ! it cannot be read: it is not a proposal", f"merge {MERGE} (pending)"
    )
    assert cli("review", "approve", waiting, MERGE).code == 0
    cli("review", "edit", waiting, UPDATE, "--text", "Boats sink.").ends(1, "Decline it.")
    assert cli("review", "decline", waiting, UPDATE).code == 0
    assert states(waiting)[UPDATE] == "declined"
    assert cli("review", "decline", waiting, "--all").code == 0
    assert queue(cli, waiting) == []


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_night_proposes_a_damaged_one_again(waiting: Path, cli: Cli, is_kept: bool) -> None:
    if is_kept:
        damage(waiting, *DAMAGES["what stays is no source"])
    else:
        execute(
            waiting,
            "UPDATE proposals SET numbers = json_remove(numbers, '$.kept') "
            f"WHERE key LIKE '{UPDATE}%'",
        )
    cli("check", waiting).ends(10).says("damaged proposal: pending proposal " + UPDATE)
    cli("maintain", waiting, "--dry-run", "--review", "always").says(
        f"1 pending proposal would be withdrawn, since its row in the file is damaged: {UPDATE} "
        "(it cannot be read: "
    )
    night = reviewed_night(cli, waiting, "always", "--json").json
    assert [item["proposal"][:8] for item in night["set_aside"]] == [UPDATE]
    assert [(proposal["id"][:8], proposal["state"]) for proposal in night["proposals"]] == [
        (UPDATE, "pending")
    ]
    assert night["waiting"] == 2
    assert cli("check", waiting).code == 0
    assert cli("review", "approve", waiting, UPDATE).code == 0
