"""Settings: command line, environment, slowwave.toml and defaults."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import readme
from cli_calls import Cli
from commands import environment, setting
from nights import TWINS, age_runs, daily, fill, rows
from readme import KEYS
from typer.core import TyperOption

from slowwave.cli.arguments.settings import DELETING


def tenant_of(path: Path, cli: Cli, *arguments: object) -> str:
    """Add a memory, and return the tenant that it got."""
    memory_id = cli("add", *(arguments or [path]), "text", "--json").json["id"]
    (row,) = rows(path, "SELECT tenant FROM memories WHERE id = ?", memory_id)
    return str(row["tenant"])


def test_settings_have_an_order_of_precedence(
    memory_file: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tenant_of(memory_file, cli) == "default"
    memory_file.with_name("slowwave.toml").write_text('tenant = "from-file"\n')
    assert tenant_of(memory_file, cli) == "from-file"
    monkeypatch.setenv("SLOWWAVE_TENANT", "from-environment")
    assert tenant_of(memory_file, cli) == "from-environment"
    assert tenant_of(memory_file, cli, memory_file, "--tenant", "from-line") == "from-line"


@pytest.mark.parametrize("beside", ['tenant = "beside"\n', "tenant = broken"])
def test_a_specified_config_is_the_only_one_read(
    beside: str, memory_file: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory_file.with_name("slowwave.toml").write_text(beside)
    named = memory_file.with_name("other.toml")
    named.write_text('tenant = "named"\n')
    for arguments in ((memory_file, "--config", named), ("--config", named, memory_file)):
        assert tenant_of(memory_file, cli, *arguments) == "named"
    monkeypatch.setenv("SLOWWAVE_CONFIG", str(named))
    assert tenant_of(memory_file, cli, memory_file) == "named"
    monkeypatch.setenv("SLOWWAVE_FILE", str(memory_file))
    cli("maintain", "--dry-run").ends(0)


def test_settings_of_a_link_are_next_to_the_file_that_it_leads_to(
    memory_file: Path, tmp_path: Path, cli: Cli
) -> None:
    memory_file.with_name("slowwave.toml").write_text('tenant = "target"\n')
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "memory.db"
    link.symlink_to(memory_file)
    link.with_name("slowwave.toml").write_text('tenant = "link"\n')
    assert tenant_of(memory_file, cli, link) == "target"


def test_a_blank_path_is_refused_with_the_name_of_its_option_or_key(
    memory_file: Path, tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for named, command in (
        ("--wiki", ["export", memory_file, "--wiki", ""]),
        ("--wiki", ["maintain", memory_file, "--wiki", " "]),
        ("--embedder", ["maintain", memory_file, "--embedder", ""]),
        ("--receipts", ["fleet", "maintain", ".", "--receipts", ""]),
        ("FILE", ["import", "--empty", ""]),
        ("FILE", ["maintain", memory_file, ""]),
        ("RECEIPTS", ["fleet", "report", ""]),
    ):
        cli(*command).ends(2, f"{named} must not be blank.")
    config = memory_file.with_name("slowwave.toml")
    for key in ("embedder", "wiki", "tenant"):
        config.write_text(f'{key} = ""\n')
        cli("maintain", memory_file).ends(2, f"Error: {config}, {key}: it must not be blank.")
    config.write_text('phase = "sleep"\n')
    cli("maintain", memory_file).ends(2, f"Error: {config}, phase", "expire,")
    config.unlink()
    for name, command in (("TENANT", ["add", memory_file, "x"]), ("FILE", ["maintain"])):
        with environment({f"SLOWWAVE_{name}": " "}):
            cli(*command).ends(2, f"SLOWWAVE_{name} must not be blank.")
    assert list((tmp_path / "here").iterdir()) == []


def test_file_is_a_setting(memory_file: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    monkeypatch.setenv("SLOWWAVE_FILE", str(memory_file))
    ended = cli("maintain", "--dry-run", "--json")
    assert ended.json["file"] == str(memory_file)
    assert len(ended.json["proposals"]) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "tenannt = 'x'",
            "unknown key, tenannt. Did you mean tenant? Correct it, or pass another ",
        ),
        ("colour = 'x'", "an unknown key, colour. See docs/configuration.md."),
        ("[maintain]\nmodel = 'x'", "it has a table, [maintain]: put its keys at the top"),
        ("monthly_budget = 'x'", "monthly_budget: 'x' is not an amount such as 2 USD"),
        ("tenant = ", "not valid TOML"),
        (f"tenant = {'[' * 9_999}", "not valid TOML"),
        ("concurrency = 'many'", "concurrency must be an integer, not 'many'"),
        ("min_new = true", "must be an integer, not true"),
        ('budget = "2 USD/month"', "must be an integer"),  # of recall: monthly_budget is meant
        ("model = 5", "must be a string, not 5"),
        ('dry_run = "yes"', "must be true or false"),
        ("dry_run = true\ndry-run = false", "two spellings"),
    ],
)
def test_an_invalid_config_is_named(text: str, sentence: str, memory_file: Path, cli: Cli) -> None:
    config = memory_file.with_name("slowwave.toml")
    config.write_text(f"{text}\n")
    cli("maintain", memory_file, "--dry-run").ends(2, str(config), sentence)


def test_a_config_may_begin_with_a_byte_order_mark_but_must_be_utf8(
    memory_file: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = memory_file.with_name("slowwave.toml")
    path.write_text('tenant = "Zoë"\n', "utf-8-sig")
    assert tenant_of(memory_file, cli) == "Zoë"
    path.write_text('tenant = "Zoë"\n', "latin-1")
    cli("list", memory_file).ends(2, f"{path}: it is not UTF-8.")
    path.unlink()
    monkeypatch.setenv("SLOWWAVE_CONFIG", "none.toml")
    cli("list", memory_file).ends(2, "SLOWWAVE_CONFIG, none.toml: it cannot be read")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("only", '"foo"'),
        ("max_active", "0"),
        ("max_active", "-5"),
        ("model", '" "'),
        ("min_interval", '"99999999999999h"'),
        ("max_active", "true"),
        ("min_interval", '"12x"'),
    ],
)
def test_a_refused_value_names_its_key(key: str, value: str, memory_file: Path, cli: Cli) -> None:
    path = memory_file.with_name("slowwave.toml")
    path.write_text(f"{key} = {value}\n")
    ended = cli("maintain", memory_file, "--phase", "all").ends(2, str(path), key)
    assert ("env var" in ended.err, "Input should" in ended.err) == (False, False)


def test_an_unreadable_config_is_an_error(memory_file: Path, cli: Cli) -> None:
    folder, path = memory_file.parent, memory_file.with_name("slowwave.toml")
    path.symlink_to("nowhere.toml")
    for options in ((), ("--config", folder), ("--config", folder / "none.toml")):
        cli("maintain", memory_file, *options).ends(2, "cannot be read")


def test_settings_of_a_model_are_ignored_without_one(memory_file: Path, cli: Cli) -> None:
    record = memory_file.with_name("record.jsonl")
    memory_file.with_name("slowwave.toml").write_text(f"checker = 'none'\nrecord = '{record}'\n")
    assert (cli("maintain", memory_file).code, record.exists()) == (0, False)
    memory_file.with_name("slowwave.toml").write_text("ask = true\n")
    cli("maintain", memory_file, "--dry-run", "--quiet").ends(2, "ask requires --model")
    assert cli("maintain", memory_file).code == 0


@pytest.mark.parametrize("gate", ["enabled = false", "min_new = 5"])
def test_a_closed_gate_reports_the_keys_of_a_run(gate: str, memory_file: Path, cli: Cli) -> None:
    keys = cli("maintain", memory_file, "--json").json.keys()
    memory_file.with_name("slowwave.toml").write_text(f"{gate}\n")
    closed = cli("maintain", memory_file, "--json").json
    assert (closed.keys(), closed["proposals"], closed["before"]) == (keys, [], None)
    assert gate.startswith(closed["gate"]["name"])


def test_the_kill_switch_applies_to_fleets(memory_file: Path, cli: Cli) -> None:
    memory_file.with_name("slowwave.toml").write_text("enabled = false\n")
    ended = cli("fleet", "maintain", memory_file.parent, "--json")
    assert (ended.code, ended.json["gate"]["name"]) == (0, "enabled")
    assert sorted(path.name for path in memory_file.parent.glob(".slowwave*")) == []


def options() -> dict[str, TyperOption]:
    """Return all options by name; of two with the same name, one that has a setting."""
    listed = [
        parameter
        for command in readme.every_command().values()
        for parameter in command.params
        if isinstance(parameter, TyperOption) and parameter.name not in ("help", "config")
    ]
    listed.sort(key=lambda option: option.allow_from_autoenv)
    return {option.name: option for option in listed}


def test_slowwave_toml_has_a_key_for_each_lasting_option() -> None:
    single = {name for name, option in options().items() if not option.allow_from_autoenv}
    assert options().keys() - single == KEYS - DELETING
    assert {"reason", "plan_out", "html", "http"} <= single
    assert single >= DELETING


@pytest.mark.parametrize("name", sorted(DELETING))
def test_no_environment_variable_deletes(
    name: str, memory_file: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(memory_file, daily(TWINS, "twin"))
    cli("maintain", memory_file)
    age_runs(memory_file)
    monkeypatch.setenv(f"SLOWWAVE_{name.upper()}", "purge" if name == "phase" else "1")
    assert cli("maintain", memory_file, "--json").json["purged"] == []


def test_the_example_of_the_configuration_page_is_valid(memory_file: Path, cli: Cli) -> None:
    page = readme.CONFIGURATION.read_text("utf-8")
    example = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert example is not None
    memory_file.with_name("slowwave.toml").write_text(example[1].replace("enabled = true", ""))
    ended = cli("maintain", memory_file, "--phase", "all", setting("min_new", 1), "--json")
    assert (ended.code, ended.json["gate"]["name"]) == (0, "min_new")


def test_an_unknown_variable_is_only_reported(
    memory_file: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MIN_NWE", "PHASE", "MAX_FACTS", "FILE"):
        monkeypatch.setenv(f"SLOWWAVE_{name}", "1")
    ended = cli("maintain", memory_file)
    assert (ended.code, ended.err.splitlines()) == (
        0,
        [
            "SLOWWAVE_MIN_NWE has no effect: it is not a setting. Did you mean SLOWWAVE_MIN_NEW?",
            "SLOWWAVE_PHASE has no effect: it is not a setting.",
        ],
    )


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("SLOWWAVE_MAX_COST", "abc", "Error: SLOWWAVE_MAX_COST must be a number, not 'abc'"),
        ("SLOWWAVE_MAX_COST", "", "SLOWWAVE_MAX_COST is empty: set the limit, or unset it."),
        ("SLOWWAVE_MONTHLY_BUDGET", "", "SLOWWAVE_MONTHLY_BUDGET is empty"),
        ("SLOWWAVE_MONTHLY_BUDGTE", "1 USD", "Did you mean SLOWWAVE_MONTHLY_BUDGET?"),
        ("SLOWWAVE_MAX_COTS", "1", "SLOWWAVE_MAX_COTS is not a setting. Did you mean SLOWWAVE_MAX"),
    ],
)
def test_an_invalid_variable_is_refused_by_its_name(
    memory_file: Path,
    cli: Cli,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
    sentence: str,
) -> None:
    monkeypatch.setenv(variable, value)
    cli("maintain", memory_file, "--quiet").ends(2, sentence)
    if variable == "SLOWWAVE_MAX_COST":
        assert cli("maintain", memory_file, "--quiet", "--max-cost", 1).code == 0


def test_a_printed_command_works_for_a_name_with_a_dash(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli("import", "./-we.db", "--empty").code == 0
    for _ in range(2):
        cli("add", "./-we.db", "The staging server listens on port 8080.")
    command = cli("maintain", "./-we.db").out.splitlines()[-1].partition("slowwave ")[2]
    assert cli(*shlex.split(command), "--yes").code == 0
