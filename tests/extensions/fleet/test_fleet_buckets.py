"""A fleet in a bucket: downloads, uploads, and objects that change meanwhile."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from bucket import Bucket, running
from cli_calls import Cli
from fleets import (
    agent_file,
    all_receipts,
    applied,
    deadly_writer,
    fleet_of,
    meddling_writer,
    nightly,
    receipt_runs,
    runs_of,
)
from model_nights import near_pairs
from model_server import model_server
from nights import daily, fill, rows

from slowwave.cli.arguments.model_options import ModelOptions
from slowwave.consolidation.model.usage_limits import UsageLimits
from slowwave.consolidation.writing.writer import Writer
from slowwave.extensions.fleet.budget_owners import BudgetOwner
from slowwave.extensions.fleet.commands.maintain import writer_of
from slowwave.extensions.fleet.objects import COPY, answers_left, working_folder, working_root
from slowwave.extensions.fleet.store import object_store

Rounds = Callable[[int, int], int]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with running(monkeypatch) as created:
        yield created


def filled(bucket: Bucket, folder: Path, count: int) -> list[str]:
    """Upload agents' files to the bucket, and return their keys."""
    files = fleet_of(folder, count)
    keys = [file.relative_to(folder).as_posix() for file in files]
    for key, path in zip(keys, files, strict=True):
        bucket.put(key, path)
    bucket.forget()
    return keys


def maintain(cli: Cli, bucket: Bucket, *more: object) -> dict[str, object]:
    command = ("fleet", "maintain", bucket.address, "--workers", 1, "--json")
    return dict(cli(*command, *more).json)


def test_objects_are_maintained_like_files(bucket: Bucket, tmp_path: Path, cli: Cli) -> None:
    keys = filled(bucket, tmp_path / "here", 3)
    shutil.copytree(tmp_path / "here", tmp_path / "alone")
    for key in keys:
        assert cli("maintain", tmp_path / "alone" / key).code == 0
    assert maintain(cli, bucket)["became"] == {"done": 3}
    for key in keys:
        got = bucket.get(key, tmp_path / "got.db")
        assert applied(got) == applied(tmp_path / "alone" / key) != []
        assert cli("check", got).code == 0
    runs = {key: runs_of(bucket.get(key, tmp_path / "got.db")) for key in keys}
    assert receipt_runs(bucket.receipts) == runs


def test_a_second_run_gets_only_changed_objects(bucket: Bucket, tmp_path: Path, cli: Cli) -> None:
    keys = filled(bucket, tmp_path / "here", 3)
    maintain(cli, bucket)
    assert bucket.asked("GET") == sorted(keys)
    bucket.forget()
    assert maintain(cli, bucket)["became"] == {"unchanged": 3}
    assert bucket.asked("GET") == []
    bucket.forget()
    changed = bucket.get(keys[1], tmp_path / "changed.db")
    fill(changed, daily(["The wiki is backed up at 02:30."], "wiki"))
    bucket.put(keys[1], changed)
    bucket.forget()
    assert maintain(cli, bucket)["became"] == {"done": 1, "unchanged": 2}
    assert bucket.asked("GET") == [keys[1]]


def test_an_object_without_changes_is_not_put(bucket: Bucket, tmp_path: Path, cli: Cli) -> None:
    filled(bucket, tmp_path / "here", 1)
    maintain(cli, bucket)
    bucket.forget()
    # As it is found by a fleet that has no receipts.
    report = maintain(cli, bucket, "--receipts", tmp_path / "others")
    assert report["runs"] == 1  # of the night before, which these receipts did not tell
    assert bucket.asked("PUT") == []
    assert maintain(cli, bucket, "--dry-run")["became"] == {"nothing": 1}


def test_an_upload_during_a_run_is_kept_and_the_run_repeated(
    bucket: Bucket, tmp_path: Path, rounds: Rounds
) -> None:
    for number in range(rounds(2, 40)):
        folder = tmp_path / f"{number}"
        path = agent_file(folder / "agent.db")
        key = f"{number}/agent.db"
        bucket.put(key, path)
        news = f"The door code of room {number} is {4000 + number}."
        unsent = [news]

        def put_once(key: str = key, path: Path = path, unsent: list[str] = unsent) -> None:
            if unsent:
                fill(path, daily([unsent.pop()], "news"))
                bucket.put(key, path)

        totals = nightly(f"{bucket.address}/{number}", meddling_writer(put_once))
        assert totals.became == {"done": 1}
        (receipt,) = all_receipts(f"{bucket.address}/{number}/.slowwave-receipts")
        got = bucket.get(key, folder / "got.db")
        assert receipt.tries == 2
        assert news in {row["content"] for row in rows(got, "SELECT content FROM memories")}
        assert list(receipt.runs) == runs_of(got)
        assert len(applied(got)) == 2


