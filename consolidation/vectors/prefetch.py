"""Vectors of drafts, computed aside while other work goes on.

A text by itself takes nearly twice the processor that it takes among others, and whoever waits
for it does nothing meanwhile. So a draft is announced as soon as it is known; what was announced
while the model was at work goes through it together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future
from threading import Lock
from typing import TYPE_CHECKING

from slowwave.consolidation.runtime.threads import start_in_thread

from .embedder import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class PrefetchedVectors:
    """Vectors of texts that will be wanted soon. One thread at a time computes them."""

    def __init__(self, embedder: Embedder, most: int) -> None:
        """Take the embedder, and how many texts it is given at a time: that long one may wait."""
        self._embedder = embedder
        self._most = most
        self._lock = Lock()
        self._coming: dict[str, Future[NDArray[np.float32]]] = {}
        self._waiting: deque[str] = deque()
        self._at_work = False

    def prefetch(self, texts: Sequence[str]) -> None:
        """Start to compute the vectors of texts that will be taken or dropped later."""
        with self._lock:
            for text in texts:
                if text not in self._coming:
                    self._coming[text] = Future()
                    self._waiting.append(text)
            if self._waiting and not self._at_work:
                start_in_thread(self._work)
                self._at_work = True

    def take(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a text, announced or not. Raises what the embedder raises."""
        self.prefetch([text])
        try:
            return self._coming[text].result()
        finally:
            self.drop(text)

    def drop(self, text: str) -> None:
        """Forget a text whose vector is not wanted any more; at best it is never computed."""
        with self._lock:
            self._coming.pop(text, None)
            if text in self._waiting:
                self._waiting.remove(text)

    def _work(self) -> None:
        while texts := self._next():
            asked = list(texts)
            try:
                vectors = self._embedder.encode(asked)
            except BaseException as error:  # noqa: BLE001 - raised again where the vector is taken
                for one in texts.values():
                    one.set_exception(error)
            else:
                for one, vector in zip(texts.values(), vectors, strict=True):
                    one.set_result(vector)

    def _next(self) -> dict[str, Future[NDArray[np.float32]]]:
        """Return what is to be computed together; with nothing left the thread ends."""
        with self._lock:
            some = [self._waiting.popleft() for _ in range(min(self._most, len(self._waiting)))]
            self._at_work = bool(some)
            return {text: self._coming[text] for text in some}
