"""How a run learns that it is to end, and how long ending may take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

# Of the two seconds in which a signal ends a run: what it may wait for others at its end.
LIMIT_S = 1.0


class InterruptedEarly(KeyboardInterrupt):
    """The run was interrupted before it began to carry out its plan."""

    message = "Interrupted before anything was consolidated."

    def __init__(self, kept: bool) -> None:
        """Take whether the file has kept vectors or names that it had found by then."""
        super().__init__()
        self.hint = "The vectors and names found so far are kept." if kept else ""


class OutOfTime(BaseException):
    """An interrupted run could not end in time: another program holds what it waits for."""

    message = "Interrupted, and another program holds what would tell what was done."
    hint = "What was applied is whole, and stands in: slowwave log"


class Interruption:
    """Whether a run is to end before it is done. The handler of a signal asks for it.

    The first time raises KeyboardInterrupt wherever the program is, and no later time does: what
    a run writes at its end is not to be torn by a second Ctrl-C. So nothing can be sure that it
    was noted, but what stands in the file; an interrupted run looks there.
    """

    def __init__(self) -> None:
        """Begin without a request to end."""
        self._asked_at: float | None = None
        self._raised_at = 0.0
        self._closed = False
        self._ended = False
        self._limited_since: float | None = None

    @property
    def asked(self) -> bool:
        """Whether somebody has asked: what is not interrupted any more looks here by itself."""
        return self._asked_at is not None

    def ask(self) -> None:
        """Interrupt the run; where it is ending already, only do not let that last."""
        if self._asked_at is None:
            self._asked_at = monotonic()
            self._raise_unless_closed()

    def remind(self) -> None:
        """Raise again if a library swallowed the interruption; called several times a second."""
        if monotonic() - self._raised_at > LIMIT_S:
            # Otherwise a library swallowed it: Python drops what is raised within a destructor.
            self._raise_unless_closed()
        if self._asked_at is not None and self._limited_since is not None:
            since = max(self._asked_at, self._limited_since)
            if monotonic() - since > LIMIT_S:
                raise OutOfTime

    def _raise_unless_closed(self) -> None:
        if not self._closed:
            self._raised_at = monotonic()
            raise KeyboardInterrupt

    @property
    def counts(self) -> bool:
        """Whether what somebody asked for changed how the run ended."""
        return self.asked and not self._ended

    def open(self) -> None:
        """Begin a run that a signal may interrupt; with several files each is such a run."""
        self._closed = self._ended = False

    def end(self) -> None:
        """From here on the run has ended: who asks only keeps it from what is left for later."""
        self.close()
        self._ended = self._asked_at is None

    def close(self) -> None:
        """From here on the run ends by itself, and is interrupted no more."""
        self._closed = True

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Limit how long the end of a run may take, once somebody has asked it to end.

        Raises `OutOfTime`.
        """
        self._limited_since = monotonic()
        try:
            yield
        finally:
            self._limited_since = None
