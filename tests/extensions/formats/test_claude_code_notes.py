"""Notes of several lines in a memory folder of Claude Code: merged with their form, or kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agents_files import bytes_of, content
from cli_calls import Cli
from disturbed import assert_kills_leave_all_or_nothing
from hypothesis import given
from hypothesis import strategies as st
from model_nights import served
from model_server import Answer, Asked, answering, approval, group, groups
from nights import unchanged
from texts import sources

from slowwave.consolidation.model import prompts
from slowwave.consolidation.text.tokens import count_tokens
from slowwave.extensions.formats.claude_code_files import parsed
from slowwave.extensions.formats.find import project_of

NOTES = {
    "database-tests": """Integration tests of orders-api need a real Postgres.

**Why:** mocks were green while `0042_add_currency` failed.
**How to apply:** run `make db-up` first, see [[pipeline]].""",
    "no-mocks": """No mocks in the integration tests of orders-api: use a real Postgres.

**Why:** mocks were green while `0042_add_currency` failed.

```sh
make db-up && pytest -m integration
```""",
    "pipeline": """# Pipeline

CI of orders-api runs these stages:

- lint
- unit
- integration""",
    "ports": "## Staging\n\n- Postgres listens on port 5432.\n\n## Production\n\n- Port 5433.",
    "port-again": "## Production\n\n- Postgres listens on port 5432.",
    "frozen": "Deploys of orders-api are frozen until 12 February 2026.\n\n**Why:** the audit.",
    "frozen-too": "Deploys of orders-api are frozen until 12 February 2026.\n**Why:** the audit.",
}
# What a faithful model makes of the first two.
JOINED = """Integration tests of orders-api need a real Postgres, no mocks.

**Why:** mocks were green while `0042_add_currency` failed.
**How to apply:** run `make db-up` first, see [[pipeline]].

```sh
make db-up && pytest -m integration
```"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Provide a folder with notes, as Claude Code writes them."""
    path = tmp_path / "project" / "memory"
    path.mkdir(parents=True)
    for day, (name, body) in enumerate(NOTES.items(), start=1):
        (path / f"{name}.md").write_text(
            f'---\nname: {name}\ndescription: "About {name}"\nmetadata: \n  node_type: memory\n'
            f"  type: project\n  modified: 2026-02-{day:02d}T09:00:00.000Z\n---\n\n{body}\n"
        )
    listed = "\n".join(f"- [The {name}]({name}.md) — About {name}" for name in NOTES)
    (path / "MEMORY.md").write_text(f"# Index\n\n{listed}")
    return path


def joining(text: str) -> Callable[[Asked], Answer]:
    """Return a model that writes a text for the two notes about tests."""

    def write(asked: Asked) -> Answer:
        about = [memory for memory in asked.memories if "integration tests" in memory.text.lower()]
        return groups(*([group("merge", about, text)] if len(about) == 2 else []))

    return write


def maintained(cli: Cli, folder: Path, text: str) -> dict[str, Any]:
    """Maintain a folder with a model that writes a text, and return the report."""
    with served(answering(joining(text), approval)) as options:
        ended = cli("maintain", folder, "--format", "claude-code", "--json", *options)
    assert ended.code in (0, 3), ended.err  # 3: a text was rejected
    return dict(ended.json)


def test_two_notes_become_a_file_with_front_matter_and_a_line(folder: Path, cli: Cli) -> None:
    before = content(folder)
    report = maintained(cli, folder, JOINED)
    assert not (folder / "database-tests.md").exists()
    assert (folder / "no-mocks.md").read_text() == (
        "---\nname: no-mocks\n"
        'description: "About no-mocks"\n'
        "metadata: \n  node_type: memory\n  type: project\n"
        f"  modified: 2026-02-02T09:00:00.000Z\n  slowwave: true\n---\n\n{JOINED}\n"
    )
    index = (folder / "MEMORY.md").read_text()
    assert "- [The no-mocks](no-mocks.md) — About no-mocks\n" in index
    assert "- [The database-tests](no-mocks.md) — About database-tests\n" in index
    with served(answering(joining(JOINED), approval)) as options:
        assert cli("maintain", folder, "--json", *options).json["proposals"] == []
    assert cli("undo", folder, report["run"]).code == 0
    assert content(folder) == before


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (JOINED.replace(", see [[pipeline]]", ""), 'lacks "[[pipeline]]" (link)'),
        (JOINED.partition("\n\n```")[0], 'pytest -m integration ```" (fence)'),
        (f"# Testing\n\n{JOINED}", '"Testing" (heading) is in none'),
        (JOINED.replace("[[pipeline]]", "[[pipelines]]"), '"[[pipelines]]" (link) is in none'),
    ],
)
def test_a_draft_must_keep_links_and_code(text: str, fault: str, folder: Path, cli: Cli) -> None:
    before = content(folder)["no-mocks.md"]
    report = maintained(cli, folder, text)
    (rejected,) = [each for each in report["proposals"] if each["state"] == "rejected"]
    assert fault in rejected["why"]
    assert content(folder)["no-mocks.md"] == before


