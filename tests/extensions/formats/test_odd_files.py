"""Unusual files: undone to the byte, read as their agents read them, or refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from unicodedata import normalize

import pytest
from agents_files import make_file, stored_in, texts_in
from cli_calls import Cli
from disturbed import undo_all
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from model_nights import served
from model_server import Answer, Asked, answering, approval, group, groups
from nights import execute, unchanged

from slowwave.extensions.formats.known_formats import recognised

_TWINS = ("The pantry key hangs on the left hook.", "The pantry key hangs on the left hook")
_TEXTS = (*_TWINS, "Ravi waters the ferns.", "Lena bakes rye bread.", "The attic smells of tar.")
_MARK = "\ufeff"
# Characters that Hermes takes in MEMORY.md.
_HERMES_LIMIT = 2_200


def entity(texts: list[str], spaced: bool, is_reversed: bool) -> str:
    value = {"type": "entity", "name": "Ravi", "entityType": "person", "observations": texts}
    items = reversed(value.items()) if is_reversed else value.items()
    separators = (" , ", " : ") if spaced else (",", ":")
    return json.dumps(dict(items), separators=separators, ensure_ascii=False)


def uneven(texts: list[str], after: list[str]) -> str:
    """Return an entity whose observations have different spaces before them."""
    items = (space + json.dumps(text) for space, text in zip(after, texts, strict=False))
    head = '{"type":"entity","name":"Ravi","entityType":"person","observations":['
    return f"{head}{','.join(items)}]}}\n"


@settings(max_examples=12, suppress_health_check=list(HealthCheck), deadline=None, database=None)
@given(
    texts=st.lists(st.sampled_from(_TEXTS[:3]), min_size=2, max_size=6),
    after=st.lists(st.sampled_from(["", " ", "  "]), min_size=6, max_size=6),
)
@example([_TEXTS[0], _TEXTS[2], _TEXTS[0]], ["", "  ", "", "", "", ""])
@example([_TEXTS[0], _TEXTS[0], _TEXTS[2], _TEXTS[2]], ["", "  ", " ", "", "", ""])
def test_undo_restores_uneven_spaces(cli: Cli, texts: list[str], after: list[str]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.jsonl"
        path.write_text(before := uneven(texts, after))
        cli("maintain", path, "--format", "mcp-server-memory").ends(0)
        undo_all(cli, path)
        assert path.read_text() == before


def server_memory(parts: list[list[str]], ending: str, spaced: bool, is_reversed: bool) -> str:
    return ending.join(entity(part, spaced, is_reversed) for part in parts)


def hermes(parts: list[list[str]], ending: str, spaced: bool, is_reversed: bool) -> str:
    return f"{ending}§{ending}".join(text for part in parts for text in part)


def markdown(parts: list[list[str]], ending: str, spaced: bool, is_reversed: bool) -> str:
    gap, mark = ending if spaced else "", "*" if is_reversed else "-"
    return "".join(
        f"## Shed{ending}{gap}" + "".join(f"{mark} {text}{ending}" for text in part)
        for part in parts
    )


_MAKERS: dict[str, tuple[str, Callable[[list[list[str]], str, bool, bool], str]]] = {
    "mcp-server-memory": ("memory.jsonl", server_memory),
    "hermes": ("MEMORY.md", hermes),
    "markdown": ("MEMORY.md", markdown),
}
_PARTS = st.lists(st.lists(st.sampled_from(_TEXTS), min_size=1, max_size=6), min_size=1, max_size=3)


def test_removing_the_first_observation_leaves_no_space(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "memory.jsonl"
    head = '{"type": "entity", "name": "Ann", "entityType": "person", "observations": ['
    path.write_text(f'{head}"Likes tea.", "likes tea", "Sings."]}}\n')
    assert cli("maintain", path, "--format", "mcp-server-memory").code == 0
    assert path.read_text() == f'{head}"likes tea", "Sings."]}}\n'


@pytest.mark.parametrize("name", _MAKERS)
def test_undo_restores_any_file(name: str, cli: Cli, rounds: Callable[[int, int], int]) -> None:
    file, spell = _MAKERS[name]

    @settings(max_examples=rounds(5, 60), suppress_health_check=list(HealthCheck), database=None)
    @given(
        parts=_PARTS,
        ending=st.sampled_from(["\n", "\r\n"]),
        spaced=st.booleans(),
        is_reversed=st.booleans(),
        has_mark=st.booleans(),
        has_end=st.booleans(),
        is_full=st.booleans(),
    )
    @example([list(_TWINS), list(_TWINS)], "\n", False, False, False, False, False)
    def undone(
        parts: list[list[str]],
        ending: str,
        spaced: bool,
        is_reversed: bool,
        has_mark: bool,
        has_end: bool,
        is_full: bool,
    ) -> None:
        numbers = count()
        if is_full and name == "hermes":
            parts = [*parts, [f"Crate {next(numbers)} holds {'x' * 70}." for _ in range(30)]]
        text = spell(parts, ending, spaced, is_reversed)
        mark = _MARK if has_mark and name != "mcp-server-memory" else ""
        before = f"{mark}{text}{ending if has_end else ''}".encode()
        with TemporaryDirectory() as folder:
            path = Path(folder) / file
            path.write_bytes(before)
            run = cli("maintain", path, "--format", name, "--json").ends(0).json
            texts = texts_in(name, path)
            assert set(texts) <= {text for part in parts for text in part}
            if name == "hermes" and sum(part.count(_TWINS[0]) for part in parts) > 1:
                assert len(texts) < sum(map(len, parts))
            if run["proposals"]:
                assert path.read_bytes() != before
                assert cli("undo", path, run["run"]).code == 0
            assert path.read_bytes() == before

    undone()


@pytest.mark.parametrize(
    "text",
    [
        "B\n§\n§\nA\n§\n§\nA",
        "§\nA\n§\n§\nA\n",
        "A\n§\n§\n§\nA\n§\n§\n§\nB",
        "A\n§\nA\n§\nB\n§",
        "\n\nA\n§\nB\n§\nA\n\n",
    ],
)
def test_undo_restores_a_hermes_file_with_doubled_separators_or_blank_ends(
    text: str, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "MEMORY.md"
    before = text.replace("A", _TWINS[0]).replace("B", _TEXTS[2])
    path.write_text(before)
    cli("maintain", path, "--format", "hermes").ends(0)
    assert path.read_text().count(_TWINS[0]) == 1
    cli("undo", path).ends(0)
    assert path.read_text() == before


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("A\n§\nB\n§\n", "entry 3 is empty"),
        ("A\n§\nBirds \n§\nC", "entry 2 ('Birds') has spaces around it"),
        ("A\n§\n\n§\nB", "entry 2 is empty"),
    ],
)
def test_what_hermes_treats_as_drift_is_refused(
    text: str, why: str, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text(text)
    with unchanged(path.read_text):
        cli("maintain", path, "--format", "hermes").ends(10, why)


def test_undo_may_leave_a_file_above_its_limit_if_it_was_before(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "MEMORY.md"
    before = "\n§\n".join([*_TWINS, *(f"Crate {number} holds {'x' * 70}." for number in range(30))])
    assert len(before) > _HERMES_LIMIT
    path.write_text(before)
    report = cli("maintain", path, "--format", "hermes", "--dry-run").ends(0).out
    # Hermes loads all of it, and adds nothing more.
    assert "characters above the limit" in report
    assert "never loads" not in report
    run = cli("maintain", path, "--format", "hermes", "--json").json["run"]
    shorter = path.read_text()
    path.write_text(f"{shorter}\n§\nIts agent added this, which takes the room.")
    with unchanged(path.read_text):
        for more in ((), ("--dry-run",)):
            cli("undo", path, run, *more).ends(10, "the limit of its agent is 2200")
    assert cli("log", path, run, "--json").json["run"]["outcome"] == "done"
    path.write_text(shorter)
    assert cli("undo", path, run).code == 0
    assert path.read_text() == before


# In seconds: what its agent never writes.
_TIMES = {
    "milliseconds": 1_772_355_600_000,
    "a text": "last spring",
    "the year 58133": 1_772_355_600_000.5,
    "infinite": float("inf"),
    "bytes": b"\xff",
}


@pytest.mark.parametrize("time", _TIMES.values(), ids=_TIMES)
def test_an_invalid_time_is_undated_and_named(time: object, tmp_path: Path, cli: Cli) -> None:
    path = make_file("mcp-memory-service", tmp_path / "agent", _TEXTS)
    execute(path, "UPDATE memories SET created_at = ? WHERE content = ?", time, _TEXTS[2])
    ended = cli("maintain", path, "--format", "mcp-memory-service", "--json").ends(0)
    assert f"undated: '{_TEXTS[2]}'" in ended.err
    assert [each["operation"] for each in ended.json["proposals"]] == ["merge"]
    dates = {
        memory["content"]: memory["observed_at"]
        for memory in cli("list", path, "--json").json["memories"]
    }
    assert dates[_TEXTS[2]] is None
    assert dates[_TEXTS[3]].startswith("2026")


@pytest.mark.parametrize(
    ("name", "damage"),
    {
        "mcp-memory-service": (
            "UPDATE memories SET content = x'00ff', tags = 7 WHERE content LIKE 'Ravi%'",
            "UPDATE memories SET content = CAST(x'41ff' AS text) WHERE content LIKE 'Lena%'",
        ),
        "langgraph": (
            "UPDATE store SET value = replace(hex(zeroblob(9999)), '0', '[') WHERE key = 'm2'",
            "UPDATE store SET key = x'ff' WHERE key = 'm3'",
        ),
    }.items(),
)
def test_an_invalid_row_does_not_end_a_run(
    name: str, damage: tuple[str, ...], tmp_path: Path, cli: Cli
) -> None:
    path = make_file(name, tmp_path / "agent", _TEXTS)
    for statement in damage:
        execute(path, statement)
    ended = cli("maintain", path, "--format", name, "--json").ends(0)
    assert [each["operation"] for each in ended.json["proposals"]] == ["merge"]


def test_a_damaged_memory_jsonl_is_recognized_and_refused(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "memory.jsonl"
    whole = entity(list(_TEXTS), spaced=False, is_reversed=False)
    for content, why in {
        f"{whole}\n{whole[:60]}\n": f"Line 2 of {path} is not JSON.",
        whole[:90]: f"Line 1 of {path} is not JSON.",
        f"{_MARK}{whole}\n": "byte order mark",
        whole.replace("[", "[7,"): f"Line 1 of {path} is an entity whose observation 1 is not text",
        whole.replace("observations", "o"): "an entity without a list of observations",
        whole.replace('"Ravi"', "7"): "an entity without a name",
        f"{whole}\n[]\n": f"Line 2 of {path} is neither an entity nor a relation.",
    }.items():
        path.write_text(content, "utf-8")
        assert [format.name for format in recognised(path)] == ["mcp-server-memory"]
        for more in ((), ("--format", "mcp-server-memory")):
            ended = cli("maintain", path, *more)
            assert (ended.code, why in " ".join(ended.err.split())) == (10, True), ended.err
    assert path.read_text("utf-8") == f"{whole}\n[]\n"


@pytest.mark.parametrize("name", _MAKERS)
def test_of_equal_texts_the_one_without_invisible_marks_stays(
    name: str, tmp_path: Path, cli: Cli
) -> None:
    file, spell = _MAKERS[name]
    path = tmp_path / file
    for number in range(3):
        text = f"Café {number} opens at nine."
        texts = [
            "Rye.",
            f"{_MARK}{text}",
            normalize("NFD", text),
            text,
            f"Ca\u200b{text[2:]}\u200d",
        ]
        path.write_text(spell([texts], "\n", False, False), "utf-8")
        cli("maintain", path, "--format", name).ends(0)
        assert texts_in(name, path) == ["Rye.", text]


_LIST = "The NAS:\n- runs fnOS 1.1.26\n- has the address 100.85.28.37"


def test_of_equal_entries_of_hermes_the_one_with_lines_stays(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "MEMORY.md"
    for entry in (_LIST, _LIST.replace("fnOS", "Linux"), _LIST.replace("NAS", "router")):
        path.write_text("\n§\n".join([" ".join(entry.split()), entry, " ".join(entry.split())]))
        cli("maintain", path, "--format", "hermes").ends(0)
        assert path.read_text() == entry


def test_a_model_may_write_lines_into_hermes(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text(f"{_LIST}\n§\nThe NAS runs fnOS 1.1.26 and has the address 100.85.28.37.\n")

    def joining(asked: Asked) -> Answer:
        return groups(group("merge", asked.memories, _LIST.replace("The NAS:", "The NAS")))

    with unchanged(path.read_text):
        with served(answering(joining, approval)) as options:
            cli("maintain", path, "--format", "hermes", *options).ends(0)
        assert path.read_text() == _LIST.replace("The NAS:", "The NAS") + "\n"
        cli("undo", path).ends(0)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize("file", ["MEMORY.md", "memory.jsonl"])
def test_a_text_that_is_not_utf_8_is_refused(
    file: str, encoding: str, tmp_path: Path, cli: Cli
) -> None:
    path = tmp_path / file
    path.write_text("- The café opens at nine.\n", encoding)
    for more in ((), ("--format", "markdown")):
        cli("maintain", path, *more).ends(10, "is not valid UTF-8.", "Save it as UTF-8.")


def test_a_file_without_memories_has_a_hint_where_they_belong(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "GEMINI.md"
    path.write_text("# Style\n\n- Use tabs.\n")
    command = ("maintain", path, "--format", "markdown", "--dry-run")
    assert "below '## Gemini Added Memories' are memories" in cli(*command).err
    path.write_text(f"{path.read_text()}\n## Gemini Added Memories\n\n- Likes tea.\n")
    assert "Gemini" not in cli(*command).err


@pytest.mark.parametrize("name", ["hermes", "markdown"])
def test_crlf_and_a_byte_order_mark_are_not_part_of_texts(name: str, tmp_path: Path) -> None:
    file, spell = _MAKERS[name]
    path = tmp_path / file
    second = "Lena bakes rye bread.\r\nRavi slices it." if name == "hermes" else _TEXTS[3]
    text = spell([[_TEXTS[2], second, _TEXTS[4]]], "\r\n", False, False)
    path.write_bytes(f"{_MARK}{text}".encode())
    assert [format.name for format in recognised(path)] == [name]
    assert texts_in(name, path) == [_TEXTS[2], second.replace("\r\n", "\n"), _TEXTS[4]]


@pytest.mark.parametrize(
    ("name", "loses"),
    {
        "langgraph": "INSERT ON store BEGIN DELETE FROM store WHERE key = 'm4'; END",
        "mcp-memory-service": "UPDATE OF superseded_by ON memories "
        "BEGIN UPDATE memories SET deleted_at = 1 WHERE content LIKE 'The attic%'; END",
    }.items(),
)
def test_a_deleting_trigger_is_refused(name: str, loses: str, tmp_path: Path, cli: Cli) -> None:
    path = make_file(name, tmp_path / "agent", _TEXTS)
    execute(path, f"CREATE TRIGGER loses AFTER {loses}")
    with unchanged(stored_in, path):
        ended = cli("maintain", path, "--format", name)
        assert ended.code != 0
        assert f"lose 1 of its memories, such as '{_TEXTS[4]}'" in " ".join(ended.err.split())
    execute(path, "DROP TRIGGER loses")
    assert cli("maintain", path, "--format", name).code == 0
    assert len(texts_in(name, path)) == len(_TEXTS) - 1


def test_a_text_that_would_open_a_comment_in_markdown_is_refused(tmp_path: Path, cli: Cli) -> None:
    path = tmp_path / "MEMORY.md"
    path.write_text("# Notes\n\n- The kettle is red.\n- The tray is tin.\n")
    cli("maintain", path, "--format", "markdown").ends(0)
    (memory,) = [
        item["id"] for item in cli("list", path, "--json").json["memories"] if "kettle" in str(item)
    ]
    with unchanged(Path.read_bytes, path):
        for text in ("The kettle is blue <!-- since May", "The kettle <!-- x --> is blue"):
            cli("correct", path, memory, "--text", text).ends(10, "start of a comment")


@pytest.mark.parametrize("name", ["USER.md", "2026-02-20-trip.md"])
def test_fields_of_a_profile_or_session_are_not_memories(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    fields = "- **Name:** Ann\n- **Session Key**: agent:main\n- **Timezone:**\n"
    path.write_text(f"# Session: 2026-02-20\n\n{fields}\n- {_TEXTS[2]}\n")
    assert texts_in("markdown", path) == [_TEXTS[2]]


@pytest.mark.parametrize("format", ["markdown", "hermes", "mcp-server-memory"])
def test_a_folder_is_refused_with_the_files_in_it(format: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "MEMORY.md").write_text("- Likes tea.\n")
    cli("maintain", tmp_path, "--format", format).ends(
        10, f"{tmp_path} is a folder.", f"Specify a file in it: {tmp_path}/MEMORY.md."
    )
