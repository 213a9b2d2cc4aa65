"""slowwave fleet maintain: a run for each of many memory files."""

from __future__ import annotations

import os
import re
import shlex
import sys
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from slowwave.cli.arguments.configured import group_of
from slowwave.cli.arguments.model_options import ModelOptions
from slowwave.cli.arguments.options import (
    ALL_OPERATIONS,
    EmbedderOption,
    EnabledOption,
    IncludeProtectedOption,
    OnlyOption,
    OutputOptions,
    ReviewOption,
    operations_of,
    setting,
)
from slowwave.cli.arguments.settings import (
    config_for_source,
    config_path,
    is_on_command_line,
    kill_switch_for,
    settings_of,
)
from slowwave.cli.arguments.settings import source_of as option_source
from slowwave.cli.nights.gates import Gates
from slowwave.cli.terminal.exits import Code, fail_late
from slowwave.cli.terminal.output import Output, clean
from slowwave.cli.terminal.progress_bars import shown_progress
from slowwave.cli.terminal.signals import signals_of_this_command
from slowwave.cli.terminal.wording import counted
from slowwave.cli.views.report_file import refuse_unwritable_metrics
from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.runtime.threads import cores
from slowwave.consolidation.vectors.embedder import DEFAULT_MODEL
from slowwave.extensions.postgres.place import FORMATS_OF_DATABASES, format_in_database
from slowwave.store.errors import StoreError

from .report import (
    FleetMetricsOption,
    account_as_json,
    account_as_text,
    fleet_report,
    write_metrics,
)

if TYPE_CHECKING:
    from slowwave.consolidation.model.usage_limits import UsageLimits
    from slowwave.consolidation.writing.writer import Writer
    from slowwave.extensions.fleet.budget_owners import BudgetOwner
    from slowwave.extensions.fleet.fleet_job import Engine, FleetJob
    from slowwave.extensions.fleet.store.archive import Shard
    from slowwave.extensions.fleet.store.receipt import Receipt
    from slowwave.extensions.fleet.totals import Totals
    from slowwave.extensions.postgres.format import PostgresFormat

EngineName = Literal["local", "ray"]
_SOURCES = "A folder is searched for *.db; a list has the path of a memory file on each line."
# Settings of 'slowwave maintain' that change nothing in a memory file, at least by themselves.
_IGNORED_SETTINGS = {
    *("ask", "exit_code", "keep_backups", "log_format", "max_active"),
    *("retain", "state", "table", "target", "verbose"),
}
_SHARD = re.compile(r"(\d+)/(\d+)")
# Disables Ray's usage statistics.
_RAY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}


