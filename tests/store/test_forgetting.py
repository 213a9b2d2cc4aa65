"""`forget` erases a text from every row and byte, and changes nothing else."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from agents_files import killed
from builders import NOW, a_memory, copied, put, whole
from cli_calls import Cli
from conversations import asking, repeating
from hypothesis import given, settings
from hypothesis import strategies as st
from model_server import ModelServer
from nights import age_runs, execute, night, rows, states, unchanged
from places import FIXTURES

from benchmarks.quality.bench import replaying
from slowwave.consolidation.agent import AgentMemory
from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.store.erasing import clean
from slowwave.store.errors import StoreError
from slowwave.store.exchange import import_lines
from slowwave.store.file import create_file, open_writing
from slowwave.store.forgettable import find_forgettable
from slowwave.store.forgetting import forget
from slowwave.store.records import timestamp

LIFE = FIXTURES / "quality" / "life-blind-a.jsonl"
# A source of a synthesis, a duplicate that was superseded, and a name in many memories.
SOURCE, DUPLICATE, NAME = "logi-015", "boat-080", "Priya"
# Rows of these change with any change of a memory.
_CACHES = {"answers", "memos", "neighbours", "standing", "changes"}


@pytest.fixture(scope="module")
def after_a_night(tmp_path_factory: pytest.TempPathFactory, embedder: SentenceEmbedder) -> Path:
    """Provide a file after a night with a model's recorded answers."""
    path = tmp_path_factory.mktemp("night") / "memory.db"
    create_file(path)
    with open_writing(path) as file:
        import_lines(file, LIFE.read_bytes().splitlines(), NOW)
    night(path, embedder, writer=replaying(LIFE.with_suffix(".recording.jsonl")))
    return path


path = copied("after_a_night")


def bytes_of(path: Path) -> bytes:
    """Return the bytes of all files next to a file, also of its logs and backups."""
    return b"".join(each.read_bytes() for each in sorted(path.parent.iterdir()) if each.is_file())


def spellings(text: str) -> set[bytes]:
    """Return the encodings of a text that a file may contain, and its hash."""
    plain, escaped = json.dumps(text, ensure_ascii=False)[1:-1], json.dumps(text)[1:-1]
    twice = json.dumps(escaped)[1:-1]
    digest = sha256(text.encode()).hexdigest()
    return {each.encode() for each in (text, plain, escaped, twice, digest, text.encode().hex())}


def left_of(path: Path, texts: set[str]) -> set[str]:
    content = bytes_of(path).lower()
    return {text for text in texts if any(each.lower() in content for each in spellings(text))}


def texts(path: Path, *ids: str) -> set[str]:
    marks = ", ".join("?" * len(ids))
    memories = rows(path, f"SELECT content FROM memories WHERE id IN ({marks})", *ids)
    return {row["content"] for row in memories}


def everything(path: Path) -> dict[str, set[str]]:
    """Return each row of each table as text."""
    with closing(sqlite3.connect(path)) as db:
        tables = db.execute("SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE%'")
        return {
            name: set(map(repr, db.execute(f'SELECT * FROM "{name}"')))
            for (name,) in tables.fetchall()
        }


@pytest.mark.parametrize(
    ("what", "needs_derived"),
    [((SOURCE,), True), ((DUPLICATE,), False), (("--matching", NAME), False)],
    ids=["source", "duplicate", "text"],
)
def test_no_byte_is_left(what: tuple[str, ...], needs_derived: bool, path: Path, cli: Cli) -> None:
    with unchanged(path.read_bytes):
        planned = cli("forget", path, *what, "--dry-run", "--json").json
    assert bool(planned["derived"]) is needs_derived
    memories = [*planned["memories"], *planned["derived"]]
    claims = rows(
        path,
        "SELECT value ->> 'text' AS text FROM derivations, json_each(claims) "
        "WHERE memory_id IN (SELECT value FROM json_each(?))",
        json.dumps([memory["id"] for memory in memories]),
    )
    gone = {memory["content"] for memory in memories} | {row["text"] for row in claims}
    assert left_of(path, gone) == gone
    done = cli("forget", path, *what, "--derived", "--yes", "--json").ends(0)
    assert {*done.json["forgotten"]} == {memory["id"] for memory in memories}
    assert not left_of(path, gone)
    assert what[0] != "--matching" or NAME.lower().encode() not in bytes_of(path).lower()
    assert whole(path)
    assert not {*done.json["forgotten"]} & states(path).keys()


