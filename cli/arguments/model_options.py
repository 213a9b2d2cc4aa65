"""Options of every command that can ask a model: which one, and within which limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import setting
from .writers import make_recordings, make_writer

if TYPE_CHECKING:
    from slowwave.consolidation.model.recording import Recordings
    from slowwave.consolidation.writing.writer import Writer

ModelOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The model, by its litellm name; by default none is asked."),
]
AskOption = Annotated[
    bool, typer.Option("--ask", help="With --dry-run: ask the model all the same.")
]
MaxCostOption = Annotated[
    float | None,
    typer.Option(
        metavar="USD",
        min=0,
        help="Maximum spend in USD. A model whose price is unknown is not asked.",
    ),
]
ApiBaseOption = Annotated[str | None, setting(metavar="URL", help="Where the model is served.")]
CheckerOption = Annotated[
    str | None,
    setting(
        metavar="NAME|none",
        help="The model that checks a text against its sources (default: the same model, in a "
        "separate call); none checks by program only.",
    ),
]
ConcurrencyOption = Annotated[
    int, setting(metavar="N", min=1, max=64, help="Model calls in flight at once.")
]
RecordOption = Annotated[
    Path | None,
    setting(metavar="PATH", help="Append each prompt and its answer to a file, as JSON lines."),
]
ReplayOption = Annotated[
    Path | None,
    setting(
        metavar="PATH",
        help="Answer from a recording, without network or key. Prompts that it lacks go to "
        "PATH.missing, or to the model if record is set.",
    ),
]
MaxCallsOption = Annotated[
    int | None, setting(metavar="N", min=0, help="Maximum model requests, including retries.")
]
MaxTokensOption = Annotated[
    int | None, setting(metavar="N", min=0, help="Maximum tokens: no call may exceed them.")
]
MaxTimeOption = Annotated[
    float | None,
    setting(
        metavar="SECONDS",
        min=0,
        help="Stop starting calls after this many seconds; calls in flight finish.",
    ),
]


@dataclass(frozen=True)
class ModelOptions:
    """The model to ask, and its limits."""

    model: ModelOption = None
    max_cost: MaxCostOption = None
    api_base: ApiBaseOption = None
    checker: CheckerOption = None
    concurrency: ConcurrencyOption = 4
    max_calls: MaxCallsOption = None
    max_tokens: MaxTokensOption = None
    max_time: MaxTimeOption = None

    def writer(self, recordings: Recordings | None = None) -> Writer:
        """Return a writer with a budget of its own. Raises `typer.BadParameter`."""
        limits = (self.max_calls, self.max_tokens, self.max_cost, self.max_time)
        return make_writer(
            self.model, self.api_base, self.checker, self.concurrency, limits, recordings
        )


@dataclass(frozen=True)
class RecordableModelOptions(ModelOptions):
    """The same, where answers can be recorded and replayed."""

    record: RecordOption = None
    replay: ReplayOption = None

    @property
    def asks(self) -> bool:
        """Whether a model or a recording answers."""
        return self.model is not None or self.replay is not None

    def recordings(self, dry_run: bool) -> Recordings | None:
        """Open the recordings; a dry run writes to none of them."""
        return make_recordings(self.record, self.replay, dry_run)
