"""The inputs of a night, as one value."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from slowwave.consolidation.options import CycleOptions
from slowwave.consolidation.progress import Progress
from slowwave.consolidation.vectors.embedder import Embedder
from slowwave.consolidation.writing.writer import Writer


@dataclass(frozen=True)
class NightInputs:
    """The file, the options, and the embedder and writer of a night."""

    path: Path
    options: CycleOptions
    embedder: Embedder
    writer: Writer
    # The time of the whole night.
    now: datetime
    progress: Progress
