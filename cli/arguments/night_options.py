"""What a run of `maintain` does, and its settings that belong in slowwave.toml."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

import typer

from slowwave.cli.terminal.log_lines import LogFormat, write_in
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL
from slowwave.store.purge import KEPT_DAYS

from .durations import duration_of, retention_of
from .monthly_budget import budget_of
from .options import (
    ALL_OPERATIONS,
    PROPOSALS_PANEL,
    EmbedderOption,
    EnabledOption,
    IncludeProtectedOption,
    OnlyOption,
    ReviewOption,
    TenantsOption,
    checked_by,
    operations_of,
    per_call,
    setting,
)
from .settings import is_on_command_line


@dataclass(frozen=True)
class AskedOptions:
    """The options of a night that change what is asked. Pass the same in every round."""

    tenant: TenantsOption = None
    embedder: EmbedderOption = DEFAULT_MODEL
    only: OnlyOption = ALL_OPERATIONS
    include_protected: IncludeProtectedOption = False
    review: ReviewOption = "never"
    reconsider: Annotated[
        bool,
        typer.Option(
            "--reconsider",
            rich_help_panel=PROPOSALS_PANEL,
            help="Propose again what was rejected, declined or undone.",
        ),
    ] = False

    def cycle_options(self, model: str | None, checker: str | None = None) -> CycleOptions:
        """Return the options of the night. Raises `typer.BadParameter`.

        checker: the model that checks, if it is another one.
        """
        shown: dict[str, Any] = {
            "only": self.only,
            "tenant": self.tenant or [],
            "embedder": self.embedder,
            "model": model,
        }
        shown |= {} if checker in (None, model) else {"checker": checker}
        shown |= {} if self.review == "never" else {"review": self.review}
        return CycleOptions(
            tenants=tuple(self.tenant or ()),
            only=operations_of(self.only),
            include_protected=self.include_protected,
            reconsider=self.reconsider,
            review=self.review,
            shown=shown,
        )


# In the order in which they run.
PHASES = ("expire", "decay", "consolidate", "limit", "purge")


def _phases_of(text: str) -> frozenset[str]:
    """Return the phases of --phase. Raises `typer.BadParameter`."""
    chosen = frozenset(map(str.strip, text.split(",")))
    if unknown := sorted(chosen - {*PHASES, "all"}):
        raise typer.BadParameter(
            f"--phase takes {','.join(PHASES)} or all, not '{','.join(unknown)}'."
        )
    return chosen


PhaseOption = Annotated[
    str | None,
    per_call(
        metavar="PHASES",
        callback=checked_by(_phases_of),
        help="What to do, comma-separated. Default: consolidate. expire: expire memories past "
        "their retention; decay: report how age and disuse weaken memories; consolidate: merge, "
        "synthesize and update; limit: archive memories above max_active of a tenant; purge: "
        f"delete memories superseded over {KEPT_DAYS} days ago; all: every phase.",
    ),
]


RetainOption = Annotated[
    list[str] | None,
    setting(
        metavar="RULE",
        callback=checked_by(retention_of),
        help="With --phase expire: how long to keep memories, as in kind=context,keep=30d or "
        "tenant=ops,layer=working,keep=2w. Repeatable.",
    ),
]
MaxActiveOption = Annotated[
    int | None,
    setting(
        "--limit",
        metavar="N",
        min=1,
        help="With --phase limit: maximum active memories per tenant; the most used stay.",
    ),
]


WikiOption = Annotated[
    Path | None,
    setting(metavar="DIR", help="Update the wiki in DIR afterwards: see 'slowwave export'."),
]


def _old(phase: str, from_environment: bool = True) -> Any:
    help = f"Same as --phase {phase}."
    return setting(f"--{phase}", allow_from_autoenv=from_environment, help=help)


@dataclass(frozen=True)
class OldPhases:
    """The phases as earlier versions spelled them, each an option of its own."""

    consolidate: Annotated[bool, _old("consolidate")] = False
    expire: Annotated[bool, _old("expire")] = False
    decay: Annotated[bool, _old("decay")] = False
    purge: Annotated[bool, _old("purge", from_environment=False)] = False
    all_phases: Annotated[bool, _old("all", from_environment=False)] = False
    max_active: MaxActiveOption = None

    def phases(self, context: typer.Context, phase: str | None) -> frozenset[str]:
        """Return what --phase and the old options choose; by default `consolidate`.

        With --phase, an old option counts only on the command line. Raises `typer.BadParameter`.
        """
        chosen = frozenset() if phase is None else _phases_of(phase)
        for field in fields(self):
            on_command_line = is_on_command_line(context, field.name)
            if field.name == "max_active":
                # A setting is only the number for the phase.
                chosen |= {"limit"} if on_command_line and self.max_active else set()
            elif getattr(self, field.name) and (on_command_line or phase is None):
                chosen |= {"all" if field.name == "all_phases" else field.name}
        if "limit" in chosen and self.max_active is None:
            raise typer.BadParameter(
                "--phase limit requires max_active: set it in slowwave.toml, or "
                "SLOWWAVE_MAX_ACTIVE."
            )
        if "all" in chosen:
            chosen = frozenset(PHASES) - (set() if self.max_active else {"limit"})
        return chosen or frozenset({"consolidate"})


@dataclass(frozen=True)
class NightSettings:
    """Gates, retention, backups and monitoring: the same for each run on a file."""

    enabled: EnabledOption = True
    min_interval: Annotated[
        str | None,
        setting(
            metavar="TIME",
            callback=checked_by(duration_of),
            help="Skip if the last run that changed anything was less than this ago (e.g. 12h).",
        ),
    ] = None
    min_new: Annotated[
        int | None,
        setting(metavar="N", min=1, help="Skip if fewer memories were added since the last run."),
    ] = None
    retain: RetainOption = None
    monthly_budget: Annotated[
        str | None,
        setting(
            metavar="USD",
            callback=checked_by(budget_of),
            help="Maximum spend on models in a calendar month, by all runs of a file, as in "
            "'2 USD'. Refuses to call a model whose price is unknown.",
        ),
    ] = None
    keep_backups: Annotated[
        int, setting(metavar="N", min=1, help="With --backup: how many backups to keep.")
    ] = 7
    report: Annotated[
        Path | None,
        setting(
            metavar="PATH",
            help="Afterwards, write a report of the run (.html or .md), as 'slowwave log' does. "
            "Not in a dry run.",
        ),
    ] = None
    wiki: WikiOption = None
    log_format: Annotated[
        LogFormat,
        setting(
            callback=write_in,
            help="Format of stderr: sentences, or a JSON object per line (even with --quiet).",
        ),
    ] = "text"
    metrics_file: Annotated[
        Path | None,
        setting(
            metavar="PATH",
            help="Write Prometheus metrics for node_exporter's textfile collector (.prom). Not in "
            "a dry run.",
        ),
    ] = None

    @property
    def monthly_usd(self) -> float | None:
        """What a calendar month may cost in USD; None for no limit."""
        return None if self.monthly_budget is None else budget_of(self.monthly_budget)