def fleet_maintain(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A folder with memory files (*.db), a quoted pattern, a list with a path per line "
            "(- for stdin), a bucket (s3://, gs:// or az://), or a database (postgresql://).",
            is_eager=True,
            callback=config_for_source,
            show_default=False,
        ),
    ],
    *,
    old_consolidate: Annotated[
        bool, setting("--consolidate", allow_from_autoenv=False, help="The default.")
    ] = True,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be done; write nothing.")
    ] = False,
    engine: Annotated[
        EngineName,
        typer.Option(
            help="Run workers as processes of this machine, or with Ray Data, here or on the "
            "cluster at RAY_ADDRESS."
        ),
    ] = "local",
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Workers, each with one thread and about 400 MB. Default: one per core.",
        ),
    ] = None,
    shard: Annotated[
        str,
        typer.Option(
            metavar="I/N",
            help="Maintain only shard I of N (counting from 0); each shard gets 1/N of the budget.",
        ),
    ] = "0/1",
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help=f"Format of the memories in a database: {FORMATS_OF_DATABASES}."
        ),
    ] = None,
    receipts: Annotated[
        str | None,
        typer.Option(
            metavar="WHERE",
            help="Folder or bucket of the receipts. Default: .slowwave-receipts in SOURCE.",
        ),
    ] = None,
    metrics: FleetMetricsOption = None,
    only: OnlyOption = ALL_OPERATIONS,
    embedder: EmbedderOption = DEFAULT_MODEL,
    include_protected: IncludeProtectedOption = False,
    enabled: EnabledOption = True,
    review: ReviewOption = "never",
    asking: ModelOptions,
    output: OutputOptions,
) -> None:
    """Maintain each memory file of a fleet, as 'slowwave maintain' does.

    All workers together keep the limits of calls, tokens, costs and time; --concurrency is for each
    worker.

    Files that are unchanged since the last receipts are not opened. Files on a disk are changed in
    place; objects are replaced only if they are unchanged since they were read. Use 'slowwave log',
    'undo' and other commands on each file.
    """
    closed = Gates(None if enabled else option_source(context, "enabled")).switch()
    if closed is not None:
        output.show(closed.as_text(source))
        output.result("fleet maintain", gate=closed.as_json())
        return
    settings = settings_of(context, "maintain")
    if unsupported := [where for name, where in settings if name not in _IGNORED_SETTINGS]:
        raise typer.BadParameter(
            f"A fleet does not support {', '.join(unsupported)}: remove it, specify another "
            "file with --config, or run 'slowwave maintain FILE' for each file."
        )
    if asking.model is None:
        for name in ("api_base", "checker"):
            if is_on_command_line(context, name):
                raise typer.BadParameter(f"--{name.replace('_', '-')} requires --model.")
    own_shard = _shard_of(shard)
    if metrics is not None:
        refuse_unwritable_metrics(metrics)
    from slowwave.consolidation.model.usage_limits import UsageLimits
    from slowwave.extensions.fleet.fleet import Fleet
    from slowwave.extensions.fleet.store.archive import Archive
    from slowwave.extensions.fleet.store.sources import source_of

    files = source_of(source, _format_of_database(context, source, format))
    if files.database is not None and receipts is None and not dry_run:
        raise typer.BadParameter("Specify a folder or bucket for the receipts: --receipts WHERE.")
    began = datetime.now(UTC)
    receipts_place = receipts or files.receipts
    # A dry run works without obstore; it then shows all files.
    archive = None if dry_run and receipts is None else Archive(receipts_place)
    worker_count = workers or cores()
    from slowwave.extensions.fleet.budget_owners import OwnerInFile
    from slowwave.extensions.fleet.fleet_job import OPTION, FleetJob
    from slowwave.extensions.fleet.worker import ONE_THREAD

    budget = own_shard.share_of(UsageLimits(asking.max_calls, asking.max_tokens, asking.max_cost))
    job = FleetJob(
        options=CycleOptions(
            only=operations_of(only),
            include_protected=include_protected,
            review=review,
            shown={"only": only, "tenant": [], "embedder": embedder, "model": asking.model}
            | {OPTION: f"{began:%Y%m%dT%H%M%SZ} shard {shard}"}
            | ({} if review == "never" else {"review": review}),
        ),
        embedder=embedder,
        make_writer=partial(writer_of, asking),
        base=files.base,
        in_bucket=files.in_bucket,
        dry_run=dry_run,
        budget=budget,
        deadline=None if asking.max_time is None else began + timedelta(seconds=asking.max_time),
        workers=worker_count,
        database=files.database,
    )
    # Libraries read these on loading, also in the processes of workers.
    os.environ.update(_RAY | (ONE_THREAD if worker_count > 1 else {}))
    with TemporaryDirectory(prefix="slowwave-") as folder:
        if any(limit is not None for limit in (budget.calls, budget.tokens, budget.cost_usd)):
            job = replace(job, owner=OwnerInFile(Path(folder), budget))
        skipped = partial(_skipped, context, job)
        fleet = Fleet(files, job, _engine(engine, worker_count), archive, own_shard, skipped)
        # Ray prints to stdout, which is for the result only.
        aside = redirect_stdout(sys.stderr) if engine == "ray" else nullcontext()
        with shown_progress(output.quiet) as progress, aside:
            totals = fleet.night(began, progress, signals_of_this_command())
    written = None if dry_run else receipts_place
    output.result(
        "fleet maintain",
        source=files.named,
        receipts=written,
        shard=shard,
        engine=engine,
        dry_run=dry_run,
        **account_as_json(totals),
    )
    code = _report(output, totals, files.named, written, metrics)
    raise typer.Exit(signals_of_this_command().code or code)


