"""Maintain a tenant of a database, between leasing it and writing the result."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from slowwave.extensions.fleet.store.receipt import Receipt
from slowwave.extensions.formats.vector_model import LentModel
from slowwave.extensions.postgres.format import Tenants
from slowwave.extensions.postgres.mirror import TenantMirror
from slowwave.store.errors import NotFound, StoreError

from .fleet_job import FleetJob, Item
from .receipt_from_file import became_of, receipt_of

if TYPE_CHECKING:
    from .worker import Worker


def night_of_tenant(
    worker: Worker, job: FleetJob, database: Tenants, item: Item, now: datetime
) -> Receipt:
    """Maintain a tenant's mirror, and write it with the tenant's rows at the end.

    If that fails, the run is lost, and the receipt has none.
    """
    url = database.url.of(item.key)
    mirror = TenantMirror.of(url, database.format)
    embedder = worker.embedder
    mirror.format.model = LentModel(embedder.name, embedder.encode)
    used = Receipt(item.key, "nothing")
    try:
        options = job.options
        if mirror.format.no_new_texts_reason(url) is not None:
            options = options.without_new_texts()
        if job.dry_run:
            with mirror.picture(now) as copy:
                return worker.in_place(item, copy.state, now, options)
        with mirror.held(now):
            used = worker.in_place(item, mirror.state, now, options)
            mirror.settle(now)
            receipt = used
            if used.runs:  # settling may have undone what was stale
                marks = worker.idle_marks(mirror.state, now, options)
                receipt = receipt_of(item, mirror.state, used.became, used.why, None, marks)
            return replace(receipt, version=mirror.lease.version)
    except NotFound:
        return Receipt(item.key, "gone", "the tenant no longer exists")
    except StoreError as error:
        why = f"{error.message} {error.hint}".strip().replace(str(url), "FILE")
        return Receipt(item.key, became_of(error), why, last_run=item.last_run).with_usage_of(used)
