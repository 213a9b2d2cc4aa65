"""The counts of overturned facts, on small cases."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.quality import updates_public
from benchmarks.quality.known_answers import Edge, Gold, Life, Pair, Stored
from benchmarks.quality.updates_public import Fate, Store, fates_of, read_stores

FACTS = ("Ana works in Rome.", "Ana has a cat.")
STORE = Store(id="s", facts=FACTS, newer="Ana works in Oslo.", overturned=(0,))
_ECHO = "The umbrella that Ana bought in Rome is grey."
ECHO = STORE.model_copy(update={"echo": _ECHO, "values": ("Rome", "Oslo")})


def fates(
    store: Store, new: dict[str, tuple[str, str, str]], conflicts: tuple[Pair, ...] = ()
) -> dict[str, Fate]:
    """Return what became of a store's memories.

    new: by id the operation, the sources and the text of a memory that took their place.
    """
    lines = map(json.loads, store.lines())
    before = [Stored(each["id"], "s", each["content"], each["observed_at"]) for each in lines]
    rows = {memory.id: memory for memory in before}
    edges = []
    for into, (operation, sources, text) in new.items():
        for source in (f"s/{name}" for name in sources.split()):
            edges.append(Edge(into, source, operation))
            if source != into:
                rows[source] = replace(rows[source], active=False, superseded_by=into)
        if into not in rows:
            rows[into] = Stored(into, "s", text, "2026-03-09", derived=True)
    life = Life(before, list(rows.values()), edges, conflicts, Gold())
    return {fate.memory: fate for fate in fates_of([store], life)}


def verdicts(store: Store, new: dict[str, tuple[str, str, str]]) -> list[str]:
    return [fate.verdict for fate in fates(store, new).values()]


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ({}, ["left", "kept", "kept"]),
        ({"U": ("update", "0 newer", "Ana works in Oslo.")}, ["overturned", "kept", "kept"]),
        # A plain merge says both, unless it repeats the newer one word for word.
        ({"M": ("merge", "0 newer", "Ana works in Rome, Oslo.")}, ["left", "kept", "kept"]),
        ({"s/newer": ("merge", "0", "")}, ["overturned", "kept", "kept"]),
        # An update of something else overturns nothing.
        ({"U": ("update", "0 1", "Ana works in Rome, has a cat.")}, ["left", "kept", "kept"]),
        ({"U": ("update", "0 1 newer", "Ana works in Oslo.")}, ["overturned", "lost", "kept"]),
        ({"U": ("update", "0 newer", "Ana has moved.")}, ["overturned", "kept", "lost"]),
    ],
)
def test_old_values_must_go(new: dict[str, tuple[str, str, str]], expected: list[str]) -> None:
    assert verdicts(STORE, new) == expected


def test_an_overturned_fact_listed_as_a_conflict_is_left() -> None:
    result = fates(STORE, {}, conflicts=(("s/newer", "s/0"), ("s/0", "s/1")))
    assert (result["s/0"].verdict, result["s/0"].is_listed) == ("left", True)
    assert not result["s/1"].is_listed


@pytest.mark.parametrize(
    ("new", "verdict"),
    [
        ({}, "came back"),  # the old value was never overturned
        ({"U": ("update", "0 newer", "Ana works in Oslo.")}, "holds"),
        ({"U": ("update", "0 newer", "Ana works in Oslo, before in Rome.")}, "holds"),
        ({"U": ("update", "0 newer echo", "Ana works in Rome, grey umbrella.")}, "came back"),
        (
            {
                "U": ("update", "0 newer", "Ana works in Oslo."),
                "V": ("synthesize", "1 echo", "Ana, in Rome, has a cat and a grey umbrella."),
            },
            "came back",
        ),
    ],
)
def test_an_echo_hides_no_new_value(new: dict[str, tuple[str, str, str]], verdict: str) -> None:
    assert fates(ECHO, new)["s/echo"].verdict == verdict


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({"overturned": [2]}, "a fact that does not exist"),
        ({"overturned": [-1]}, "a fact that does not exist"),
        ({"echo": "In Rome."}, "require each other"),
        ({"facts": "Ana"}, "facts: "),
        ({"overtuned": []}, "overtuned: "),
    ],
)
def test_an_invalid_line_is_named(tmp_path: Path, wrong: dict[str, object], why: str) -> None:
    path = tmp_path / "stores.jsonl"
    right = STORE.model_dump(exclude_none=True)
    path.write_text(f"{json.dumps(right)}\n\n{json.dumps(right | wrong)}\n", "utf-8")
    with pytest.raises(ValueError, match=f"line 3: .*{why}"):
        read_stores(path)


def test_absent_data_is_named() -> None:
    with pytest.raises(SystemExit, match=r"absent: nowhere\.jsonl"):
        updates_public.main(["nowhere.jsonl"])


def test_a_recorded_night_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stores = tmp_path / "stores.jsonl"
    stores.write_text(f"{ECHO.model_dump_json()}\n", "utf-8")
    recording = tmp_path / "recording.jsonl"
    recording.touch()

    def shown() -> dict[str, str]:
        updates_public.main([str(stores), "--replay", str(recording), "--checker", "none"])
        lines = capsys.readouterr().out.splitlines()
        return {line[:33].strip(): line[33:].strip() for line in lines if "not over" not in line}

    assert shown()["windows asked, unanswered"] == "1, 1"
    prompt = json.loads((tmp_path / "recording.jsonl.missing").read_text("utf-8"))
    group = {"operation": "update", "ids": ["m1", "m3"], "text": STORE.newer, "left_out": []}
    answer = json.dumps({"groups": [group], "conflicts": []})
    recording.write_text(json.dumps(prompt | {"answer": answer}), "utf-8")
    measured = shown()
    assert measured["windows asked, unanswered"] == "1, 0"
    assert measured["overturned facts superseded"] == "1 of 1 (100.0%)"
    assert measured["other facts kept"] == "2 of 2 (100.0%)"
    assert measured["only the new value after an echo"] == "1 of 1 (100.0%)"