def test_without_a_model_only_equal_notes_are_merged(folder: Path, cli: Cli) -> None:
    before = content(folder)
    planned = cli("maintain", folder, "--format", "claude-code", "--dry-run", "--json").json
    # What the plan merges is in one place after it.
    assert not any("frozen.md" in statement["places"] for statement in planned["repeated"])
    ended = cli("maintain", folder, "--format", "claude-code").ends(0)
    gone = before.keys() - content(folder).keys()
    assert len(gone) == 1
    assert gone < {"frozen.md", "frozen-too.md"}
    (line,) = [line for line in ended.out.splitlines() if "of several lines" in line]
    assert "Pass --model" in line
    assert cli("undo", folder).code == 0
    assert content(folder) == before


def test_a_note_that_repeats_itself_is_shortened_once(folder: Path, cli: Cli) -> None:
    long = (
        "Deploys of orders-api are frozen until 12 February 2026.\n\n- They are frozen: the audit."
    )
    (folder / "frozen.md").write_text(
        (folder / "frozen.md").read_text().replace(NOTES["frozen"], long)
    )
    before = content(folder)
    short = "Deploys of orders-api are frozen until 12 February 2026: the audit."

    def write(asked: Asked) -> Answer:
        frozen = [memory for memory in asked.memories if "They are frozen" in memory.text]
        return groups(*(group("synthesize", [memory], short) for memory in frozen))

    with served(answering(write, approval)) as options:
        command = ("maintain", folder, "--format", "claude-code", "--json", *options)
        (shortened,) = cli(*command).json["proposals"]
        assert shortened["state"] == "applied"
        assert shortened["reason"] == "a note repeats itself"
        assert (folder / "frozen.md").read_text().endswith(f"\n---\n\n{short}\n")
        assert cli(*command).json["proposals"] == []
    assert cli("undo", folder).code == 0
    assert content(folder) == before


def test_the_prompt_explains_notes_only_if_it_contains_any(folder: Path, cli: Cli) -> None:
    prompts_sent: list[str] = []

    def write(asked: Asked) -> Answer:
        prompts_sent.append(asked.messages[1]["content"])
        return joining(JOINED)(asked)

    with served(answering(write, approval)) as options:
        assert cli("maintain", folder, "--format", "claude-code", *options).code == 0
    assert prompts_sent
    assert all(text.endswith(prompts.prompt("notes")) for text in prompts_sent)
    (_, user) = prompts.ask_to_write(sources("Two\nlines.", "One line."), frozenset())
    assert user["content"].endswith("</memories>")


@pytest.mark.parametrize("review", ["never", "risky"])
def test_a_dry_run_gives_the_size_of_the_index(folder: Path, cli: Cli, review: str) -> None:
    command = ("maintain", folder, "--format", "claude-code", "--json", "--review", review)
    with served(answering(joining(JOINED), approval)) as options:
        planned = cli(*command, *options, "--dry-run", "--ask", "--target", "300").json["budget"]
        budget = cli(*command, *options, "--target", "300").json["budget"]
    # A model's own text is queued for review.
    assert (folder / "database-tests.md").exists() == (review == "risky")
    assert planned["after"] == budget["used"]
    assert planned["tokens_after"] == budget["tokens"]


def test_a_file_linked_since_the_last_run_stays(folder: Path, cli: Cli) -> None:
    assert cli("maintain", folder, "--format", "claude-code").code == 0
    (folder / "readme.md").write_text("See [[no-mocks]] and [[database-tests]].\n")
    with unchanged(content, folder):
        maintained(cli, folder, JOINED)


