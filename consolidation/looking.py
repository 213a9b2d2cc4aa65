"""One look at a file: what is at rest, what else there is, and what is to be done about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from slowwave.store.records import timestamp

from .aside import aside
from .collecting import without_collecting
from .embed import Embedder
from .index import Keeper, Library, complete, read_library
from .memos import Memos
from .notebook import Found, Notebook
from .options import CycleOptions
from .planning.options import PlanOptions
from .progress import Progress
from .proposals import Plan, joined
from .write import Writer, prompt_hashes

if TYPE_CHECKING:
    from .population import Population


@dataclass(frozen=True)
class Look:
    """What was seen of a file."""

    library: Library
    populations: Sequence[Population]
    # Of all tenants.
    plan: Plan
    found: Found


class Looker:
    """Looks at a file as the user's options say."""

    def __init__(
        self,
        path: Path,
        options: CycleOptions,
        embedder: Embedder,
        writer: Writer,
        now: datetime,
        progress: Progress,
    ) -> None:
        """Take where to look, and with what."""
        self._path = path
        self._options = options
        self._embedder = embedder
        self._writer = writer
        self._now = timestamp(now)
        self._progress = progress

    @without_collecting()
    def look(self, keeper: Keeper | None = None, memos: Memos | None = None) -> Look:
        """Read, compute what is missing, and plan.

        keeper: takes what was computed; memos: of an earlier look of this run. Raises
        `StoreError`, and `EmbedderError`.
        """
        options = self._options
        notebook = Notebook(self._path, self._embedder.name, self._chosen(), self._now)
        anew = options.full or options.reconsider or options.purge or not options.consolidate
        standing = notebook.look_up(options.tenants)
        resting = {} if anew else {one: plan for one, plan in standing.items() if plan is not None}
        library = read_library(
            self._path,
            options.tenants,
            self._embedder.name,
            self._now,
            resting,
            memos,
            options.full and memos is None,
        )
        populations = complete(
            # What a purge alone lacks of vectors is computed and not kept: it is not its work.
            library,
            self._embedder,
            keeper if options.consolidate else None,
            self._progress,
        )
        remembered = frozenset() if options.reconsider else library.remembered
        chosen = self._chosen(remembered)
        plans = _planned(populations, chosen) if options.consolidate else {}
        everything = resting | plans
        plan = joined(everything[one] for one in library.tenants if one in everything)
        whole = not options.tenants and not resting
        return Look(library, populations, plan, notebook.found(library, populations, plans, whole))

    def _chosen(self, remembered: frozenset[str] = frozenset()) -> PlanOptions:
        return PlanOptions(
            writer=self._writer.name,
            prompt_hashes=prompt_hashes(self._writer),
            extractive=self._writer.model is None,
            only=self._options.only,
            include_protected=self._options.include_protected,
            remembered=remembered,
        )


def _planned(populations: Sequence[Population], options: PlanOptions) -> dict[str, Plan]:
    """Give the plan of each tenant that is not at rest."""
    if not populations:
        return {}  # and nothing is loaded that reads texts
    from .plan import plan_tenant

    return aside(lambda: {one.tenant: plan_tenant(one, options) for one in populations})
