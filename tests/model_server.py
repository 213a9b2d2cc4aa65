"""A model server for tests, on loopback: it says what it is told, as OpenAI would.

By the path that is asked for it speaks as Anthropic, Gemini, Ollama and llama.cpp do, too.

What it answers is decided by a responder, a function of the request. `oracle` is an honest one,
`in_turn` plays a script. It counts tokens as OpenAI does, with the encoding that litellm brings
along. Connections are not kept alive, so none is open when it closes.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from dialects import OpenAi, dialect_of

from slowwave.consolidation.text.reading import read
from slowwave.consolidation.thresholds import EXTRACT_SOURCES

# More than any test asks for: a loop that does not end must not fill the memory.
MOST_REQUESTS = 200
MOST_BYTES = 1_000_000
# How long a silent answer keeps a thread at the most, and a connection may say nothing.
MOST_SECONDS = 60.0
_LOADING = threading.Lock()
# Whose tokens are counted.
COUNTED_AS = "gpt-4o-mini"
# From this share of the shorter one's words on two memories tell one thing to the honest one.
_ALIKE = 0.8


class Shown(NamedTuple):
    """A memory as a model is shown it; one that stays word for word says so."""

    id: str
    said: str
    text: str
    stands: str = ""


@dataclass(frozen=True)
class Asked:
    """One request, as it came."""

    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages."""
        return list(self.body["messages"])

    @property
    def memories(self) -> list[Shown]:
        """The memories in it, in their order; none where opinions are asked for."""
        return list(_shown(self._lines("memories")))

    @property
    def faulty(self) -> list[dict[str, Any]]:
        """The groups of an earlier answer that cannot be used, with their faults."""
        return [json.loads(line) for line in self._lines("groups")]

    @property
    def items(self) -> list[dict[str, Any]]:
        """What a second opinion is asked on; nothing where memories are shown."""
        found = [json.loads(line) for line in self._lines("items")]
        return [{**line, **item} for line in found for item in line.pop("items")]

    def _lines(self, name: str) -> list[str]:
        """Return the lines between two marks."""
        _, _, behind = f"\n{self.messages[1]['content']}".partition(f"\n<{name}>\n")
        inside, _, _ = behind.partition(f"\n</{name}>")
        return inside.splitlines()

    @property
    def prompt_tokens(self) -> int:
        """What it takes: messages and what they are wrapped in, and the schema as it was sent."""
        shape = self.body.get("response_format")
        return count_messages(self.messages) + (count(compact(shape)) if shape else 0)

    @property
    def texts(self) -> str:
        """All that the memories say."""
        return "\n".join(memory.text for memory in self.memories)

    @property
    def repair(self) -> str | None:
        """What is said to be wrong with an earlier answer; None in a first question."""
        return self.messages[-1]["content"] if len(self.messages) > 2 else None

    @property
    def form(self) -> str | None:
        """The form of structured output that is asked for."""
        form: str | None = self.body.get("response_format", {}).get("type")
        return form


@dataclass(frozen=True)
class Reply:
    """What is sent back: a body, or nothing at all."""

    body: Mapping[str, Any] | str
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    # The connection is closed without a word, at once or when the server closes.
    hangs_up: bool = False
    silent: bool = False


Responder = Callable[[Asked], Reply]

HANGS_UP = Reply("", hangs_up=True)
SILENT = Reply("", silent=True)


def says(
    content: str | Mapping[str, Any],
    finish_reason: str = "stop",
    prompt_tokens: int | None = None,
    refusal: str | None = None,
) -> Reply:
    """Return a completion with this content; what it took is counted unless it is told."""
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text}
        | ({"refusal": refusal} if refusal else {}),
        "finish_reason": finish_reason,
    }
    completion = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1}
    told = {} if prompt_tokens is None else {"usage": {"prompt_tokens": prompt_tokens}}
    return Reply(completion | {"choices": [choice], **told})


def group(
    kind: str,
    memories: Sequence[Shown | str],
    stay: Sequence[Shown | str] = (),
    claims: Sequence[tuple[str, Sequence[Shown | str]]] = (),
) -> dict[str, Any]:
    """Return a group of an answer; claims are texts with whom they cite."""
    return {
        "kind": kind,
        "ids": _ids(memories),
        "stay": _ids(stay),
        "claims": [{"text": text, "sources": _ids(cited)} for text, cited in claims],
    }


def groups(*several: dict[str, Any]) -> dict[str, Any]:
    """Return an answer."""
    return {"groups": list(several)}


def _shown(lines: Sequence[str]) -> Iterator[Shown]:
    """Read the lines of memories, each below its day."""
    day = ""
    for line in lines:
        short, _, told = line.partition(" ")
        if told:
            mark, _, text = told.partition('"')
            yield Shown(short, day, json.loads(f'"{text}'), *([mark.strip()] if mark else []))
        else:
            day = line


def _ids(memories: Sequence[Shown | str]) -> list[str]:
    return [one if isinstance(one, str) else one.id for one in memories]


