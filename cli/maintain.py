"""slowwave maintain: the dream cycle."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from slowwave.consolidation.proposals import OPERATIONS, Operation
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL, SentenceEmbedder
from slowwave.store.purge import KEPT_DAYS

from .exits import Code
from .output import Output
from .progress import shown_progress
from .report import as_json, as_text
from .settings import ConfigOption, JsonOption, OptionalFileArgument, QuietOption
from .signals import signals_of_this_command

if TYPE_CHECKING:
    from slowwave.consolidation.model.calls import Endpoint
    from slowwave.consolidation.model.recording import Tape
    from slowwave.consolidation.running.outcome import Outcome
    from slowwave.consolidation.writing.writer import Writer


def maintain(
    file: OptionalFileArgument = None,
    consolidate: Annotated[
        bool,
        typer.Option("--consolidate", help="Merge, synthesize and extract: the dream cycle."),
    ] = False,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge",
            help=f"Delete what was superseded more than {KEPT_DAYS} days ago and nothing needs.",
        ),
    ] = False,
    backup: Annotated[
        bool,
        typer.Option("--backup", help="Before the first change, a verified backup beside FILE."),
    ] = False,
    keep_backups: Annotated[
        int, typer.Option(metavar="N", min=1, help="How many backups stay; the oldest go.")
    ] = 7,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the plan and stop; the file is only read.")
    ] = False,
    only: Annotated[
        str, typer.Option(metavar="OPERATIONS", help=f"Some of {','.join(OPERATIONS)}.")
    ] = ",".join(OPERATIONS),
    tenant: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Only this tenant; again for more.")
    ] = None,
    embedder: Annotated[
        str,
        typer.Option(metavar="NAME|PATH", help="A sentence-transformers model on this machine."),
    ] = DEFAULT_MODEL,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="litellm's name of a model; without it no model is asked."
        ),
    ] = None,
    api_base: Annotated[
        str | None, typer.Option(metavar="URL", help="Where the model is served.")
    ] = None,
    checker: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|none",
            help="Who gives a second opinion on what the model wrote; by default the model itself. "
            "Reached at --api-base, too, if it is of the same provider.",
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH", help="Add each prompt with its answer to a file, as a JSON line."
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Answer from such a file, without network or key; what it does not know goes to "
            "PATH.missing, or with --record to the model.",
        ),
    ] = None,
    ask: Annotated[
        bool,
        typer.Option(
            "--ask",
            help="With --dry-run: ask the model, and show what a real run would do; with --record "
            "the real run can take the answers from there.",
        ),
    ] = False,
    concurrency: Annotated[
        int, typer.Option(metavar="N", min=1, max=64, help="Model calls at once.")
    ] = 4,
    max_calls: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Requests to the model at the most, retries too."),
    ] = None,
    max_tokens: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="No call that could take the run above it."),
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            metavar="USD", min=0, help="The same in USD; nothing is asked if no price is known."
        ),
    ] = None,
    max_time: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", min=0, help="No call after so many seconds; those under way end."
        ),
    ] = None,
    include_protected: Annotated[
        bool,
        typer.Option(
            "--include-protected", help="Let human, pinned and core memories be superseded, too."
        ),
    ] = False,
    reconsider: Annotated[
        bool,
        typer.Option(
            "--reconsider", help="Propose again what was rejected, declined or undone before."
        ),
    ] = False,
    full: Annotated[
        bool,
        typer.Option("--full", help="Look at everything anew, whatever earlier runs found out."),
    ] = False,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="With --dry-run: end with 4 if there is work to do.")
    ] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Show all conflicts, and all pairs that were kept apart."),
    ] = False,
    config: ConfigOption = None,
    json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Consolidate a memory file: duplicates into one, similar memories into knowledge."""
    if file is None:
        raise typer.BadParameter("Name the memory file, or set SLOWWAVE_FILE.")
    if not consolidate and not purge:
        raise typer.BadParameter("Say what is to be done: --consolidate, --purge or both.")
    if exit_code and not dry_run:
        raise typer.BadParameter("--exit-code goes with --dry-run.")
    if api_base is not None and model is None:
        raise typer.BadParameter("--api-base goes with --model.")
    if checker is not None and model is None and replay is None:
        raise typer.BadParameter("--checker goes with --model or --replay.")
    if record is not None and model is None and replay is None:
        raise typer.BadParameter("--record goes with --model or --replay.")
    if ask and not dry_run:
        raise typer.BadParameter("--ask goes with --dry-run.")
    if ask and model is None and replay is None:
        raise typer.BadParameter("--ask goes with --model or --replay.")
    from slowwave.consolidation.cycle import run_cycle
    from slowwave.consolidation.options import CycleOptions

    limits = (max_calls, max_tokens, max_cost, max_time)
    tape = _tape(record, replay, dry_run and not ask)
    writer = _writer(model, api_base, checker, concurrency, limits, tape)
    options = CycleOptions(
        consolidate=consolidate,
        tenants=tuple(tenant or ()),
        only=_operations(only),
        include_protected=include_protected,
        reconsider=reconsider,
        full=full,
        ask=ask,
        purge=purge,
        keep_backups=keep_backups if backup else None,
        shown={"only": only, "tenant": tenant or [], "embedder": embedder, "model": writer.model}
        | ({} if writer.checker == writer.model else {"checker": writer.checker}),
    )
    output = Output(json, quiet)
    signals = signals_of_this_command()
    with shown_progress(quiet) as progress:
        outcome = run_cycle(
            file,
            options,
            SentenceEmbedder(embedder),
            writer,
            datetime.now(UTC),
            dry_run,
            progress,
            signals,
        )
    signals.close()
    with signals.limited():
        if json:
            output.result(as_json(outcome, str(file), dry_run, writer))
        elif not quiet:
            output.show(*as_text(outcome, file, dry_run, writer, verbose))
    code = signals.code or _code(outcome, dry_run and exit_code)
    if tape is not None and tape.problem is not None:
        code = code or Code.PARTLY
        output.error(tape.problem, "The answers are kept in the memory file.", code)
    if outcome.broken_off:
        output.error(outcome.broken_off.message, outcome.broken_off.hint, code)
    elif writer.refused is not None:
        output.error(f"The model refuses every call: {writer.refused}", "", code)
    elif not outcome.end_is_kept:
        output.note("The end could not be written: the log says 'running' until the next run.")
    elif outcome.not_kept:
        output.note(
            f"What this run found out could not be kept: {outcome.not_kept} "
            "The next one finds it out again."
        )
    raise typer.Exit(code)


