"""`correct` and `conflicts resolve`, and their undo."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_calls import Cli
from model_nights import a_fact, served
from model_server import oracle
from nights import TWINS, daily, execute, fill, picture, rows, states, unchanged
from reliability.histories import GIVEN_BACK

PORTS = [f"The database listens on port {port}." for port in (5432, 5433)]
RIGHT = "The database listens on port 5434."


@pytest.fixture
def ports(memory_file: Path) -> Path:
    """Provide two memories that contradict each other, and a pinned one."""
    fill(memory_file, [*daily(PORTS, "m"), *daily(["Tea, please."], "tea", pinned=True)])
    return memory_file


@pytest.mark.parametrize(
    ("options", "gone"),
    [
        (["m-00", "--text", RIGHT], {"m-00"}),
        (["m-00", "--text", RIGHT, "--supersedes", "m-01"], {"m-00", "m-01"}),
        (["tea-00", "--text", "Coffee, please."], {"tea-00"}),
        (["m-00", "--retract"], {"m-00"}),
        (["m-00", "--pin"], set()),
        (["tea-00", "--unpin"], set()),
    ],
)
def test_undo_reverts_correct(options: list[str], gone: set[str], ports: Path, cli: Cli) -> None:
    before = picture(ports, GIVEN_BACK)
    dry = cli("correct", ports, *options, "--dry-run", "--json").json
    assert picture(ports, GIVEN_BACK) == before
    done = cli("correct", ports, *options, "--json").json
    assert (dry["dry_run"], done["dry_run"], dry["left"]) == (True, False, done["left"])
    assert {each["id"] for each in done["left"]} == gone
    assert "active" not in {states(ports)[memory] for memory in gone}
    if "--text" in options:
        (new,) = rows(ports, "SELECT * FROM memories WHERE id = ?", done["memory"]["id"])
        assert (new["origin"], new["trust"], new["content"]) == ("human", 1.0, options[2])
        assert new["pinned"] == ("tea-00" in gone)
        rivals = {"m-00", "m-01"} - gone if "tea-00" not in gone else set()
        assert {each["id"] for each in done["similar"]} == rivals
    cli("log", ports, done["run"]).says("a person")
    ended = cli("undo", ports, done["run"])
    assert (ended.code, "proposed again" in ended.err) == (0, False)
    assert picture(ports, GIVEN_BACK) == before
    assert cli("check", ports).code == 0


def test_a_correction_names_what_its_text_contradicts(ports: Path, cli: Cli) -> None:
    dry = cli("correct", ports, "m-00", "--text", RIGHT, "--dry-run", "--json").json
    (similar,) = dry["similar"]
    assert (similar["id"], similar["relation"]) == ("m-01", "contradiction")
    assert f"Contradicts m-01  {PORTS[1]}" in cli("correct", ports, "m-00", "--text", RIGHT).out


def test_the_text_of_a_damaged_memory_can_be_accepted(ports: Path, cli: Cli) -> None:
    execute(ports, "UPDATE memories SET content_hash = 'x' WHERE id = 'm-00'")
    before = picture(ports, ["memories"])
    cli("maintain", ports, "--quiet").ends(0, "damaged: m-00", "slowwave check")
    cli("check", ports).ends(10).says("wrong hash")
    done = cli("correct", ports, "m-00", "--text", PORTS[0], "--json").ends(0).json
    assert cli("check", ports).code == 0
    assert states(ports)["m-00"] == "active"
    assert cli("maintain", ports, "--quiet").ends(0).err == ""
    assert cli("undo", ports, done["run"]).code == 0
    assert picture(ports, ["memories"]) == before


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["m-00"], 2, "exactly one of"),
        (["m-00", "--text", RIGHT, "--pin"], 2, "exactly one of"),
        (["m-00", "--pin", "--unpin"], 2, "exactly one of"),
        (["m-00", "--retract", "--supersedes", "m-01"], 2, "--supersedes requires --text"),
        (["m-00", "--text", " "], 2, "--text must not be blank"),
        (["m-00", "--text", PORTS[0]], 1, "already has this text"),
        (["nobody", "--retract"], 1, "There is no memory 'nobody'"),
        (["tea-00", "--pin"], 1, "pinned already"),
    ],
)
def test_an_invalid_correction_changes_nothing(
    options: list[str], code: int, message: str, ports: Path, cli: Cli
) -> None:
    with unchanged(ports.read_bytes):
        cli("correct", ports, *options).ends(code, message)


def test_a_conflict_is_resolved_for_either_memory_or_both(ports: Path, cli: Cli) -> None:
    (conflict,) = cli("conflicts", ports, "--json").json["conflicts"]
    listed = cli("conflicts", ports)
    assert f"  {conflict['id']}\n" in listed.out
    assert "conflicts resolve" in listed.err
    before = picture(ports, GIVEN_BACK)
    for options, superseded in (
        (["--keep", "m-00"], ["m-01"]),
        (["--keep", "m-01"], ["m-00"]),
        (["--both"], []),
    ):
        done = cli("conflicts", "resolve", ports, conflict["id"][:6], *options, "--json").json
        assert [each["id"] for each in done["left"]] == superseded
        assert cli("conflicts", ports, "--json").json["conflicts"] == []
        assert cli("maintain", ports, "--dry-run", "--json").json["conflicts"] == []
        assert cli("undo", ports).code == 0
        assert picture(ports, GIVEN_BACK) == before
    assert cli("conflicts", ports, "--json").json["conflicts"] == [conflict]
    for options in (["0000", "--both"], [conflict["id"], "--keep", "tea-00"]):
        assert cli("conflicts", "resolve", ports, *options).code == 1
    for options in ([conflict["id"]], [conflict["id"], "--both", "--keep", "m-00"]):
        assert cli("conflicts", "resolve", ports, *options).code == 2
    cli("conflicts", ports, "resolve", conflict["id"], "--both").ends(0, "conflicts resolve FILE")


def test_add_names_duplicates_and_contradictions(ports: Path, cli: Cli) -> None:
    added = cli("add", ports, RIGHT)
    assert (added.code, len(added.out.splitlines())) == (0, 1)
    assert added.err.count("Contradicts ") == 2
    again = cli("add", ports, PORTS[0].upper(), "--json").json
    assert again["id"] in states(ports)
    assert cli("add", ports, "Whales sing at night.", "--json").json["similar"] == []


def test_undo_states_that_its_proposals_are_remembered(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, a_fact())
    with served(oracle) as options:
        assert cli("maintain", memory_file, *options).code == 0
        assert "not be proposed again, unless" in cli("undo", memory_file).err
        again = cli("maintain", memory_file, *options, "--json").json["proposals"]
        second = ("--model", "openai/another")
        (proposal,) = cli("maintain", memory_file, *second, "--json").json["proposals"]
    assert (again, proposal["state"]) == ([], "applied")
    assert cli("undo", memory_file).code == 0
    fill(memory_file, daily(TWINS, "twin"))
    cli("maintain", memory_file)
    assert "not be proposed again, unless" in cli("undo", memory_file).err
    assert cli("maintain", memory_file, "--json").json["proposals"] == []