def test_derived_memories_are_forgotten_only_with_derived(path: Path, cli: Cli) -> None:
    edges = "SELECT derived_id, source_id FROM synthesized_from"
    derived = rows(path, f"{edges} WHERE source_id = ?", SOURCE)[0]["derived_id"]
    with unchanged(everything, path):
        cli("forget", path, SOURCE, "--yes").ends(1, derived, "--derived")
    sources = rows(path, f"{edges} WHERE derived_id = ?", derived)
    done = cli("forget", path, SOURCE, "--derived", "--yes", "--json").json
    assert {*done["active_again"]} == {row["source_id"] for row in sources} - {SOURCE}
    assert {states(path)[memory] for memory in done["active_again"]} == {"active"}
    # They are shown to a model again.
    asked = "SELECT 1 FROM asked JOIN memories USING (content_hash) WHERE id = ?"
    assert not any(rows(path, asked, memory) for memory in done["active_again"])


def test_nothing_is_forgotten_without_a_confirmation(path: Path, cli: Cli) -> None:
    with unchanged(path.read_bytes):
        assert cli("forget", path, DUPLICATE).code == 2
        assert cli("forget", path, "--yes").code == 2
        assert cli("forget", path, "--matching", " ", "--yes").code == 2
        both = cli("forget", path, DUPLICATE, "--matching", NAME, "--yes")
        both.ends(2, "Pass exactly one of MEMORY and --matching TEXT.")
        # What is wrong with the names comes before the confirmation.
        cli("forget", path.with_name("none.db"), DUPLICATE).ends(10, "There is no file")
    rows_before = everything(path)
    cli("forget", path, "--matching", NAME, "--yes", "--reason", "priya asked").ends(1, "reason")
    assert everything(path) == rows_before


def test_undo_restores_the_rest_of_a_run_and_names_the_loss(path: Path, cli: Cli) -> None:
    (run,) = rows(path, "SELECT id FROM runs")
    done = cli("forget", path, SOURCE, "--derived", "--yes", "--json").json
    assert done["runs"] == [run["id"]]
    assert "were forgotten on" in cli("log", path, run["id"]).out
    *_, logged = cli("log", path).out.splitlines()
    assert f"{len(done['forgotten'])} forgotten" in logged
    assert "?" not in logged
    assert "forgot memories" in cli("undo", path, done["run"], "--yes").err
    cli("undo", path, run["id"], "--yes").ends(0, "cannot be undone")
    lines = map(json.loads, LIFE.read_text().splitlines())
    imported = {line["id"]: line["content"] for line in lines}
    del imported[SOURCE]
    active = rows(path, "SELECT id, content FROM memories WHERE status = 'active'")
    assert {row["id"]: row["content"] for row in active} == imported
    assert whole(path)


def test_a_forgotten_memory_cannot_be_imported(path: Path, tmp_path: Path, cli: Cli) -> None:
    old = tmp_path / "old.jsonl"
    old.write_text(cli("export", path, "--all").out)
    lines = old.read_text().splitlines()
    (line,) = (each for each in lines if json.loads(each).get("id") == DUPLICATE)
    assert cli("forget", path, DUPLICATE, "--yes", "--reason", "asked on 3 May").code == 0
    cli("show", path, DUPLICATE).ends(1, "was forgotten on")
    listed = cli("log", path, "--json").json["runs"][-1]
    assert "asked on 3 May" in cli("log", path, listed["id"]).out
    again = cli("forget", path, DUPLICATE, "--yes", "--json")
    assert (again.code, again.json["forgotten"]) == (0, [])
    alone = tmp_path / "alone.jsonl"
    alone.write_text(f"{line}\n")
    imported = cli("import", path, alone, "--json").json
    assert imported["imported"] == 0
    assert "was forgotten on" in imported["skipped"][0]["reason"]
    # Nor into a file that this one was exported to.
    old.unlink()
    moved = tmp_path / "moved.jsonl"
    moved.write_text(cli("export", path, "--all").out)
    assert cli("import", tmp_path / "new.db", moved).code == 0
    assert cli("import", tmp_path / "new.db", alone, "--json").json["imported"] == 0


