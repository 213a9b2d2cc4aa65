"""The real programs read what slowwave left, and go on writing: make test-formats."""

from __future__ import annotations

import json
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import md5, sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from agents_files import SAMPLES, consolidated, nobody_writes
from cli_calls import Cli
from databases import Database, database, empty_database, server
from disturbed import run_nights_beside
from nights import of_one_thing
from peer_programs import SCRIPTS, THINGS, TWICE, run
from places import FORMATS
from search_tables import check_search_tables

from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.formats.known_formats import format_named, recognised

__all__ = ["database", "empty_database", "server"]  # fixtures, asked for by name

Model = tuple[str, ...]


def test_the_scripts_that_run_in_the_real_programs_are_where_they_are_looked_for() -> None:
    assert {"agno_store.py", "hermes.py", "server_memory.mjs"} < {
        path.name for path in SCRIPTS.iterdir()
    }


class Server:
    """The MCP memory server on a file."""

    def __init__(self, peers: Path, path: Path) -> None:
        package = "node_modules/@modelcontextprotocol/server-memory/dist/index.js"
        self._command = ["node", SCRIPTS / "server_memory.mjs", peers / package, path]

    def call(self, tool: str, **arguments: Any) -> str:
        return run(*self._command, tool, json.dumps(arguments))

    def graph(self) -> Any:
        return json.loads(self.call("read_graph"))

    def observations(self, entity: str) -> list[str]:
        entities = self.graph()["entities"]
        return next(list(item["observations"]) for item in entities if item["name"] == entity)


def rested(cli: Cli, path: Path) -> None:
    """Run once more, which writes nothing."""
    with nobody_writes(path):
        assert cli("maintain", path, "--json").json["proposals"] == []