def test_an_object_that_changes_during_each_try_is_stale(bucket: Bucket, tmp_path: Path) -> None:
    path = agent_file(tmp_path / "agent.db")
    bucket.put("agent.db", path)
    numbers = iter(range(10))

    def put_again() -> None:
        number = next(numbers)
        fill(path, daily([f"The door code of room {number} is 4711."], f"news-{number}"))
        bucket.put("agent.db", path)

    totals = nightly(bucket.address, meddling_writer(put_again))
    assert totals.became == {"stale": 1}
    got = bucket.get("agent.db", tmp_path / "got.db")
    assert got.read_bytes() == path.read_bytes()
    assert runs_of(got) == []


def test_a_question_is_asked_once_despite_an_upload(bucket: Bucket, tmp_path: Path) -> None:
    path = agent_file(tmp_path / "agent.db")
    fill(path, near_pairs(2))
    bucket.put("agent.db", path)
    calls = 0

    with model_server() as server:

        def make_writer(budget: UsageLimits, owner: BudgetOwner | None) -> Writer:
            nonlocal calls
            calls += 1
            if calls == 3:  # once the first night is done, before it is put
                fill(path, daily(["The door code of room 9 is 4711."], "news"))
                bucket.put("agent.db", path)
            return writer_of(
                ModelOptions("openai/gpt-4o-mini", api_base=server.base, concurrency=1),
                budget,
                owner,
            )

        totals = nightly(bucket.address, make_writer)
        assert totals.became == {"done": 1}
        asked = [json.dumps(item.messages) for item in server.asked]
        assert len(asked) == len(set(asked)) > 0
    (receipt,) = all_receipts(bucket.receipts)
    assert (receipt.tries, receipt.calls) == (2, len(asked))


@pytest.mark.usefixtures("long_only")
def test_a_question_is_asked_once_despite_a_kill_before_the_upload(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "temporary"
    there.mkdir()
    monkeypatch.setenv("TMPDIR", str(there))
    path = agent_file(tmp_path / "agent.db")
    fill(path, near_pairs(2))
    bucket.put("agent.db", path)
    with model_server() as server:
        asking = partial(
            writer_of, ModelOptions("openai/gpt-4o-mini", api_base=server.base, concurrency=1)
        )
        totals = nightly(bucket.address, deadly_writer(tmp_path, 1, writer=asking), workers=2)
        asked = [json.dumps(item.messages) for item in server.asked]
    assert len(list(tmp_path.glob("killed-*"))) == 1
    assert totals.became == {"done": 1}
    assert len(asked) == len(set(asked)) > 0
    # The copy of a process that is gone is removed.
    (root,) = there.glob("slowwave-fleet-*")
    assert (list(root.iterdir()), root.stat().st_mode & 0o777) == ([], 0o700)


def test_used_copies_stay(bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    root = working_root()
    with working_folder(root, f"{bucket.address}/agent.db") as folder:
        agent_file(folder / COPY)
        assert answers_left(root, f"{bucket.address}/agent.db") == []
        assert (folder / COPY).exists()
    assert list(root.iterdir()) == []


def test_a_folder_for_copies_that_everyone_can_read_is_refused(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    bucket.put("agent.db", agent_file(tmp_path / "agent.db"))
    working_root().chmod(0o755)
    report = maintain(cli, bucket)
    assert report["became"] == {"failed": 1}
    assert "only this user can read" in str(report["troubles"])
    assert bucket.asked("GET") == []


def test_a_missing_bucket_cannot_be_reached(bucket: Bucket, cli: Cli) -> None:
    ended = cli("fleet", "maintain", "s3://no-such-bucket/x", "--workers", 1)
    assert "xml" not in ended.ends(1, "cannot be reached").err


def test_http_requires_a_setting(bucket: Bucket, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    object_store._store.cache_clear()
    cli("fleet", "maintain", bucket.address, "--workers", 1).ends(1, "set AWS_ALLOW_HTTP=true")


def test_a_pattern_chooses_among_objects(bucket: Bucket, tmp_path: Path, cli: Cli) -> None:
    filled(bucket, tmp_path / "here", 4)
    command = ("--workers", 1, "--dry-run", "--json")
    for pattern, count in (("*.db", 2), ("**/*.db", 4), ("team/agent-[1-3].db", 2)):
        ended = cli("fleet", "maintain", f"{bucket.address}/{pattern}", *command)
        assert ended.json["files"] == count, pattern