def test_a_killed_forget_is_complete_or_repeatable(path: Path, tmp_path: Path, cli: Cli) -> None:
    gone = texts(path, SOURCE)
    # Before the commit, and between it and the cleaning.
    for number in (1, 2):
        copy = tmp_path / f"killed-{number}" / "memory.db"
        copy.parent.mkdir()
        shutil.copy(path, copy)
        assert killed(number, ["forget", str(copy), SOURCE, "--derived", "--yes"]).returncode == 9
        stored = "\n".join(row for table in everything(copy).values() for row in table)
        assert (SOURCE not in states(copy)) is (number == 2)
        assert (next(iter(gone)) not in stored) is (number == 2)
        assert whole(copy)
        assert cli("forget", copy, SOURCE, "--derived", "--yes").code == 0
        assert not left_of(copy, gone)


def test_repeating_forget_erases_what_a_reader_kept_in_the_log(path: Path, cli: Cli) -> None:
    gone = texts(path, DUPLICATE)
    with closing(sqlite3.connect(path)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM memories").fetchone()
        done = cli("forget", path, DUPLICATE, "--yes", "--json")
        assert (done.code, done.json["clean"]) == (3, False)
        *notes, last = done.err.splitlines()
        assert (bool(notes), "is reading" in last) == (True, True)
    assert cli("forget", path, DUPLICATE, "--yes").code == 0
    assert not left_of(path, gone)


def test_a_text_in_tables_of_the_agent_is_reported(path: Path, cli: Cli) -> None:
    # Nor does a memory that an agent cut within a letter keep anything from being forgotten.
    execute(path, "INSERT INTO memories (content) VALUES (CAST(x'6361c3' AS TEXT))")
    execute(path, "CREATE TABLE notes (body TEXT)")
    execute(path, "INSERT INTO notes VALUES ('ask Priya')")
    done = cli("forget", path, "--matching", NAME, "--yes", "--json")
    assert (done.code, done.json["left"]) == (3, ["notes.body"])
    execute(path, "DELETE FROM notes")
    assert cli("forget", path, "--matching", NAME, "--yes").code == 1
    assert NAME.encode() not in bytes_of(path)


def test_columns_of_slowwave_are_not_listed_as_places_to_erase(memory_file: Path, cli: Cli) -> None:
    put(memory_file, a_memory("fact-1", "It rains."), a_memory("fact-2", "It rains"))
    cli("maintain", memory_file).ends(0)
    put(memory_file, a_memory("m", "A fact."))
    done = cli("forget", memory_file, "--matching", "fact", "--yes", "--json").ends(3)
    assert (done.json["forgotten"], done.json["left"]) == (["m"], ["ids"])
    assert "rase it" not in done.err


@pytest.mark.parametrize("action", ["NO ACTION", "RESTRICT"])
def test_rows_of_an_agent_that_refer_to_a_memory_are_named(
    memory_file: Path, cli: Cli, action: str
) -> None:
    put(memory_file, a_memory("m1", "Maria Keller is in."))
    references = f"REFERENCES memories (id) ON DELETE {action}"
    execute(memory_file, f"CREATE TABLE links (memory TEXT {references})")
    execute(memory_file, "INSERT INTO links VALUES ('m1')")
    assert cli("check", memory_file).code == 0
    forget = ("forget", memory_file, "m1", "--yes")
    with unchanged(everything, memory_file):
        cli(*forget).ends(1, "cannot be deleted: rows of links refer to it.", "Nothing was changed")
    execute(memory_file, "DELETE FROM links")
    assert cli(*forget).code == 0


def test_forgetting_an_unknown_text_changes_no_row(path: Path, cli: Cli) -> None:
    with unchanged(everything, path):
        for option in ("--yes", "--dry-run"):
            done = cli("forget", path, "--matching", f"{NAME}x", option)
            assert done.code == (1 if option == "--yes" else 0)
            assert "Nothing in the file contains this text" in done.out
        with AgentMemory(path) as memory:
            assert memory.forget(matching=f"{NAME}x") is None


def test_each_spelling_of_a_text_is_forgotten(memory_file: Path, cli: Cli) -> None:
    spelled = ["Zoë Müller", "Zoe\u0308 Mu\u0308ller", "ZOË\n  MÜLLER", "zoë\u00a0müller"]
    for number, name in enumerate(spelled):
        put(memory_file, a_memory(f"m{number}", f"Call {name} today."))
    office = "Grüße: HAUPTSTRASSE, oﬃce, hauptstraẞe, ofﬁCE"
    put(memory_file, a_memory("kept", "Call Zoë today.", source=office))
    execute(memory_file, "CREATE TABLE notes (body TEXT)")
    execute(memory_file, "INSERT INTO notes VALUES (?)", f"ask {spelled[1]}")
    done = cli("forget", memory_file, "--matching", "zoë  müller", "--yes", "--json")
    assert (done.code, done.json["left"]) == (3, ["notes.body"])
    assert states(memory_file) == {"kept": "active"}
    # "ß" is "ss" in upper case, and a ligature is its letters.
    assert cli("forget", memory_file, "--matching", "hauptstraße, office", "--yes").code == 0
    assert rows(memory_file, "SELECT source FROM memories")[0]["source"] == (
        "Grüße: [forgotten], [forgotten]"
    )
    # A letter with an accent is another letter, however it is written.
    put(memory_file, a_memory("accent", "Buy cafe\u0301."))
    put(memory_file, a_memory("plain", "Sell cafe."))
    assert cli("forget", memory_file, "--matching", "cafe", "--yes").code == 0
    assert states(memory_file) == {"kept": "active", "accent": "active"}


def test_memories_with_redacted_fields_are_counted(memory_file: Path, cli: Cli) -> None:
    put(memory_file, a_memory("k1", "Maria Keller is in."))
    put(memory_file, a_memory("k5", "The pump hums.", session="Maria Keller talk"))
    counted = "from the source, session, tags or metadata of 1 memory that stays"
    forget = ("forget", memory_file, "--matching", "maria keller")
    planned = cli(*forget, "--dry-run").says(counted)
    assert planned.code == 0
    assert cli(*forget, "--dry-run", "--json").json["rewritten"] == ["k5"]
    done = cli(*forget, "--yes")
    assert "Forgot 1 memory and " in done.out
    assert counted in done.err
    assert rows(memory_file, "SELECT session FROM memories") == [{"session": "[forgotten] talk"}]


def test_backups_with_the_text_are_named(path: Path, cli: Cli) -> None:
    assert cli("maintain", path, "--backup", "--reconsider", "--quiet").code == 0
    cli("add", path, "The user prefers tea.")
    backup = path.with_name("memory.db.backup-20260310T030000Z")
    shutil.copy(path, backup)
    done = cli("forget", path, DUPLICATE, "--yes", "--json").json
    assert str(backup) in done["backups"]
    for named in done["backups"]:
        assert cli("forget", named, DUPLICATE, "--yes").code == 0
    assert SOURCE in states(path)


def test_a_purged_memory_can_be_forgotten(path: Path, embedder: SentenceEmbedder, cli: Cli) -> None:
    gone = texts(path, SOURCE)
    age_runs(path)
    night(path, embedder, consolidate=False, purge=True)
    assert SOURCE not in states(path)
    assert cli("forget", path, SOURCE, "--derived", "--yes").code == 0
    assert not left_of(path, gone)
    assert whole(path)


def test_a_tenant_forgets_only_its_own(memory_file: Path) -> None:
    text = "Maria's number is 555-0199."
    for tenant in ("ann", "bob"):
        put(memory_file, a_memory(f"of-{tenant}", text, tenant=tenant))
    with AgentMemory(memory_file, "ann") as memory:
        with pytest.raises(StoreError, match="tenant"):
            memory.forget("of-bob")
        with pytest.raises(StoreError, match="Pass"):
            memory.forget("of-ann", "Maria")
        done = memory.forget(matching="maria's")
        assert done is not None
        assert done.ids == ("of-ann",)
        assert memory.forget("of-ann") is None
    assert states(memory_file) == {"of-bob": "active"}


def test_equal_memories_of_other_tenants_stay_and_are_named(memory_file: Path, cli: Cli) -> None:
    for memory, tenant in (("a1", "alpha"), ("a2", "alpha"), ("b1", "beta")):
        put(memory_file, a_memory(memory, "Team alpha owns billing.", tenant=tenant))
    planned = cli("forget", memory_file, "a1", "--dry-run")
    assert "to forget: a2 (active, tenant alpha)" in planned.out
    assert "related; stays: b1 (active, tenant beta)" in planned.out
    assert cli("forget", memory_file, "a1", "--yes").code == 0
    assert states(memory_file) == {"b1": "active"}


def test_forget_erases_messages(memory_file: Path, cli: Cli, server: ModelServer) -> None:
    server.responder = repeating
    conversation = memory_file.with_name("talk.jsonl")
    text = "My sister Ana lives in Porto, and I never eat walnuts."
    conversation.write_text(json.dumps({"role": "user", "content": text}) + "\n")
    assert cli("ingest", memory_file, conversation, *asking(server)).code == 0
    conversation.unlink()
    assert b"Porto" in bytes_of(memory_file)
    assert cli("forget", memory_file, "--matching", "Porto", "--yes").code == 0
    assert b"porto" not in bytes_of(memory_file).lower()
    assert whole(memory_file)


def test_forget_erases_the_reasoning_of_a_model(memory_file: Path) -> None:
    text = "Petra Zwiebel lives in Graz"
    fact = {"content": f"{text}.", "kind": "fact", "importance": 4, "subject": "Petra Zwiebel"}
    fact |= {"tags": [], "quotes": [text]}
    answer = {"memories": [fact], "reasoning": "She was named, with the Hinterhof address."}
    messages = [{"role": "user", "content": f"Note: {text}, and I like apples."}]
    with AgentMemory(memory_file) as memory:
        (ingested,) = memory.ingest(
            messages, model=lambda *_: json.dumps(answer), checker="none"
        ).remembered
        assert b"Hinterhof" in bytes_of(memory_file)
        memory.forget(ingested.memory)
    assert b"Hinterhof" not in bytes_of(memory_file)


def test_a_published_fact_is_retracted_before_it_is_forgotten(memory_file: Path, cli: Cli) -> None:
    publish, by_ines = ("shared", "publish", memory_file), ("--author", "Ines")
    assert cli("shared", "admit", memory_file, "Ines", "--human", *by_ines).code == 0
    assert cli(*publish, "vault", "The code is 7391-elk.", *by_ines).code == 0
    assert cli(*publish, "door", "The door is blue.", *by_ines).code == 0
    forget = ("forget", memory_file, "--matching", "7391-elk")
    retract = f"slowwave shared retract {memory_file} vault --author NAME"
    with unchanged(memory_file.read_bytes):
        for more in ("--dry-run", "--yes"):
            cli(*forget, more).ends(1, "The shared fact 'vault' is current", retract)
    assert cli("shared", "retract", memory_file, "vault", *by_ines).code == 0
    assert cli(*forget, "--yes", "--json").ends(0).json["active_again"] == []
    assert b"7391-elk" not in bytes_of(memory_file)
    assert whole(memory_file)
    assert cli(*publish, "door", "The door is red.", *by_ines).code == 0


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_forget_changes_no_other_row(after_a_night: Path, data: st.DataObject) -> None:
    texts = {
        row["id"]: row["content"] for row in rows(after_a_night, "SELECT id, content FROM memories")
    }
    memory = data.draw(st.sampled_from(sorted(texts)))
    words = data.draw(st.none() | st.sampled_from(texts[memory].split()))
    with TemporaryDirectory() as folder:
        path = Path(shutil.copy(after_a_night, folder))
        before = everything(path)
        with open_writing(path) as file:
            forgettable = find_forgettable(file, None if words else memory, words)
            done = forget(file, forgettable, timestamp(NOW))
            clean(file)
        after = everything(path)
        assert whole(path)
        gone = {*done.ids}
        expected = {table: {done.run_id} for table in ("runs", "journal")}
        expected["memories"] = {*done.released}
        for table in before.keys() - _CACHES:
            marks = {"[forgotten]", *expected.get(table, ())}
            added = after[table] - before[table]
            assert all(any(mark in row for mark in marks) for row in added), table
        proposals = before["proposals"] - after["proposals"]
        assert all(any(key in row for key in gone) or words for row in proposals)
        rest = {row["id"]: row["content"] for row in rows(path, "SELECT id, content FROM memories")}
        assert rest == {key: text for key, text in texts.items() if key not in gone}
