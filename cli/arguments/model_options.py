"""Options of every command that can call a model: which one, and within which limits."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slowwave.cli.terminal.interpreter import shorten_turns_of_threads
from slowwave.cli.terminal.output import Output
from slowwave.consolidation.runtime.redaction import without_secrets
from slowwave.consolidation.writing.writer import AGENT, BuiltInWriter, Writer

from .monthly_budget import MonthlyBudget
from .options import setting

if TYPE_CHECKING:
    from slowwave.consolidation.model.interface import Model
    from slowwave.consolidation.model.recording import Recordings
    from slowwave.consolidation.model.usage_limits import MakeMeter


def _concurrency_of(context: typer.Context, value: int) -> int:
    """Return fewer calls by default for a model that is a program: each starts one."""
    source = context.get_parameter_source("concurrency")
    is_default = source is not None and source.name == "DEFAULT"
    if not is_default or not str(context.params.get("model")).startswith("cli:"):
        return value
    from slowwave.consolidation.model.cli_programs import CONCURRENCY

    return min(value, CONCURRENCY)


ModelOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The model, by its litellm name, or a program on this machine with its own login: "
        "cli:claude, cli:codex, cli:claude/haiku. Default: no model.",
    ),
]
AskOption = Annotated[
    bool, typer.Option("--ask", help="With --dry-run: call the model, as a real run would.")
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        metavar="USD",
        min=0,
        help="Maximum spend in USD. Refuses to call a model whose price is unknown.",
    ),
]
ApiBaseOption = Annotated[
    str | None, setting(metavar="URL", help="Base URL of the model's server.")
]
CheckerOption = Annotated[
    str | None,
    setting(
        metavar="NAME|none",
        help="The model that checks drafts against their sources. Default: the same model, in a "
        "separate call. none: check by program only.",
    ),
]
ConcurrencyOption = Annotated[
    int,
    setting(
        metavar="N",
        min=1,
        max=64,
        callback=_concurrency_of,
        show_default=False,
        help="Maximum concurrent model calls. Default: 4, or 2 for cli: models.",
    ),
]
RecordOption = Annotated[
    Path | None,
    setting(metavar="PATH", help="Record each prompt and its answer in a JSON Lines file."),
]
ReplayOption = Annotated[
    Path | None,
    setting(
        metavar="PATH",
        help="Answer from a recording, without network or key. Prompts not in it go to "
        "PATH.missing, or to the model if record is set.",
    ),
]
MaxCallsOption = Annotated[
    int | None,
    setting(metavar="N", min=0, help="Maximum number of model requests, including retries."),
]
MaxTokensOption = Annotated[
    int | None,
    setting(metavar="N", min=0, help="Maximum number of tokens. Skips calls that could exceed it."),
]
MaxTimeOption = Annotated[
    float | None,
    setting(
        metavar="SECONDS",
        min=0,
        help="Stop calling the model after this many seconds. Abandons calls in progress.",
    ),
]


@dataclass(frozen=True)
class ModelOptions:
    """The model to call, and its limits."""

    model: ModelOption = None
    max_cost: MaxCostOption = None
    api_base: ApiBaseOption = None
    checker: CheckerOption = None
    concurrency: ConcurrencyOption = 4
    max_calls: MaxCallsOption = None
    max_tokens: MaxTokensOption = None
    max_time: MaxTimeOption = None

    def writer(
        self,
        recordings: Recordings | None = None,
        month: MonthlyBudget | None = None,
        make_meter: MakeMeter | None = None,
    ) -> Writer:
        """Return a writer that calls the model that is named or recorded, or the built-in one.

        month: what may still be spent this month. make_meter: makes what enforces the limits; None
        for the usual one. Raises `typer.BadParameter`, and `ModelError` if a program to ask is not
        there.
        """
        model, asks = self.model, recordings is None or recordings.asks
        if model is None and recordings is not None and recordings.recording is not None:
            model = recordings.recording.model
        if model == AGENT and asks:
            raise typer.BadParameter(
                f"'{AGENT}' means an agent that answers the questions itself: see 'slowwave dream'."
            )
        if model is None:
            return BuiltInWriter()
        from slowwave.consolidation.model.model_writer import ModelWriter
        from slowwave.consolidation.model.usage_limits import UsageLimits, UsageMeter

        shorten_turns_of_threads()
        # An answer from a recording costs only time.
        usage = UsageLimits(seconds=self.max_time)
        if asks:
            usage = UsageLimits(self.max_calls, self.max_tokens, self.max_cost, self.max_time)
        if asks and month is not None and (usage.cost_usd is None or month.left < usage.cost_usd):
            usage = replace(usage, cost_usd=month.left, budget_name=month.named)
        writer, reader = models_of(model, self.api_base, self.checker)
        if asks:
            _refuse_missing_programs(writer, reader)
        meter = make_meter or UsageMeter
        return ModelWriter(writer, self.concurrency, usage, recordings, reader or "none", meter)

    def check_of(self, model: str | None) -> str:
        """Return the command that tests the model and its checker."""
        values = {"--model": model, "--api-base": self.api_base, "--checker": self.checker}
        options = [part for pair in values.items() if pair[1] is not None for part in pair]
        command = shlex.join(["slowwave", "model-check", *map(str, options)])
        return without_secrets(command, self.api_base)

    def refuse_unready(
        self, recordings: Recordings | None = None, monthly_usd: float | None = None
    ) -> None:
        """Refuse models that litellm does not know, a missing key, and a missing program.

        With a limit of the cost, also refuses models whose price is unknown. Raises `ModelError`.
        """
        from slowwave.consolidation.model.known_models import refuse_unpriced, refuse_unready
        from slowwave.consolidation.model.litellm_model import Endpoint

        for asked_model in self._asked(recordings):
            if isinstance(asked_model, Endpoint):
                refuse_unready(asked_model)
            else:
                _refuse_missing_programs(asked_model)
            if self.max_cost is not None or monthly_usd is not None:
                refuse_unpriced(asked_model)

    def note_unlisted(self, recordings: Recordings | None, output: Output) -> None:
        """Note each model that litellm may not know, without importing litellm."""
        from slowwave.consolidation.model.known_models import provider_of
        from slowwave.consolidation.model.litellm_model import Endpoint

        for asked_model in self._asked(recordings):
            if isinstance(asked_model, Endpoint) and provider_of(asked_model.model) is None:
                output.note(
                    f"The model '{asked_model.model}' is not in litellm's tables, so a run may "
                    f"refuse it. Check it with: {self.check_of(self.model)}"
                )

    def _asked(self, recordings: Recordings | None) -> list[Model]:
        """Return the models that a run would call."""
        if self.model is None or (recordings is not None and not recordings.asks):
            return []
        writer, reader = models_of(self.model, self.api_base, self.checker)
        return [writer] if reader in (None, writer) else [writer, reader]


@dataclass(frozen=True)
class RecordableModelOptions(ModelOptions):
    """The model and its limits, where answers can also be recorded and replayed."""

    record: RecordOption = None
    replay: ReplayOption = None

    def recordings(self, dry_run: bool) -> Recordings | None:
        """Open the recordings; a dry run writes to none of them."""
        record = None if self.model is None and self.replay is None else self.record
        return make_recordings(record, self.replay, dry_run)


def _refuse_missing_programs(*models: Model | None) -> None:
    """Refuse programs that are not on the PATH. Raises `ModelError`."""
    from slowwave.consolidation.model.cli_model import ProgramModel

    for asked_model in models:
        if isinstance(asked_model, ProgramModel):
            asked_model.open()


def models_of(model: str, api_base: str | None, checker: str | None) -> tuple[Model, Model | None]:
    """Return who writes and who checks; None if only a program checks.

    The address of a provider is not used for another one. Raises `typer.BadParameter`.
    """
    from slowwave.consolidation.model.chosen_model import model_of

    if api_base is not None and re.match(r"https?://[\w\[]", api_base) is None:
        shown = without_secrets(api_base)
        raise typer.BadParameter(f"--api-base must be a URL (http:// or https://), not '{shown}'.")
    writer = model_of(model, api_base)
    if checker is None or checker == model:
        return writer, writer
    if checker == "none":
        return writer, None
    is_same_provider = checker.partition("/")[0] == model.partition("/")[0]
    return writer, model_of(checker, api_base if is_same_provider else None)


def make_recordings(record: Path | None, replay: Path | None, dry_run: bool) -> Recordings | None:
    """Open the recordings; a dry run writes to none of them."""
    if record is None and replay is None:
        return None
    from slowwave.consolidation.model.recording import Recordings, open_recordings, read_recording

    if dry_run:
        return Recordings(recording=None if replay is None else read_recording(replay))
    return open_recordings(record, replay)
