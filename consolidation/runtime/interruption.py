"""Interrupt a run, and limit how long it may take to end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

# A signal ends a run within two seconds; this is how long it may wait for other programs.
LIMIT_S = 1.0


class InterruptedEarly(KeyboardInterrupt):
    """The run was interrupted before it executed its plan."""

    message = "Interrupted before anything was consolidated."
    hint = "For what was written before, see 'slowwave log FILE'."


class OutOfTime(BaseException):
    """An interrupted run could not end in time, because another program locks the file."""

    message = "Interrupted while another program had the file locked; what was applied is unknown."
    hint = "Applied proposals are complete. List them with: slowwave log FILE"


class Interruption:
    """The request to end a run early, made by a signal handler.

    The first request raises KeyboardInterrupt anywhere in the program; later ones do not, so that a
    second Ctrl-C cannot interrupt what a run writes at its end.
    """

    def __init__(self) -> None:
        self._requested_at: float | None = None
        self._raised_at = 0.0
        self._closed = False
        self._deferred = False
        self._ended = False
        self._limited_since: float | None = None

    @property
    def requested(self) -> bool:
        """Whether an interruption was requested; code that is not interrupted polls this."""
        return self._requested_at is not None

    def request(self) -> None:
        """Interrupt the run; if it is ending already, only limit its time."""
        if self._requested_at is None:
            self._requested_at = self._raised_at = monotonic()
            if not self._deferred:
                self._raise_unless_closed()

    def remind(self) -> None:
        """Raise again if a library swallowed the interruption, or a block defers it for too long.

        Called several times a second.
        """
        if monotonic() - self._raised_at > LIMIT_S:
            # Python drops exceptions that are raised in a destructor.
            self._raise_unless_closed()
        if self._requested_at is not None and self._limited_since is not None:
            since = max(self._requested_at, self._limited_since)
            if monotonic() - since > LIMIT_S:
                raise OutOfTime

    def _raise_unless_closed(self) -> None:
        if not self._closed:
            self._raised_at = monotonic()
            raise KeyboardInterrupt

    @property
    def counts(self) -> bool:
        """Whether the request changed how the run ended."""
        return self.requested and not self._ended

    def open(self) -> None:
        """Begin a run that a signal may interrupt."""
        self._closed = self._ended = False

    def end(self) -> None:
        """Mark the run as ended: a later request only skips optional work."""
        self.close()
        self._ended = self._requested_at is None

    def close(self) -> None:
        """Stop interrupting the run."""
        self._closed = True

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Interrupt the run after a block that commits and notes what it committed.

        If the block waits for a lock, it is interrupted after a second.
        """
        self._deferred = True
        try:
            yield
        finally:
            self._deferred = False
        if self.requested:
            self._raise_unless_closed()

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Limit how long the block may take after a request. Raises `OutOfTime`."""
        self._limited_since = monotonic()
        try:
            yield
        finally:
            self._limited_since = None
