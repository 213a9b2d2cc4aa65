"""The real programs read files that slowwave consolidates, and go on writing: make test-formats."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from hashlib import md5, sha256
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from agents_files import SAMPLES, consolidate, nobody_writes, texts_in
from cli_calls import Cli
from databases import Database, database, empty_database, server
from disturbed import run_concurrent_nights
from http_servers import Handler, serving
from nights import of_one_thing, unchanged
from peer_programs import FACTS, SCRIPTS, TWICE, run
from places import FORMATS
from search_tables import check_search_tables

from slowwave.consolidation.vectors.embedder import SentenceEmbedder
from slowwave.extensions.formats.known_formats import recognised

__all__ = ["database", "empty_database", "server"]  # fixtures, asked for by name

Model = tuple[str, ...]
PROFILE = {"name": "Ravi", "likes": ["tea"]}


def test_the_scripts_for_the_real_programs_exist() -> None:
    names = {path.name for path in SCRIPTS.iterdir()}
    assert {"agno_store.py", "hermes.py", "server_memory.mjs"} < names


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


def assert_nothing_to_do(cli: Cli, path: Path) -> None:
    """Run again, which must write nothing."""
    with nobody_writes(path):
        assert cli("maintain", path, "--json").json["proposals"] == []


def test_the_mcp_memory_server_reads_the_result(peers: Path, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "memory.jsonl"
    server = Server(peers, path)
    texts = ["Billing listens on port 8080.", "Billing listens on port 8080", "Café is near"]
    entity = {"name": "wiki", "entityType": "service", "observations": texts}
    server.call("create_entities", entities=[entity, {**entity, "name": "other"}])
    relation = {"from": "wiki", "to": "other", "relationType": "needs"}
    server.call("create_relations", relations=[relation])
    before = path.read_bytes()
    first = consolidate(cli, "mcp-server-memory", path)
    assert server.observations("wiki") == server.observations("other") == texts[1:]
    assert server.graph()["relations"] == [relation]
    assert_nothing_to_do(cli, path)
    again = {"entityName": "wiki", "contents": [texts[0], "It is green"]}
    server.call("add_observations", observations=[again])
    deleted = {"entityName": "other", "observations": ["Café is near"]}
    server.call("delete_observations", deletions=[deleted])
    second = consolidate(cli, "mcp-server-memory", path)
    assert sorted(server.observations("wiki")) == sorted([*texts[1:], "It is green"])
    assert server.observations("other") == [texts[1]]
    for run_id in (second, first):
        assert cli("undo", path, run_id).code == 0
    assert {*texts, "It is green"} <= set(server.observations("wiki"))
    assert before != path.read_bytes()


class Hermes:
    """The memory store of Hermes."""

    def __init__(self, peers: Path, home: Path) -> None:
        self._command, self._home = (peers / "hermes/bin/python", SCRIPTS / "hermes.py"), home

    def call(self, *calls: tuple[object, ...]) -> list[Any]:
        output = run(*self._command, json.dumps(calls), HERMES_HOME=str(self._home))
        return [json.loads(line) for line in output.splitlines()]


def test_hermes_reads_the_result_without_drift(peers: Path, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "memories").mkdir()
    hermes = Hermes(peers, tmp_path)
    path = tmp_path / SAMPLES["hermes"]
    sample = (FORMATS / "hermes" / SAMPLES["hermes"]).read_text()
    texts = sample.split("\n§\n")
    drift_too = (("memory_entries",), ("_detect_external_drift", "memory"))
    hermes.call(*(("add", "memory", text) for text in texts))
    assert path.read_text() == sample
    runs = [consolidate(cli, "hermes", path)]
    entries, drift = hermes.call(*drift_too)
    assert set(entries) < set(texts)
    assert drift is None
    assert_nothing_to_do(cli, path)
    gone = next(text for text in texts if text not in entries)
    done = hermes.call(
        ("add", "memory", "Plays the tuba"),
        ("add", "memory", gone),
        ("replace", "memory", "Deploys happen", "Deploys happen on Wednesdays."),
        ("remove", "memory", "elm"),
    )
    assert [result["success"] for result in done] == [True] * 4
    runs.append(consolidate(cli, "hermes", path))
    (entries,) = hermes.call(("memory_entries",))
    assert gone not in entries
    assert_nothing_to_do(cli, path)
    for run_id in reversed(runs):
        assert cli("undo", path, run_id).code == 0
    entries, drift = hermes.call(*drift_too)
    assert drift is None
    assert {"Plays the tuba", "Deploys happen on Wednesdays.", gone} <= set(entries)
    # Of two equal entries, Hermes itself reads one.
    assert path.read_text().split("\n§\n").count(gone) == 2
    assert not any("elm" in entry for entry in entries)


class Package:
    """A real package, and the file or the database that it stores memories in."""

    def __init__(self, peers: Path, name: str, script: str, *places: Path | str) -> None:
        self._program = (peers / name / "bin" / "python", SCRIPTS / script)
        self._places = places

    def call(self, *calls: tuple[object, ...]) -> list[Any]:
        """Make calls, and return their results."""
        output = run(*self._program, json.dumps(calls), *self._places)
        return [json.loads(line) for line in output.splitlines()]


def langgraph(peers: Path, place: Path | str) -> Package:
    return Package(peers, "langgraph", "langgraph_store.py", place)


@pytest.fixture
def service(peers: Path, tmp_path: Path, embedder: SentenceEmbedder) -> Iterator[Package]:
    """Provide mcp-memory-service with a file, and with the packaged embedding model."""
    with embedding_server(embedder) as url:
        yield memory_service(peers, tmp_path / "sqlite_vec.db", url)


def memory_service(peers: Path, path: Path, url: str) -> Package:
    return Package(peers, "mcp-memory-service", "memory_service.py", path, url)


def test_mcp_memory_service_finds_the_result(service: Package, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "sqlite_vec.db"
    texts = ["Billing listens on port 8080.", "Billing listens on port 8080", "The moon is far"]
    search = ("retrieve", "billing listens on port")
    service.call(*(("store", text) for text in texts))
    first = consolidate(cli, "mcp-memory-service", path)
    (contents, orphans) = service.call(search, ("list_superseded_orphans",))
    assert sorted(contents) in (sorted(texts[1:]), sorted([texts[0], texts[2]]))
    assert orphans == []
    assert_nothing_to_do(cli, path)
    moon, cello = (sha256(text.lower().encode()).hexdigest() for text in (texts[2], "A cello"))
    stored, _, again, edited, deleted = service.call(
        ("store", "Plays the tuba"),
        ("store", "A cello"),
        search,
        ("update_memory_versioned", moon, "The moon is very far away"),
        ("delete", cello),
    )
    assert (stored[0], edited[0], deleted[0], len(again)) == (True, True, True, 4)
    consolidate(cli, "mcp-memory-service", path)
    assert_nothing_to_do(cli, path)
    assert cli("undo", path, first).code == 0
    (contents,) = service.call(search)
    assert sorted(contents) == sorted([*texts[:2], "Plays the tuba", "The moon is very far away"])


@contextmanager
def embedding_server(embedder: SentenceEmbedder) -> Iterator[str]:
    """Provide the address of a model that gives the packaged one's vectors."""

    class Embedding(Handler):
        def do_POST(self) -> None:
            asked = json.loads(self.read_body())
            texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
            vectors = embedder.encode(texts).tolist()
            data = [{"index": index, "embedding": item} for index, item in enumerate(vectors)]
            self.send(json.dumps({"data": data, "model": "words"}))

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Embedding)) as address:
        yield f"{address}/v1/embeddings"


