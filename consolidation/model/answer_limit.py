"""A limit on what a server may answer: without one its answer could fill the memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx

# More than any answer takes, with the thoughts of a model and what servers add.
MOST_BYTES = 4 * 1024 * 1024


class AnswerRefused(Exception):
    """The server's answer was not read to its end; the text says why."""


def limit_answers(client: httpx.Client) -> None:
    """Have a client read no answer beyond `MOST_BYTES`, and none that is compressed.

    A compressed answer may be a thousand times as long as what is sent, so none is asked for.
    Reading beyond raises `AnswerRefused`, whatever the status of the response.
    """
    import httpx

    class Limited(httpx.SyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        def __iter__(self) -> Iterator[bytes]:
            read = 0
            for chunk in self._stream:
                read += len(chunk)
                if read > MOST_BYTES:
                    raise AnswerRefused(f"the server's answer is longer than {MOST_BYTES} bytes")
                yield chunk

        def close(self) -> None:
            self._stream.close()

    def ask_for_plain_text(request: httpx.Request) -> None:
        request.headers["accept-encoding"] = "identity"

    def limit(response: httpx.Response) -> None:
        encoding = response.headers.get("content-encoding", "identity").strip().lower()
        if encoding != "identity":
            raise AnswerRefused("the server compresses its answer, which it was asked not to do")
        response.stream = Limited(response.stream)

    client.event_hooks = {"request": [ask_for_plain_text], "response": [limit]}
