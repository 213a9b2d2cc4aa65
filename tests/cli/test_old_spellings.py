"""Deprecated commands and options work and name their replacement."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copyfile, copytree
from typing import Any

import pytest
from cli_calls import Cli
from commands import setting
from nights import TWINS, daily, fill, picture, rows, unchanged
from places import FIXTURES
from readme import every_command

from slowwave.cli.app import run
from slowwave.cli.arguments.old_spellings import old_commands

# An old command, the current one, and what the hint says; names in braces are ids of the file.
COMMANDS = [
    ("trace FILE {memory}", "show FILE {memory} --lineage", "slowwave show --lineage"),
    ("trace FILE {memory} --json", "show FILE {memory} --lineage --json", "show --lineage"),
    ("show FILE {memory} --tree", "show FILE {memory} --lineage", "of --tree, pass --lineage"),
    ("diff FILE {run}", "log FILE {run} --diff", "slowwave log --diff"),
    ("diff FILE {run} --json", "log FILE {run} --diff --json", "slowwave log --diff"),
    ("report FILE --md -", "log FILE --md -", "slowwave log"),
    ("stats FILE", "log FILE --stats", "slowwave log --stats"),
    ("stats FILE --tenant default --json", "log FILE --stats --json", "slowwave log --stats"),
    ("archive search FILE rent", "recall FILE rent --archived", "slowwave recall --archived"),
    ("restore FILE {gone}", "undo FILE {gone}", "slowwave undo"),
    ("restore FILE {gone} --json", "undo FILE {gone} --json", "slowwave undo"),
    ("archive restore FILE {gone}", "undo FILE {gone}", "slowwave undo"),
    ("init NEW", "import NEW --empty", "slowwave import --empty"),
    ("apply FILE {plan}", "review apply FILE {plan}", "slowwave review apply"),
    ("review WAITING show {waiting}", "review show WAITING {waiting}", "review show FILE"),
    ("review WAITING approve --all", "review approve WAITING --all", "review approve FILE"),
    ("review WAITING --json decline --all", "review decline WAITING --all --json", "decline FILE"),
    ("review WAITING edit {waiting} --text list", "review edit WAITING {waiting} --text list",
     "review edit FILE"),
]  # fmt: skip
PHASES = [
    ("--all", "--phase all", "--phase all"),
    ("--expire", "--phase expire", "--phase expire"),
    ("--decay", "--phase decay", "--phase decay"),
    ("--purge", "--phase purge", "--phase purge"),
    ("--expire --purge", "--phase expire,purge", "--phase purge"),
]
# Options that are settings now, each with a value.
SETTINGS = {
    "api_base": "http://127.0.0.1:9/v1", "checker": "none", "concurrency": 2, "max_calls": 3,
    "max_tokens": 3, "max_time": 3, "min_interval": "1h", "min_new": 1, "retain": "keep=30d",
    "keep_backups": 3, "log_format": "text",
    "metrics_file": "METRICS", "report": "PAGE", "wiki": "WIKI", "record": "RECORD",
    "replay": "REPLAY", "monthly_budget": "2 USD",
}  # fmt: skip


@pytest.fixture(scope="module")
def after_a_night(tmp_path_factory: pytest.TempPathFactory, empty_file: Path) -> Path:
    """Provide a folder with a file after a night, one with a proposal that waits, and a plan."""
    folder = tmp_path_factory.mktemp("night")
    file, waiting, plan = (folder / name for name in ("memory.db", "waiting.db", "plan.json"))
    copyfile(empty_file, file)
    fill(file, daily(TWINS, "twin"))
    copyfile(file, waiting)
    for command in (
        ["maintain", waiting, "--review", "always"],
        ["maintain", file, "--dry-run", "--plan-out", plan],
        ["maintain", file],
    ):
        assert run([*map(str, command), "--quiet"]) == 0
    return folder


@pytest.fixture
def places(after_a_night: Path, tmp_path: Path) -> dict[str, str]:
    """Provide copies of these files, and ids of both."""
    folder = copytree(after_a_night, tmp_path / "copy")
    file, waiting = folder / "memory.db", folder / "waiting.db"
    (run_,) = rows(file, "SELECT id FROM runs")
    (survivor,) = rows(file, "SELECT id FROM memories WHERE status = 'active'")
    (gone,) = rows(file, "SELECT id FROM memories WHERE status = 'superseded'")
    (proposal,) = rows(waiting, "SELECT key FROM proposals")
    return {
        "FILE": str(file),
        "WAITING": str(waiting),
        "NEW": str(folder / "new.db"),
        "{run}": run_["id"],
        "{memory}": survivor["id"],
        "{gone}": gone["id"],
        "{waiting}": proposal["key"],
        "{plan}": str(folder / "plan.json"),
    }


def words(line: str, places: dict[str, str]) -> list[str]:
    return [places.get(word, word) for word in line.split()]


def outcome(out: str) -> Any:
    """Return what was written, without what differs from run to run."""
    return json.loads(out) | {"run": ""} if out.startswith("{") else out


@pytest.mark.parametrize(("old", "new", "named"), COMMANDS)
def test_old_names_work(old: str, new: str, named: str, places: dict[str, str], cli: Cli) -> None:
    before = {path: Path(path).read_bytes() for path in (places["FILE"], places["WAITING"])}
    ended = cli(*words(old, places))
    hint, *rest_ = ended.err.splitlines()
    for path, content in before.items():
        Path(path).write_bytes(content)
        for rest in (f"{path}-wal", f"{path}-shm"):
            Path(rest).unlink(missing_ok=True)
    Path(places["NEW"]).unlink(missing_ok=True)
    current = cli(*words(new, places))
    assert hint.startswith("Deprecated: ")
    assert named in hint
    assert (ended.code, rest_) == (current.code, current.err.splitlines())
    if "run" not in ended.out:  # a new run has an id of its own
        assert outcome(ended.out) == outcome(current.out)


@pytest.mark.parametrize(("old", "new", "named"), PHASES)
def test_old_phases_work(old: str, new: str, named: str, places: dict[str, str], cli: Cli) -> None:
    ended = cli("maintain", places["FILE"], *old.split(), "--dry-run", "--json")
    current = cli("maintain", places["FILE"], *new.split(), "--dry-run", "--json")
    assert len(ended.err.splitlines()) == len(old.split())
    assert f"pass {named}." in ended.err
    assert (ended.code, ended.json, current.err) == (0, current.json, "")


def test_the_old_limit_is_the_phase_limit(places: dict[str, str], cli: Cli) -> None:
    run = ("maintain", places["FILE"], "--dry-run", "--json")
    ended = cli(*run, "--limit", 1)
    assert ended.json == cli(*run, "--phase", "limit", setting("max_active", 1)).json
    assert "instead of --limit, pass --phase limit" in ended.err


@pytest.mark.parametrize("name", SETTINGS)
def test_old_options_work(name: str, places: dict[str, str], cli: Cli, tmp_path: Path) -> None:
    files = {"METRICS": "m.prom", "PAGE": "page.md", "WIKI": "wiki", "RECORD": "r.jsonl"}
    value = str(SETTINGS[name])
    if value == "REPLAY":
        value = str(FIXTURES / "retold.answers.jsonl")
    value = str(tmp_path / files[value]) if value in files else value
    option = f"--{name.replace('_', '-')}"
    # The gate ends the run once the options are read.
    ended = cli("maintain", places["FILE"], option, value, setting("enabled", "false"))
    (hint,) = ended.err.splitlines()
    assert ended.code == 0
    assert hint.startswith(f"Deprecated: instead of {option}, ")
    assert name in hint or "slowwave log" in hint


def test_maintain_consolidates_by_default(memory_file: Path, cli: Cli) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    plans = [cli("maintain", memory_file, *flag, "--dry-run", "--json")
             for flag in ((), ("--consolidate",), ("--phase", "consolidate"))]  # fmt: skip
    assert [ended.err for ended in plans] == ["", "", ""]
    assert plans[0].json["proposals"]
    assert plans[0].json == plans[1].json == plans[2].json


def test_a_quiet_command_gives_no_hint(places: dict[str, str], cli: Cli) -> None:
    assert cli("trace", places["FILE"], places["{memory}"], "--quiet").err == ""


def test_only_help_all_shows_deprecated_names(cli: Cli) -> None:
    first, everything = (" ".join(cli(way).out.split()) for way in ("--help", "--help-all"))
    assert "stats" not in first
    assert " ".join(old_commands().split()) in everything
    shown, whole = (cli("maintain", way).out for way in ("--help", "--help-all"))
    for option in ("--purge", "--api-base", "--min-new", "SLOWWAVE_MODEL"):
        assert (option in shown, option in whole) == (False, True)
    marked = "".join(whole.replace("│", "").split())
    assert "Deprecatedasanoption:setmax_timeinslowwave.toml" in marked


def test_only_maintain_shows_the_options_of_formats(cli: Cli) -> None:
    for command, is_shown in (("maintain", True), ("log", False), ("review apply", False)):
        for option in ("--format", "--state"):
            shown, whole = (cli(*command.split(), way).out for way in ("--help", "--help-all"))
            assert (option in shown, option in whole) == (is_shown, True)


def test_old_keys_of_phases_in_a_config_still_work(places: dict[str, str], cli: Cli) -> None:
    config = Path(places["FILE"]).with_name("slowwave.toml")
    with unchanged(picture, Path(places["FILE"])):
        plans = []
        for text in ("expire = true\npurge = true\n", "phase = ['expire', 'purge']\n"):
            config.write_text(text)
            plans.append(cli("maintain", places["FILE"], "--dry-run", "--json").json)
        assert plans[0] == plans[1]
        assert plans[0]["expire"] is not None


def test_every_hidden_option_is_tested() -> None:
    hidden = {option.name for option in every_command()["maintain"].params if option.hidden}
    tried = {*SETTINGS, "all_phases", "expire", "decay", "purge", "max_active", "consolidate"}
    assert hidden == tried | {"enabled", "target"}