def test_a_merge_keeps_the_file_that_other_files_link_to(folder: Path, cli: Cli) -> None:
    (folder / "readme.md").write_text("See [[database-tests]].\n")
    with unchanged(content, folder):
        run = maintained(cli, folder, JOINED)["run"]
        assert not (folder / "no-mocks.md").exists()
        text = (folder / "database-tests.md").read_text()
        assert text.endswith(
            f"  modified: 2026-02-02T09:00:00+00:00\n  slowwave: true\n---\n\n{JOINED}\n"
        )
        assert cli("undo", folder, run).code == 0


@pytest.mark.usefixtures("long_only")
def test_a_kill_loses_no_note(folder: Path, cli: Cli, rounds: Callable[[int, int], int]) -> None:
    with served(answering(joining(JOINED), approval)) as options:
        # Lines of the index are shortened, too.
        command = ["maintain", str(folder), "--format", "claude-code", "--json", *options]
        command += ["--target", "300"]
        assert_kills_leave_all_or_nothing(cli, command, folder, lambda: bytes_of(folder), rounds)


@given(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), min_size=1),
    st.sampled_from(["a: b\n", "", "  modified: 2026-02-02\n"]),
)
def test_any_text_and_all_fields_survive_a_round_trip(text: str, more: str) -> None:
    front = (
        f"---\nname: n\ndescription: >-\n  two\n  lines\nmetadata:\n  type: project\n{more}---\n"
    )
    before = parsed("n.md", f"{front}\nText.\n".encode(), 0)
    if not text.strip():
        return
    now = before.observed_at
    after = parsed("n.md", before.with_text(text, "Short", now).encode(), 0)
    assert after.body == text.strip()
    assert after.fields == {**before.fields, "description": "Short", "slowwave": "true"}
    assert after.with_text(text, "Short", now).encode() == after.content


def test_the_report_names_unchanged_files_and_tokens_of_a_session(folder: Path, cli: Cli) -> None:
    for name, more in {
        "user": ("type: project", "type: user"),
        "own": ("name: pipeline", "owner: H\nname: own"),
    }.items():
        text = (folder / "pipeline.md").read_text().replace(*more)
        (folder / f"{name}.md").write_text(text.replace("CI of", f"The {name} of"))
    (folder / "readme.md").write_text("No front matter.\n")
    report = maintained(cli, folder, JOINED)
    untouched = {kind["why"].split()[1]: kind["names"] for kind in report["untouched"]}
    assert untouched == {
        "type": ["user.md"],
        "other": ["pipeline.md"],
        "keys": ["own.md"],
        "several": ["frozen-too.md", "no-mocks.md", "port-again.md", "ports.md"],
        "the": ["readme.md"],
    }
    index = (folder / "MEMORY.md").read_text()
    budget = report["budget"]
    assert budget["tokens"] == count_tokens(index)
    assert budget["tokens_before"] > budget["tokens"]
    ended = cli("maintain", folder, "--dry-run")
    assert f"Each session loads {budget['tokens']:,} tokens of MEMORY.md." in ended.out


def test_statements_that_instructions_repeat_are_named(folder: Path, cli: Cli) -> None:
    instructions = folder.parent / "CLAUDE.md"
    instructions.write_text(
        "# Rules\n\n- Integration tests of orders-api need a real Postgres.\n"
        "- Be kind to\n  others.\n\n"
        "```\nCI of orders-api runs these stages:\n```\n"
    )
    with unchanged(instructions.read_bytes):
        report = cli("maintain", folder, "--dry-run", "--json").json
        places = {tuple(sorted(statement["places"])) for statement in report["repeated"]}
        assert ("CLAUDE.md (Rules)", "database-tests.md") in places
        assert ("database-tests.md", "no-mocks.md") in places
        assert ("port-again.md (Production)", "ports.md (Staging)") in places
        assert not any("pipeline.md" in place for listed in places for place in listed)


def test_the_project_of_a_folder_is_found_by_its_name(tmp_path: Path) -> None:
    project = tmp_path / "a.b" / "my-app"
    project.mkdir(parents=True)
    slug = "".join(letter if letter.isalnum() else "-" for letter in str(project.resolve()))
    memory = tmp_path / "home" / ".claude" / "projects" / slug / "memory"
    memory.mkdir(parents=True)
    assert project_of(memory) == project.resolve()
    assert project_of(project / ".claude" / "memory") == project.resolve()
    assert project_of(memory.parent.with_name("-nowhere-at-all") / "memory") is None