def test_mcp_memory_service_finds_a_new_text_and_goes_on(
    service: Package, tmp_path: Path, cli: Cli, scripted: Model
) -> None:
    path = tmp_path / "sqlite_vec.db"
    texts = [*of_one_thing(), "The moon is far"]
    search = ("retrieve", "who has the database pager at weekends")
    orphans_too = (search, ("list_superseded_orphans",))
    stored = service.call(*(("store", text) for text in texts))
    assert all(done for done, _ in stored)
    run_id = consolidate(cli, "mcp-memory-service", path, *scripted)
    contents, orphans = service.call(*orphans_too)
    assert orphans == []
    assert contents[0] not in texts
    assert len(contents) == 2
    check_search_tables(path)
    again = [("store", texts[0]), ("store", "Plays the tuba"), search, ("purge_deleted", 0)]
    (refused, _), (stored_anew, _), contents, _ = service.call(*again)
    assert (refused, stored_anew, len(contents)) == (False, True, 3)
    consolidate(cli, "mcp-memory-service", path, *scripted)
    assert cli("undo", path, run_id).code == 0
    check_search_tables(path)
    contents, orphans = service.call(*orphans_too)
    assert sorted(contents) == sorted([*texts, "Plays the tuba"])
    assert orphans == []


def test_langgraph_finds_what_stays_and_goes_on(peers: Path, tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "store.db"
    store = langgraph(peers, path)
    texts = {"a": "Billing listens on port 8080.", "b": "Billing listens on port 8080"}
    puts = [("put", user, key, {"content": text}) for user in "xy" for key, text in texts.items()]
    store.call(*puts, ("put", "x", "profile", PROFILE))
    first = consolidate(cli, "langgraph", path)
    values, of_another_user = store.call(("search", "x"), ("search", "y"))
    assert (len(values), len(of_another_user)) == (2, 1)
    assert values["profile"] == PROFILE
    assert_nothing_to_do(cli, path)
    (gone,) = texts.keys() - values.keys()
    # The agent puts it again under the same key, adds a memory, edits one and deletes one.
    new = [("c", "Plays the tuba."), ("d", "The moon is far."), ("c", "Plays the cello.")]
    new = [(gone, "Billing listens on port 9090."), *new]
    puts = [("put", "x", key, {"content": text}) for key, text in new]
    store.call(*puts, ("put", "x", "d", None))
    consolidate(cli, "langgraph", path)
    assert_nothing_to_do(cli, path)
    cli("undo", path, first).ends(1, "cannot be restored", f"now has another '{gone}'")
    (values,) = store.call(("search", "x"))
    assert values[gone] == {"content": "Billing listens on port 9090."}
    assert values["c"] == {"content": "Plays the cello."}
    assert "d" not in values


def new_value(values: dict[str, Any]) -> Any:
    """Return the value that replaced those of `of_one_thing`."""
    (value,) = values.values()
    assert value.keys() == {"content"}
    assert value["content"] not in of_one_thing()
    return value


def test_langgraph_finds_new_texts(peers: Path, tmp_path: Path, cli: Cli, scripted: Model) -> None:
    path = tmp_path / "store.db"
    store = langgraph(peers, path)
    store.call(*puts_of_one_thing())
    run_id = consolidate(cli, "langgraph", path, *scripted)
    (values,) = store.call(("search", "x"))
    new_value(values)
    heron = "A heron nests there."
    store.call(("put", "x", next(iter(values)), {"content": heron}))
    assert cli("undo", path, run_id).code == 1
    (values,) = store.call(("search", "x"))
    assert [value["content"] for value in values.values()] == [heron]


def puts_of_one_thing() -> list[tuple[object, ...]]:
    # The scripted model goes by names: the text that stays of equal ones must have its capital.
    texts = enumerate(text for text in of_one_thing() if text[0].isupper())
    return [("put", "x", str(key), {"content": text}) for key, text in texts]


def test_langgraph_tables_work(peers: Path, database: Database, cli: Cli, scripted: Model) -> None:
    store, tenant = langgraph(peers, database.url), database.url_of("memories.x")
    store.call(*puts_of_one_thing(), ("put", "x", "profile", PROFILE))
    with unchanged(database.store):
        ended = cli("maintain", tenant, "--format", "langgraph", "--json", *scripted).ends(0)
        (values,) = store.call(("search", "x"))
        assert values.pop("profile") == PROFILE
        new_value(values)
        assert cli("undo", tenant, ended.json["run"]).code == 0


def test_langgraph_in_postgresql_loses_nothing(peers: Path, database: Database, cli: Cli) -> None:
    run_concurrent_nights(
        lambda: tell_langgraph(peers, database.url),
        cli,
        *("maintain", database.url_of("memories.x"), "--format", "langgraph", "-q"),
        is_there=lambda: database.rows("SELECT 1 FROM store"),
    )
    texts = [text.rstrip(".") for text in database.texts("memories.x")]
    assert sorted(texts) == sorted(FACTS)


def with_ids(texts: list[str]) -> dict[str, str]:
    """Return texts by ids as the packages give them."""
    return {str(uuid.UUID(int=number)): text for number, text in enumerate(texts)}


def test_mem0_tables_work(
    peers: Path, empty_database: Database, cli: Cli, scripted: Model, embedder: SentenceEmbedder
) -> None:
    mem0 = Package(peers, "mem0", "mem0_store.py", empty_database.url)
    texts = with_ids([*of_one_thing(), "The moon is far."])
    vectors = dict(zip(texts, embedder.encode(list(texts.values())).tolist(), strict=True))
    ann, asked = {"user_id": "ann"}, embedder.encode(["who has the database pager"]).tolist()[0]
    calls = [("tell", ann, key, text, vectors[key]) for key, text in texts.items()]
    (*_, stored) = mem0.call(*calls, ("get_all", ann))
    assert {memory["memory"] for memory in stored} == set(texts.values())
    every = "SELECT id, vector::text, payload::text FROM mem0 ORDER BY 1"
    tenant = empty_database.url_of("user_id=ann")
    with unchanged(empty_database.rows, every):
        ended = cli("maintain", tenant, "--format", "mem0", "--json", *scripted).ends(0)
        memories, searched = mem0.call(("get_all", ann), ("search", "database pager", asked, ann))
        (new,) = [memory for memory in memories if memory["memory"] not in texts.values()]
        assert len(memories) == 2
        assert new["hash"] == md5(new["memory"].encode(), usedforsecurity=False).hexdigest()
        assert searched[0]["memory"] == new["memory"]
        assert searched[0]["user_id"] == "ann"
        assert cli("undo", tenant, ended.json["run"]).code == 0
    # It goes on: a memory is changed, another deleted, and the next run sees both.
    (key, *_, gone) = texts
    mem0.call(("update", key, "Rye is sour.", asked), ("delete", gone))
    cli("maintain", tenant, "--json", *scripted).ends(0)
    (memories,) = mem0.call(("get_all", ann))
    assert "Rye is sour." in {memory["memory"] for memory in memories}
    assert "The moon is far." not in {memory["memory"] for memory in memories}


def test_agno_tables_work(peers: Path, empty_database: Database, cli: Cli, scripted: Model) -> None:
    agno = Package(peers, "agno", "agno_store.py", empty_database.url)
    texts = with_ids([*of_one_thing(), "The moon is far."])
    agno.call(*(("tell", "ann", key, text, [f"t{key[-1]}"]) for key, text in texts.items()))
    every = "SELECT to_jsonb(m)::text FROM ai.agno_memories m ORDER BY 1"
    tenant = empty_database.url_of("ann")
    with unchanged(empty_database.rows, every):
        ended = cli("maintain", tenant, "--format", "agno", "--json", *scripted).ends(0)
        memories, topics = agno.call(("memories", "ann"), ("topics",))
        (new,) = memories.keys() - texts.keys()
        assert len(memories) == 2
        assert memories[new][0] not in texts.values()
        assert set(memories[new][1]) < set(topics) == {f"t{key[-1]}" for key in texts}
        assert cli("undo", tenant, ended.json["run"]).code == 0
    (key, *_, gone) = texts
    agno.call(("tell", "ann", key, "Rye is sour.", None), ("delete", gone))
    cli("maintain", tenant, "--json", *scripted).ends(0)
    (memories,) = agno.call(("memories", "ann"))
    assert "Rye is sour." in {text for text, _ in memories.values()}
    assert "The moon is far." not in {text for text, _ in memories.values()}


def with_pauses(calls: Iterable[tuple[object, ...]]) -> list[tuple[object, ...]]:
    return [call for each in calls for call in (each, ("pause", 0.2))]


def tell_mem0(peers: Path, url: str, embedder: SentenceEmbedder) -> None:
    texts = zip(with_ids(TWICE).items(), embedder.encode(TWICE).tolist(), strict=True)
    calls = with_pauses(
        ("tell", {"user_id": "x"}, key, text, vector) for (key, text), vector in texts
    )
    # An argument of a command has at most 128 kB.
    for part in (calls[:16], calls[16:32], calls[32:]):
        Package(peers, "mem0", "mem0_store.py", url).call(*part)


def tell_agno(peers: Path, url: str, _: object) -> None:
    calls = (("tell", "x", key, text, None) for key, text in with_ids(TWICE).items())
    Package(peers, "agno", "agno_store.py", url).call(*with_pauses(calls))


IN_POSTGRES: dict[str, tuple[Callable[..., object], str, str, str]] = {
    "mem0": (tell_mem0, "user_id=x", "mem0", "payload ->> 'data'"),
    "agno": (tell_agno, "x", "ai.agno_memories", "memory #>> '{}'"),
}


@pytest.mark.parametrize("name", IN_POSTGRES)
def test_a_package_that_writes_to_postgresql_during_runs_loses_nothing(
    name: str, peers: Path, empty_database: Database, cli: Cli, embedder: SentenceEmbedder
) -> None:
    tell, tenant, table, text = IN_POSTGRES[name]

    def is_there() -> bool:
        there = empty_database.rows("SELECT to_regclass(%s)", table) != [(None,)]
        return there and bool(empty_database.rows(f"SELECT 1 FROM {table}"))

    night = ("maintain", empty_database.url_of(tenant), "--format", name, "--quiet")
    run_concurrent_nights(
        lambda: tell(peers, empty_database.url, embedder), cli, *night, is_there=is_there
    )
    texts = [value.rstrip(".") for (value,) in empty_database.rows(f"SELECT {text} FROM {table}")]
    assert sorted(texts) == sorted(FACTS)


def tell_server(peers: Path, path: Path) -> None:
    server = Server(peers, path)
    entity = {"name": "sheds", "entityType": "place", "observations": []}
    server.call("create_entities", entities=[entity])
    for text in TWICE:
        server.call("add_observations", observations=[{"entityName": "sheds", "contents": [text]}])


def tell_hermes(peers: Path, path: Path) -> None:
    calls = with_pauses(("add", "memory", text) for text in TWICE)
    done = Hermes(peers, path.parents[1]).call(*calls)
    assert all(result["success"] for result in done[::2])


def tell_memory_service(peers: Path, path: Path) -> None:
    with embedding_server(SentenceEmbedder()) as url:
        calls = with_pauses(("store", text) for text in TWICE)
        done = memory_service(peers, path, url).call(*calls)
    assert all(stored for stored, _ in done[::2])


def tell_langgraph(peers: Path, place: Path | str) -> None:
    texts = enumerate(TWICE)
    puts = (("put", "x", str(number), {"content": text}) for number, text in texts)
    langgraph(peers, place).call(*with_pauses(puts))


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
    run_concurrent_nights(
        lambda: tell(peers, path), cli, *night, is_there=lambda: path.exists() and recognised(path)
    )
    assert sorted(text.rstrip(".") for text in texts_in(name, path)) == sorted(FACTS)