def test_the_mcp_memory_server_reads_the_result(peers: Path, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "memory.jsonl"
    server = Server(peers, path)
    told = ["Billing listens on port 8080.", "Billing listens on port 8080", "Café is near"]
    entity = {"name": "wiki", "entityType": "service", "observations": told}
    server.call("create_entities", entities=[entity, {**entity, "name": "other"}])
    relation = {"from": "wiki", "to": "other", "relationType": "needs"}
    server.call("create_relations", relations=[relation])
    before = path.read_bytes()
    first = consolidated(cli, "mcp-server-memory", path)
    assert server.observations("wiki") == server.observations("other") == told[1:]
    assert server.graph()["relations"] == [relation]
    rested(cli, path)
    again = {"entityName": "wiki", "contents": ["Billing listens on port 8080.", "It is green"]}
    server.call("add_observations", observations=[again])
    deleted = {"entityName": "other", "observations": ["Café is near"]}
    server.call("delete_observations", deletions=[deleted])
    second = consolidated(cli, "mcp-server-memory", path)
    assert sorted(server.observations("wiki")) == sorted([*told[1:], "It is green"])
    assert server.observations("other") == ["Billing listens on port 8080"]
    for done in (second, first):
        assert cli("undo", path, done).code == 0
    assert "It is green" in server.observations("wiki")
    assert set(told) <= set(server.observations("wiki"))
    assert before != path.read_bytes()


class Hermes:
    """The memory store of Hermes."""

    def __init__(self, peers: Path, home: Path) -> None:
        self._python, self._home = peers / "hermes" / "bin" / "python", home

    def call(self, *calls: tuple[str, ...]) -> list[Any]:
        told = run(
            self._python, SCRIPTS / "hermes.py", json.dumps(calls), HERMES_HOME=str(self._home)
        )
        return [json.loads(line) for line in told.splitlines()]


def test_hermes_reads_the_result_without_drift(peers: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "memories").mkdir()
    hermes = Hermes(peers, tmp_path)
    path = tmp_path / SAMPLES["hermes"]
    sample = (FORMATS / "hermes" / SAMPLES["hermes"]).read_text()
    texts = sample.split("\n§\n")
    hermes.call(*(("add", "memory", text) for text in texts))
    assert path.read_text() == sample
    run_id = consolidated(cli, "hermes", path)
    entries, drift = hermes.call(("memory_entries",), ("_detect_external_drift", "memory"))
    assert set(entries) < set(texts)
    assert drift is None
    rested(cli, path)
    gone = next(text for text in texts if text not in entries)
    done = hermes.call(
        ("add", "memory", "Plays the tuba"),
        ("add", "memory", gone),
        ("replace", "memory", "Deploys happen", "Deploys happen on Wednesdays."),
        ("remove", "memory", "elm"),
    )
    assert [item["success"] for item in done] == [True, True, True, True]
    again = consolidated(cli, "hermes", path)
    (entries,) = hermes.call(("memory_entries",))
    assert gone not in entries
    rested(cli, path)
    for item in (again, run_id):
        assert cli("undo", path, item).code == 0
    entries, drift = hermes.call(("memory_entries",), ("_detect_external_drift", "memory"))
    assert drift is None
    assert {"Plays the tuba", "Deploys happen on Wednesdays."} <= set(entries)
    assert gone in entries
    # Of two that are the same, Hermes itself reads one.
    assert path.read_text().split("\n§\n").count(gone) == 2
    assert not any("elm" in entry for entry in entries)


def talk(
    python: Path, script: str, path: Path | str, *calls: tuple[object, ...], url: str | None = None
) -> list[Any]:
    """Make calls to a real package, and return what each of them gave.

    url: where it finds an embedding model; by default it has one of its own.
    """
    urls = [] if url is None else [url]
    told = run(python / "bin" / "python", SCRIPTS / script, path, json.dumps(calls), *urls)
    return [json.loads(line) for line in told.splitlines()]


def test_mcp_memory_service_finds_the_result(peers: Path, tmp_path: Path, cli: Cli) -> None:
    python, script = peers / "mcp-memory-service", "memory_service.py"
    path = tmp_path / "sqlite_vec.db"
    told = ["Billing listens on port 8080.", "Billing listens on port 8080", "The moon is far"]
    search = ("retrieve", "billing listens on port")
    talk(python, script, path, *(("store", text) for text in told))
    first = consolidated(cli, "mcp-memory-service", path)
    (found, orphans) = talk(python, script, path, search, ("list_superseded_orphans",))
    assert sorted(found) in (sorted(told[1:]), sorted([told[0], told[2]]))
    assert orphans == []
    rested(cli, path)
    moon, cello = (sha256(item.lower().encode()).hexdigest() for item in (told[2], "A cello"))
    stored, _, again, edited, deleted = talk(
        python,
        script,
        path,
        ("store", "Plays the tuba"),
        ("store", "A cello"),
        search,
        ("update_memory_versioned", moon, "The moon is very far away"),
        ("delete", cello),
    )
    assert (stored[0], edited[0], deleted[0], len(again)) == (True, True, True, 4)
    consolidated(cli, "mcp-memory-service", path)
    rested(cli, path)
    assert cli("undo", path, first).code == 0
    (found,) = talk(python, script, path, search)
    assert sorted(found) == sorted([*told[:2], "Plays the tuba", "The moon is very far away"])


@contextmanager
def embedding_server(embedder: SentenceEmbedder) -> Iterator[str]:
    """Provide the address of a model that gives the packaged one's vectors."""

    class Embedding(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            vectors = embedder.encode(texts).tolist()
            data = [{"index": at, "embedding": item} for at, item in enumerate(vectors)]
            told = json.dumps({"data": data, "model": "words"}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(told)))
            self.end_headers()
            self.wfile.write(told)

    with ThreadingHTTPServer(("127.0.0.1", 0), Embedding) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/embeddings"
        finally:
            server.shutdown()
            thread.join()


def test_mcp_memory_service_finds_a_text_that_was_added_and_goes_on(
    peers: Path, tmp_path: Path, cli: Cli, embedder: SentenceEmbedder, scripted: Model
) -> None:
    python, script = peers / "mcp-memory-service", "memory_service.py"
    path = tmp_path / "sqlite_vec.db"
    told = [*of_one_thing(), "The moon is far"]
    search = ("retrieve", "who has the database pager at weekends")
    with embedding_server(embedder) as url:
        stored = talk(python, script, path, *(("store", text) for text in told), url=url)
        assert all(done for done, _ in stored)
        run_id = consolidated(cli, "mcp-memory-service", path, *scripted)
        found, orphans = talk(python, script, path, search, ("list_superseded_orphans",), url=url)
        assert orphans == []
        assert found[0] not in told
        assert len(found) == 2
        check_search_tables(path)
        (refused, _), (stored_anew, _), found, _ = talk(
            python,
            script,
            path,
            ("store", told[0]),
            ("store", "Plays the tuba"),
            search,
            ("purge_deleted", 0),
            url=url,
        )
        assert (refused, stored_anew, len(found)) == (False, True, 3)
        consolidated(cli, "mcp-memory-service", path, *scripted)
        assert cli("undo", path, run_id).code == 0
        check_search_tables(path)
        found, orphans = talk(python, script, path, search, ("list_superseded_orphans",), url=url)
    assert sorted(found) == sorted([*told, "Plays the tuba"])
    assert orphans == []


def test_langgraph_finds_what_stays_and_goes_on(peers: Path, tmp_path: Path, cli: Cli) -> None:
    python, script = peers / "langgraph", "langgraph_store.py"
    path = tmp_path / "store.db"
    told = {"a": "Billing listens on port 8080.", "b": "Billing listens on port 8080"}
    puts = [("put", user, key, {"content": text}) for user in "xy" for key, text in told.items()]
    profile = {"name": "Ravi", "likes": ["tea"]}
    talk(python, script, path, *puts, ("put", "x", "profile", profile))
    first = consolidated(cli, "langgraph", path)
    one, other = talk(python, script, path, ("search", "x"), ("search", "y"))
    assert len(one) == 2
    assert len(other) == 1
    assert one["profile"] == profile
    rested(cli, path)
    (gone,) = told.keys() - one.keys()
    # The agent tells it again under the same key, adds one, edits one and deletes one.
    said = [("c", "Plays the tuba."), ("d", "The moon is far."), ("c", "Plays the cello.")]
    talk(
        python,
        script,
        path,
        ("put", "x", gone, {"content": "Billing listens on port 9090."}),
        *(("put", "x", key, {"content": text}) for key, text in said),
        ("put", "x", "d", None),
    )
    consolidated(cli, "langgraph", path)
    rested(cli, path)
    cli("undo", path, first).ends(1, "cannot be restored", f"now has another '{gone}'")
    (one,) = talk(python, script, path, ("search", "x"))
    assert one[gone] == {"content": "Billing listens on port 9090."}
    assert one["c"] == {"content": "Plays the cello."}
    assert "d" not in one


def test_langgraph_finds_new_texts(peers: Path, tmp_path: Path, cli: Cli, scripted: Model) -> None:
    python, script = peers / "langgraph", "langgraph_store.py"
    path = tmp_path / "store.db"
    puts = [("put", "x", str(at), {"content": text}) for at, text in enumerate(of_one_thing())]
    talk(python, script, path, *puts)
    done = consolidated(cli, "langgraph", path, *scripted)
    (found,) = talk(python, script, path, ("search", "x"))
    (value,) = found.values()
    assert value.keys() == {"content"}
    assert value["content"] not in of_one_thing()
    talk(python, script, path, ("put", "x", next(iter(found)), {"content": "A heron nests there."}))
    assert cli("undo", path, done).code == 1
    (found,) = talk(python, script, path, ("search", "x"))
    assert [match["content"] for match in found.values()] == ["A heron nests there."]


def test_langgraph_tables_work(peers: Path, database: Database, cli: Cli, scripted: Model) -> None:
    python, script = peers / "langgraph", "langgraph_store.py"
    texts = of_one_thing()
    puts = [("put", "x", str(at), {"content": text}) for at, text in enumerate(texts)]
    profile = {"name": "Ravi", "likes": ["tea"]}
    talk(python, script, database.url, *puts, ("put", "x", "profile", profile))
    before, tenant = database.store(), database.of("memories.x")
    ended = cli("maintain", tenant, "--format", "langgraph", "--json", *scripted).ends(0)
    (found,) = talk(python, script, database.url, ("search", "x"))
    assert found.pop("profile") == profile
    (value,) = found.values()
    assert value.keys() == {"content"}
    assert value["content"] not in texts
    assert cli("undo", tenant, ended.json["run"]).code == 0
    assert database.store() == before


def test_langgraph_in_postgresql_loses_nothing(peers: Path, database: Database, cli: Cli) -> None:
    tenant = database.of("memories.x")
    run_nights_beside(
        lambda: tell_langgraph(peers, database.url),
        cli,
        *("maintain", tenant, "--format", "langgraph", "-q"),
        is_there=lambda: database.rows("SELECT 1 FROM store"),
    )
    texts = [text.rstrip(".") for text in database.texts("memories.x")]
    assert sorted(texts) == sorted(THINGS)


def told_apart(texts: list[str]) -> dict[str, str]:
    """Return texts by ids as the packages give them."""
    return {str(uuid.UUID(int=number)): text for number, text in enumerate(texts)}


def test_mem0_in_postgresql_finds_what_stays_and_its_rows_come_back(
    peers: Path, empty_database: Database, cli: Cli, scripted: Model, embedder: SentenceEmbedder
) -> None:
    python, script, url = peers / "mem0", "mem0_store.py", empty_database.url
    texts = told_apart([*of_one_thing(), "The moon is far."])
    vectors = dict(zip(texts, embedder.encode(list(texts.values())).tolist(), strict=True))
    ann, asked = {"user_id": "ann"}, embedder.encode(["who has the database pager"]).tolist()[0]
    calls = [("tell", ann, known, text, vectors[known]) for known, text in texts.items()]
    (*_, told) = talk(python, script, url, *calls, ("get_all", ann))
    assert {text["memory"] for text in told} == set(texts.values())
    every = "SELECT id, vector::text, payload::text FROM mem0 ORDER BY 1"
    before, tenant = empty_database.rows(every), empty_database.of("user_id=ann")
    ended = cli("maintain", tenant, "--format", "mem0", "--json", *scripted).ends(0)
    found, searched = talk(
        python, script, url, ("get_all", ann), ("search", "database pager", asked, ann)
    )
    (new,) = [match for match in found if match["memory"] not in texts.values()]
    assert len(found) == 2
    assert new["hash"] == md5(new["memory"].encode(), usedforsecurity=False).hexdigest()
    assert searched[0]["memory"] == new["memory"]
    assert searched[0]["user_id"] == "ann"
    assert cli("undo", tenant, ended.json["run"]).code == 0
    assert empty_database.rows(every) == before
    # It goes on: one is changed, one deleted, and a night takes up what is there now.
    (known, *_, gone) = texts
    talk(python, script, url, ("update", known, "Rye is sour.", asked), ("delete", gone))
    cli("maintain", tenant, "--json", *scripted).ends(0)
    (found,) = talk(python, script, url, ("get_all", ann))
    assert {match["memory"] for match in found} >= {"Rye is sour."}
    assert "The moon is far." not in {match["memory"] for match in found}


def test_agno_tables_work(peers: Path, empty_database: Database, cli: Cli, scripted: Model) -> None:
    python, script, url = peers / "agno", "agno_store.py", empty_database.url
    texts = told_apart([*of_one_thing(), "The moon is far."])
    calls = [("tell", "ann", known, text, [f"t{known[-1]}"]) for known, text in texts.items()]
    talk(python, script, url, *calls)
    every = "SELECT to_jsonb(m)::text FROM ai.agno_memories m ORDER BY 1"
    before, tenant = empty_database.rows(every), empty_database.of("ann")
    ended = cli("maintain", tenant, "--format", "agno", "--json", *scripted).ends(0)
    found, topics = talk(python, script, url, ("memories", "ann"), ("topics",))
    (new,) = found.keys() - texts.keys()
    assert len(found) == 2
    assert found[new][0] not in texts.values()
    assert set(found[new][1]) < set(topics) == {f"t{known[-1]}" for known in texts}
    assert cli("undo", tenant, ended.json["run"]).code == 0
    assert empty_database.rows(every) == before
    (known, *_, gone) = texts
    again = ("tell", "ann", known, "Rye is sour.", None)
    talk(python, script, url, again, ("delete", gone))
    cli("maintain", tenant, "--json", *scripted).ends(0)
    (found,) = talk(python, script, url, ("memories", "ann"))
    assert "Rye is sour." in {text for text, _ in found.values()}
    assert "The moon is far." not in {text for text, _ in found.values()}


def tell_mem0(peers: Path, url: str, embedder: SentenceEmbedder) -> None:
    vectors = embedder.encode(TWICE).tolist()
    calls: list[tuple[object, ...]] = []
    for (known, text), vector in zip(told_apart(TWICE).items(), vectors, strict=True):
        calls += [("tell", {"user_id": "x"}, known, text, vector), ("pause", 0.2)]
    # One argument of a command may be no longer than 128 kB.
    for some in (calls[:16], calls[16:32], calls[32:]):
        talk(peers / "mem0", "mem0_store.py", url, *some)


def tell_agno(peers: Path, url: str, embedder: SentenceEmbedder) -> None:
    calls: list[tuple[object, ...]] = []
    for known, text in told_apart(TWICE).items():
        calls += [("tell", "x", known, text, None), ("pause", 0.2)]
    talk(peers / "agno", "agno_store.py", url, *calls)


IN_POSTGRES = {
    "mem0": (tell_mem0, "user_id=x", "mem0", "payload ->> 'data'"),
    "agno": (tell_agno, "x", "ai.agno_memories", "memory #>> '{}'"),
}


@pytest.mark.parametrize("name", IN_POSTGRES)
def test_a_package_that_writes_beside_the_nights_in_postgresql_loses_nothing(
    name: str, peers: Path, empty_database: Database, cli: Cli, embedder: SentenceEmbedder
) -> None:
    tell, tenant, table, said = IN_POSTGRES[name]

    def is_there() -> bool:
        there = empty_database.rows("SELECT to_regclass(%s)", table) != [(None,)]
        return there and bool(empty_database.rows(f"SELECT 1 FROM {table}"))

    night = ("maintain", empty_database.of(tenant), "--format", name, "--quiet")
    run_nights_beside(
        lambda: tell(peers, empty_database.url, embedder), cli, *night, is_there=is_there
    )
    texts = [text.rstrip(".") for (text,) in empty_database.rows(f"SELECT {said} FROM {table}")]
    assert sorted(texts) == sorted(THINGS)


def tell_server(peers: Path, path: Path) -> None:
    server = Server(peers, path)
    entity = {"name": "sheds", "entityType": "place", "observations": []}
    server.call("create_entities", entities=[entity])
    for text in TWICE:
        told = {"entityName": "sheds", "contents": [text]}
        server.call("add_observations", observations=[told])


def tell_hermes(peers: Path, path: Path) -> None:
    calls = [item for text in TWICE for item in (("add", "memory", text), ("pause", 0.2))]
    done = Hermes(peers, path.parents[1]).call(*calls)
    assert all(item["success"] for item in done[::2])


def tell_memory_service(peers: Path, path: Path) -> None:
    calls: list[tuple[object, ...]] = []
    for text in TWICE:
        calls += [("store", text), ("pause", 0.2)]
    done = talk(peers / "mcp-memory-service", "memory_service.py", path, *calls)
    assert all(stored for stored, _ in done[::2])


def tell_langgraph(peers: Path, path: Path | str) -> None:
    calls: list[tuple[object, ...]] = []
    for number, text in enumerate(TWICE):
        calls += [("put", "x", str(number), {"content": text}), ("pause", 0.2)]
    talk(peers / "langgraph", "langgraph_store.py", path, *calls)


WRITERS = {
    "mcp-server-memory": ("memory.jsonl", tell_server),
    "hermes": ("memories/MEMORY.md", tell_hermes),
    "mcp-memory-service": ("sqlite_vec.db", tell_memory_service),
    "langgraph": ("store.db", tell_langgraph),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_real_program_loses_nothing(name: str, peers: Path, tmp_path: Path, cli: Cli) -> None:
    file, tell = WRITERS[name]
    path = tmp_path / file
    path.parent.mkdir(exist_ok=True)
    night = ("maintain", path, "--format", name, "--quiet")
    run_nights_beside(
        lambda: tell(peers, path), cli, *night, is_there=lambda: path.exists() and recognised(path)
    )
    with format_named(name).opened(path, writes=False) as opened:
        texts = [record.text.rstrip(".") for record in opened.records]
    assert sorted(texts) == sorted(THINGS)