def compact(value: Any) -> str:
    """Return JSON as it is sent."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def count(text: str) -> int:
    """Count the tokens of a text."""
    return int(_litellm().token_counter(model=COUNTED_AS, text=text))


def count_messages(messages: Sequence[Mapping[str, str]]) -> int:
    """Count the tokens of messages, with those that their roles take."""
    return int(_litellm().token_counter(model=COUNTED_AS, messages=list(messages)))


def _litellm() -> Any:
    # Else it fetches a price list.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    # Each request has a thread, and two that import it at once may each see half of it.
    with _LOADING:
        import litellm
    return litellm


def refuses(status: int, message: str = "no", **headers: str) -> Reply:
    """Return an error in OpenAI's form; underscores of headers stand for hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply({"error": {"message": message, "type": "test", "code": None}}, status, named)


def in_turn(*replies: Reply, then: Responder | None = None) -> Responder:
    """Return these replies one after the other, then what another responder says, else the last."""
    left = list(replies)
    lock = threading.Lock()

    def respond(asked: Asked) -> Reply:
        with lock:
            if left:
                return left.pop(0)
        return replies[-1] if then is None else then(asked)

    return respond


def oracle(asked: Asked) -> Reply:
    """Answer honestly."""
    return says(faithful(asked))


def faithful(asked: Asked) -> dict[str, Any]:
    """Return a true answer: what tells one thing is what has most of its words in common."""
    if asked.items:
        return {"opinions": [_opinion(item) for item in asked.items]}
    voices = _voices(asked.memories)
    others = [one for one in asked.memories if one not in voices]
    rules = [_rule(voices)] if voices else []
    return groups(*rules, *map(_told, _alike(others)))


def opinions(asked: Asked, told: bool = True) -> dict[str, Any]:
    """Return an answer that says the same of every item; the first word stands for all others."""
    return {
        "opinions": [
            {
                "n": one["n"],
                "told": told,
                "words": [
                    {"word": word, "means": one["by"][0].split()[0]}
                    for word in one.get("words", ())
                ],
            }
            for one in asked.items
        ]
    }