def writer_of(asking: ModelOptions, budget: UsageLimits, owner: BudgetOwner | None) -> Writer:
    """Return the writer of the drafts for one file, within a budget."""
    from slowwave.extensions.fleet.budget_owners import SharedMeter

    own = replace(
        asking,
        max_cost=budget.cost_usd,
        max_calls=budget.calls,
        max_tokens=budget.tokens,
        max_time=budget.seconds,
    )
    return own.writer(make_meter=None if owner is None else partial(SharedMeter, owner))


def _skipped(context: typer.Context, job: FleetJob, key: str) -> Receipt | None:
    """Return the receipt of a file on a disk that is switched off, or whose settings are wrong."""
    from slowwave.extensions.fleet.store.receipt import Receipt

    if job.in_bucket or job.database is not None:
        return None
    path = job.path_of(key)
    try:
        switch = kill_switch_for(context, path)
    except typer.BadParameter as error:
        return Receipt(key, "refused", f"{config_path(path)}: {error.message}", tries=0)
    return None if switch is None else Receipt(key, "off", f"by {switch}", tries=0)


def _format_of_database(
    context: typer.Context, source: str, format: str | None
) -> PostgresFormat | None:
    from slowwave.extensions.postgres.url import is_database_url

    if is_database_url(source):
        if format is None:
            raise typer.BadParameter(
                "Specify the format of the memories in the database: --format NAME."
            )
        return format_in_database(format)
    if is_on_command_line(context, "format"):
        raise typer.BadParameter("--format is for a database; SOURCE contains memory files.")
    return None


def _report(
    output: Output, totals: Totals, source: str, receipts: str | None, metrics: Path | None
) -> int:
    for why in totals.unreadable:
        output.note(f"{why} The files it covers will be examined again.")
    output.show(*map(clean, account_as_text(totals, source)))
    code: int = _code(totals)
    if code == Code.UNUSABLE_FILE:
        output.error(clean(f"There is no memory file in {source}."), _SOURCES, code)
    elif totals.unfinished_files:
        (became, why), (_, keys) = next(iter(totals.troubles.items()))
        was = "was" if totals.unfinished_files == 1 else "were"
        count = f"{totals.unfinished_files} of {counted(totals.files, 'file')} {was}"
        why = why.replace("FILE", keys[0]).removesuffix(".")
        message = f"{count} not finished. First: {keys[0]} ({became}): {why}."
        hint = "To see them all, omit --quiet." if output.quiet else ""
        if receipts is not None:
            hint = f"See: slowwave fleet report {shlex.quote(receipts)}"
        output.error(message, hint, code)
    if metrics is not None:
        try:
            write_metrics(metrics, totals)
        except StoreError as error:
            fail_late(error.message, error.hint)
    return code


def _code(totals: Totals) -> Code:
    if totals.became["defect"]:
        return Code.DEFECT
    if not (totals.memory_files or totals.interrupted or totals.elsewhere):
        return Code.UNUSABLE_FILE
    if totals.interrupted:
        return Code.INTERRUPTED
    if not totals.unfinished_files:
        return Code.DONE
    is_changed = totals.became["partial"] or totals.sums["applied"]
    return Code.PARTLY if is_changed or totals.unfinished_files < totals.files else Code.FAILED


def _engine(name: EngineName, workers: int) -> Engine:
    if name == "ray":
        from slowwave.extensions.fleet.ray_engine import RayEngine

        return RayEngine(workers)
    from slowwave.extensions.fleet.local_engine import LocalEngine

    return LocalEngine(workers)


def _shard_of(text: str) -> Shard:
    from slowwave.extensions.fleet.store.archive import Shard

    match = _SHARD.fullmatch(text)
    if match is None or int(match[1]) >= int(match[2]):
        raise typer.BadParameter(f"--shard counts from 0, as in 0/4 and 3/4, not '{text}'.")
    return Shard(int(match[1]), int(match[2]))


app = group_of(
    "fleet",
    "Maintain many memory files, in folders or buckets.",
    {"maintain": fleet_maintain, "report": fleet_report},
)
