"""What a night does, and the settings of `maintain` that belong in slowwave.toml."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from slowwave.cli.terminal.log_lines import LogFormat, write_in
from slowwave.store.purge import KEPT_DAYS

from .durations import check_duration, check_rules
from .options import EnabledOption, setting
from .settings import is_on_command_line

# In the order in which they run.
PHASES = ("expire", "decay", "consolidate", "limit", "purge")

PhaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="PHASES",
        allow_from_autoenv=False,
        help="What to do, separated by commas; by default consolidate. expire: memories past "
        "their end; decay: report how much age and disuse leave of them; consolidate: the dream "
        "cycle; limit: archive what a tenant has above max_active; purge: delete what was "
        f"superseded over {KEPT_DAYS} days ago; all: each of these.",
    ),
]


def _old(flag: str, from_environment: bool = True) -> Any:
    help = f"As --phase {flag}."
    return setting(f"--{flag}", allow_from_autoenv=from_environment, help=help)


@dataclass(frozen=True)
class OldPhases:
    """The phases as earlier versions spelled them, each an option of its own."""

    consolidate: Annotated[bool, _old("consolidate")] = False
    expire: Annotated[bool, _old("expire")] = False
    decay: Annotated[bool, _old("decay")] = False
    purge: Annotated[bool, _old("purge", from_environment=False)] = False
    all_phases: Annotated[bool, _old("all", from_environment=False)] = False
    max_active: Annotated[
        int | None,
        setting(
            "--limit",
            metavar="N",
            min=1,
            help="How many active memories --phase limit leaves a tenant, the most used.",
        ),
    ] = None

    def phases(self, context: typer.Context, named: str | None) -> frozenset[str]:
        """Return what --phase and the old options choose; by default `consolidate`.

        Next to --phase, an old option counts only on the command line. Raises
        `typer.BadParameter`.
        """
        chosen = frozenset() if named is None else frozenset(map(str.strip, named.split(",")))
        if unknown := sorted(chosen - {*PHASES, "all"}):
            raise typer.BadParameter(
                f"--phase takes some of {','.join(PHASES)}, or all, not '{','.join(unknown)}'."
            )
        for field in fields(self):
            on_command_line = is_on_command_line(context, field.name)
            if field.name == "max_active":
                # As a setting it is a number for the phase, and no phase.
                chosen |= {"limit"} if on_command_line and self.max_active else set()
            elif getattr(self, field.name) and (on_command_line or named is None):
                chosen |= {"all" if field.name == "all_phases" else field.name}
        if "limit" in chosen and self.max_active is None:
            raise typer.BadParameter(
                "--phase limit needs max_active: set it in slowwave.toml, or SLOWWAVE_MAX_ACTIVE."
            )
        if "all" in chosen:
            chosen = frozenset(PHASES) - (set() if self.max_active else {"limit"})
        return chosen or frozenset({"consolidate"})


@dataclass(frozen=True)
class NightSettings:
    """Gates, retention, backups and monitoring: the same for each night of a file."""

    enabled: EnabledOption = True
    min_interval: Annotated[
        str | None,
        setting(
            metavar="TIME",
            callback=check_duration,
            help="Skip if the last run that changed anything was less than this ago (e.g. 12h).",
        ),
    ] = None
    min_new: Annotated[
        int | None,
        setting(metavar="N", min=1, help="Skip if fewer memories are new since the last night."),
    ] = None
    retain: Annotated[
        list[str] | None,
        setting(
            metavar="RULE",
            callback=check_rules,
            help="With --phase expire: how long memories are kept, such as kind=context,keep=30d "
            "or tenant=ops,layer=working,keep=2w; repeat for more.",
        ),
    ] = None
    keep_backups: Annotated[
        int, setting(metavar="N", min=1, help="With --backup: how many are kept, the latest.")
    ] = 7
    guard: Annotated[
        str | None,
        setting(
            metavar="QUESTIONS|self|none",
            help="Measure recall on a copy first, by questions (see 'slowwave eval') or by the "
            "memories' own words, and leave out what would lower it.",
        ),
    ] = None
    guard_limit: Annotated[
        float, setting(metavar="SHARE", min=0, max=1, help="How far guard lets recall@10 fall.")
    ] = 0.01
    report: Annotated[
        Path | None,
        setting(metavar="PATH", help="Write a report of the night (.html or .md)."),
    ] = None
    wiki: Annotated[
        Path | None,
        setting(metavar="DIR", help="Afterwards, update the wiki in DIR: see 'slowwave export'."),
    ] = None
    log_format: Annotated[
        LogFormat,
        setting(
            callback=write_in,
            help="Write stderr as sentences, or as a JSON object a line (even with --quiet).",
        ),
    ] = "text"
    metrics_file: Annotated[
        Path | None,
        setting(
            metavar="PATH",
            help="Write Prometheus metrics for node_exporter's textfile collector (.prom); not in "
            "a dry run.",
        ),
    ] = None
    interactive: Annotated[
        bool,
        setting(
            "--interactive",
            allow_from_autoenv=False,
            help="Ask about each proposal at the terminal.",
        ),
    ] = False