def verdicts(*told: bool, words: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return opinions on items, in their order; words with what means the same, of each item."""
    means = [{"word": word, "means": named} for word, named in (words or {}).items()]
    return {
        "opinions": [
            {"n": number, "told": one, "words": means} for number, one in enumerate(told, start=1)
        ]
    }


def _opinion(item: Mapping[str, Any]) -> dict[str, Any]:
    """Call told what is said in the same words, and over what a later text is about, too."""
    (said, by) = (item["said"], item["by"]) if "said" in item else (item["was"], item["now"])
    here, there = _words(said), _words(" ".join(by))
    told = here <= there if "said" in item else bool(here & there)
    return {"n": item["n"], "told": told, "words": []}


def _voices(memories: Sequence[Shown]) -> list[Shown]:
    """Return those that demand what most of them demand, if they are enough for a rule."""
    norms = [one for one in memories if read(one.text).normative]
    counted = Counter(word for one in norms for word in _words(one.text))
    most = max(counted, key=lambda word: (counted[word], word), default="")
    voices = [one for one in norms if most in _words(one.text)]
    return voices if len(voices) >= EXTRACT_SOURCES else []


def _rule(voices: Sequence[Shown]) -> dict[str, Any]:
    """Let the plainest voice be the rule; those stay that name somebody."""
    plainest = min(voices, key=lambda one: len(one.text))
    stay = [one for one in voices if read(one.text).names]
    return group("rule", voices, stay, [(plainest.text, voices)])


def _told(members: list[Shown]) -> dict[str, Any]:
    """Let all be told in the words of as few as have all words; one stays if it has them all.

    What stands stays as it is.
    """
    chosen = [one for one in members if one.stands]
    words = {one: _words(one.text) for one in members}
    left = frozenset().union(*words.values()).difference(*(words[one] for one in chosen))
    while left:
        best = max(members, key=lambda one: (len(words[one] & left), -len(one.text)))
        chosen.append(best)
        left -= words[best]
    if len(chosen) == 1:
        return group("same", members, chosen)
    told = [one for one in members if one not in chosen]
    claims = [
        (dated(sentence, one.said), [one, *(told if one is chosen[-1] else ())])
        for one in chosen
        if not one.stands
        for sentence in read(one.text).sentences
    ]
    return group("joined", members, (), claims)


def _alike(memories: Sequence[Shown]) -> Iterator[list[Shown]]:
    """Yield the memories that share most of their words, each in one group at the most."""
    left = list(memories)
    while left:
        first = left.pop(0)
        near = [one for one in left if _are_alike(first, one)]
        left = [one for one in left if one not in near]
        if near:
            yield [first, *near]


def _are_alike(one: Shown, other: Shown) -> bool:
    here, there = _words(one.text), _words(other.text)
    return len(here & there) >= _ALIKE * min(len(here), len(there)) > 0


def _words(text: str) -> frozenset[str]:
    """Return what a text says: stems of words, and values."""
    reading = read(text)
    return reading.stem_set.union(value for _, value in reading.value_keys)


def dated(sentence: str, said: str) -> str:
    """Put the day before a sentence that would not be true without it."""
    return f"[{said}] {sentence}" if read(sentence).deictic else sentence


class ModelServer:
    """A running server: where it is, and what it was asked."""

    def __init__(self, port: int, responder: Responder, most_requests: int) -> None:
        self.most_requests = most_requests
        self.address = f"http://127.0.0.1:{port}"
        self.base = f"{self.address}/v1"
        self.responder = responder
        self.asked: list[Asked] = []
        # The tokens of each question and answer.
        self.taken: list[tuple[int, int]] = []
        # The most requests that were being answered at one time.
        self.peak = 0
        self.closing = threading.Event()
        # What went wrong in a responder: a defect of the test.
        self.defects: list[Exception] = []
        self._lock = threading.Lock()
        self._under_way = 0

    def forget(self) -> None:
        """Count from here on."""
        self.asked.clear()
        self.taken.clear()
        self.peak = 0

    def reply(self, asked: Asked) -> Reply:
        """Decide what is sent back."""
        with self._lock:
            if len(self.asked) >= self.most_requests:
                return refuses(400, "more requests than any test asks for")
            self.asked.append(asked)
            self._under_way += 1
            self.peak = max(self.peak, self._under_way)
        try:
            return self._counted(asked, self.responder(asked))
        except Exception as defect:  # noqa: BLE001 - it is raised where the server is closed
            self.defects.append(defect)
            return HANGS_UP
        finally:
            with self._lock:
                self._under_way -= 1

    def _counted(self, asked: Asked, reply: Reply) -> Reply:
        """Say in a completion what it took."""
        choices = None if isinstance(reply.body, str) else reply.body.get("choices")
        if isinstance(reply.body, str) or not isinstance(choices, list) or not choices:
            return reply
        told = reply.body.get("usage", {}).get("prompt_tokens")
        prompt = asked.prompt_tokens if told is None else told
        answer = count(choices[0]["message"]["content"])
        with self._lock:
            self.taken.append((prompt, answer))
        usage = {"prompt_tokens": prompt, "completion_tokens": answer}
        usage["total_tokens"] = prompt + answer
        return replace(reply, body={**reply.body, "usage": usage})


@contextmanager
def model_server(
    responder: Responder = oracle, most_requests: int = MOST_REQUESTS
) -> Iterator[ModelServer]:
    """Run a server on a free port, in threads, as long as the block lasts."""
    http = _Http(responder, most_requests)
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield http.model
    finally:
        http.model.closing.set()
        http.shutdown()
        thread.join()
        http.server_close()
    for defect in http.model.defects:
        raise defect


class _Http(ThreadingHTTPServer):
    # So that closing waits for every thread: none may outlive its test.
    daemon_threads = False
    # Else the sixth of several that come at once has to knock again after a second.
    request_queue_size = 128

    def __init__(self, responder: Responder, most_requests: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.model = ModelServer(self.server_port, responder, most_requests)


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    timeout = MOST_SECONDS

    def do_POST(self) -> None:
        model = self.server.model
        body = json.loads(self.rfile.read(min(int(self.headers["content-length"]), MOST_BYTES)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        dialect = dialect_of(self.path)
        asked = dialect.asked(self.path, body)
        reply = model.reply(Asked(headers, asked))
        if reply.silent:
            model.closing.wait(MOST_SECONDS)
        elif not reply.hangs_up:
            # Whoever asked may have given up.
            with suppress(ConnectionError):
                self._send(_in(dialect, reply, asked["model"]))

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def _send(self, reply: Reply) -> None:
        text = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
        sent = text.encode()
        self.send_response(reply.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(sent)))
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(sent)


def _in(dialect: OpenAi, reply: Reply, model: str) -> Reply:
    """Return a reply in a dialect; what is no completion and no error is sent as it is."""
    if isinstance(reply.body, str):
        return reply
    body = {"model": model, **reply.body}
    if reply.status >= 400:
        return replace(reply, body=dialect.refused(reply.status, body))
    return replace(reply, body=dialect.said(body) if "usage" in body else body)


def _serve_slowly(seconds: float, most_requests: int) -> None:
    """Answer honestly after so many seconds, until stdin is closed.

    Tells where it is, a line of JSON; for each line of stdin how many requests there were, and the
    tokens of questions and of answers; and in the end the first moment, the last one, and the most
    requests at one time.
    """
    moments: list[float] = []

    def respond(asked: Asked) -> Reply:
        began = time.monotonic()
        reply = oracle(asked)
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        moments.extend([began, time.monotonic()])
        return reply

    count("")  # what counts is loaded before anybody asks
    with model_server(respond, most_requests) as server:
        _tell(server.base)
        for _ in sys.stdin:
            questions, answers = zip(*server.taken, strict=True) if server.taken else ((), ())
            _tell([len(server.asked), sum(questions), sum(answers)])
        _tell([min(moments, default=0.0), max(moments, default=0.0), server.peak])


def _tell(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _serve_slowly(float(sys.argv[1]), int(sys.argv[2]))