def _operations(only: str) -> frozenset[Operation]:
    chosen = [part.strip() for part in only.split(",")]
    unknown = [part for part in chosen if part not in OPERATIONS]
    if unknown:
        raise typer.BadParameter(
            f"--only takes some of {','.join(OPERATIONS)}, not '{','.join(unknown)}'."
        )
    return frozenset(cast("list[Operation]", chosen))


def _writer(
    model: str | None,
    api_base: str | None,
    checker: str | None,
    concurrency: int,
    limits: tuple[int | None, int | None, float | None, float | None],
    tape: Tape | None,
) -> Writer:
    if model is None and tape is not None and tape.recording is not None:
        model = tape.recording.model
    if model is None:
        from slowwave.consolidation.writing.writer import ExtractiveWriter

        return ExtractiveWriter()
    from slowwave.consolidation.model.budget import Budget
    from slowwave.consolidation.model.calls import Endpoint
    from slowwave.consolidation.model.writer import ModelWriter

    # What is answered from a recording takes nothing but time.
    asks = tape is None or tape.asks
    budget = Budget(*limits) if asks else Budget(seconds=limits[-1])
    endpoint = Endpoint(model, api_base)
    return ModelWriter(endpoint, concurrency, budget, tape, _checker(checker, endpoint))


def _checker(name: str | None, endpoint: Endpoint) -> Endpoint | Literal["same", "none"]:
    """Give who checks; a key or an address is of one provider, and goes to no other."""
    if name is None or name == endpoint.model:
        return "same"
    if name == "none":
        return "none"
    provider = endpoint.model.partition("/")[0]
    at = endpoint.api_base if name.partition("/")[0] == provider else None
    return replace(endpoint, model=name, api_base=at)


def _tape(record: Path | None, replay: Path | None, dry_run: bool) -> Tape | None:
    """Open the files of answers; a dry run asks nothing, and writes to none of them."""
    if record is None and replay is None:
        return None
    from slowwave.consolidation.model.recording import Tape, open_tape, read_recording

    if dry_run:
        return Tape(recording=None if replay is None else read_recording(replay))
    return open_tape(record, replay)


def _code(outcome: Outcome, asked: bool) -> Code:
    from slowwave.consolidation.running.outcome import verdict

    if asked:
        work = not outcome.plan.is_empty or outcome.purged.ids
        return Code.WORK_TO_DO if work else Code.DONE
    return {
        "done": Code.DONE,
        "partial": Code.PARTLY,
        "failed": Code.FAILED,
        "interrupted": Code.INTERRUPTED,
    }[verdict(outcome)]
