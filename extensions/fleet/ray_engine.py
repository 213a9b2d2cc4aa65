"""Ray Data as an engine, on this machine or on the cluster that RAY_ADDRESS names."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

from slowwave.consolidation.errors import ConsolidationError
from slowwave.consolidation.model.usage_limits import UsageLimits
from slowwave.consolidation.runtime.interruption import Interruption
from slowwave.extensions.fleet.store.receipt import Receipt
from slowwave.store.extras import install_hint

from .budget_owners import BudgetOwner, Portion
from .fleet_job import FleetJob, Item
from .worker import begin_worker

# Maximum files of a task, which are repeated if its worker dies.
_FILES_PER_TASK = 8
# Minimum tasks of a worker, so that none is idle for long at the end.
_TASKS_PER_WORKER = 4


class RayEngine:
    """Actors of Ray Data, each of which loads the model once."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def receipts(
        self, job: FleetJob, items: Iterator[Item], interruption: Interruption
    ) -> Iterator[Receipt]:
        """Yield a receipt for each item, in any order. Raises KeyboardInterrupt."""
        ray = _ray()
        due = [item._asdict() for item in items]
        if not due:
            return
        self._connect(ray)
        try:
            owner = None if job.owner is None else _OwnerOnRay(job.budget)
            rows = self._rows(replace(job, owner=owner), due)
            while (row := _next(rows, interruption)) is not None:
                yield _receipt_of(row)
        finally:
            ray.shutdown()

    def _connect(self, ray: Any) -> None:
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.ERROR)
        # A cluster knows the number of its own processors.
        cluster = os.environ.get("RAY_ADDRESS")
        settings: dict[str, Any] = {} if cluster else {"num_cpus": self._workers}
        try:
            ray.init(
                include_dashboard=None if cluster else False,
                configure_logging=False,
                log_to_driver=False,
                **settings,
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise ConsolidationError(
                f"Cannot connect to Ray: {error}",
                "Check that RAY_ADDRESS is the address of a cluster.",
            ) from error

    def _rows(self, job: FleetJob, items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        from ray.data import ActorPoolStrategy, DataContext

        DataContext.get_current().enable_progress_bars = False
        workers = min(self._workers, len(items))
        blocks = min(
            len(items), max(_TASKS_PER_WORKER * workers, math.ceil(len(items) / _FILES_PER_TASK))
        )
        done = (
            _ray()
            .data.from_items(items, override_num_blocks=blocks)
            .map(
                _Nights,
                fn_constructor_args=(job,),
                compute=ActorPoolStrategy(size=workers),
                num_cpus=1,
            )
        )
        return iter(done.iter_rows())


def _next(rows: Iterator[dict[str, Any]], interruption: Interruption) -> dict[str, Any] | None:
    """Return the next row; signals interrupt only the wait for it."""
    interruption.open()
    try:
        return next(rows, None)
    except _ray().exceptions.RayError as error:
        # The last line is the error; those before it say where it happened.
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise ConsolidationError(
            f"Ray's workers failed: {lines[-1]}",
            "Install this version of slowwave with the extra slowwave[ray] on each node.",
        ) from error
    finally:
        interruption.close()


def _receipt_of(row: dict[str, Any]) -> Receipt:
    """Return the receipt of a row. Raises `ConsolidationError`."""
    if row["message"]:
        raise ConsolidationError(row["message"], row["hint"])
    return Receipt(**row["receipt"] | {"runs": tuple(row["receipt"]["runs"])})


class _Nights:
    """An actor that turns a row with an item into one with its receipt."""

    def __init__(self, job: FleetJob) -> None:
        self._worker = begin_worker(job)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        # All rows must have the same columns; an error is returned in two of them.
        receipt, message, hint = Receipt(row["key"], "failed"), "", ""
        try:
            receipt = self._worker.night(Item(**row))
        except ConsolidationError as error:
            message, hint = error.message, error.hint
        return {"message": message, "hint": hint, "receipt": asdict(receipt)}


class _OwnerOnRay(BudgetOwner):
    """The owner of a budget in an actor of its own, which workers on any host can reach."""

    def __init__(self, budget: UsageLimits) -> None:
        self._actor = _ray().remote(BudgetOwner).options(num_cpus=0).remote(budget)

    def take(self, lacking: Portion) -> Portion:
        granted: Portion = _ray().get(self._actor.take.remote(lacking))
        return granted

    def give_back(self, unused: Portion) -> None:
        _ray().get(self._actor.give_back.remote(unused))


def _ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ConsolidationError(
            "The package ray is not installed.", f"Install it {install_hint('ray')}"
        ) from error
    return ray
