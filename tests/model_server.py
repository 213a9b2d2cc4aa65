"""A scripted model server on loopback, in the protocol of OpenAI.

On other paths, it speaks the protocols of Anthropic, Gemini, Ollama and llama.cpp. A responder, a
function of the request, decides what it answers: `oracle` is an honest one, `in_turn` plays a
script. It counts tokens as OpenAI does, with the encoding in litellm. Connections are not kept
alive, so none is open when it closes.
"""

from __future__ import annotations

import json
import os
import re
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from http.server import ThreadingHTTPServer
from itertools import takewhile
from typing import Any, NamedTuple

from dialects import OpenAi, dialect_of
from http_servers import JSON, Handler, serving

# More than any test asks for: a loop that does not end must not fill the memory.
MAX_REQUESTS = 200
# The maximum time that a silent answer keeps a thread, and that a connection is idle.
MAX_SECONDS = 60.0
_LOADING = threading.Lock()
# Whose tokens are counted.
COUNTED_AS = "gpt-4o-mini"
# The honest model joins two memories that share this share of the words and values of the shorter
# one; a text covers a memory if it has this share of its words.
_ALIKE = 0.5
_SAID = 0.7
_MIN_DEMANDS = 5
_DEMANDING = re.compile(r"\b(?:never|always|do not|don't|please|must|should|before|first)\b", re.I)
_WORD = re.compile(r"[\w/.:@-]*\w")
Answer = dict[str, Any]


class Shown(NamedTuple):
    """A memory as a model sees it. is_derived: whether a consolidation wrote it."""

    id: str
    noted: str
    text: str
    is_derived: bool = False


@dataclass(frozen=True)
class Asked:
    """A request as it was received."""

    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages."""
        return list(self.body["messages"])

    @property
    def memories(self) -> list[Shown]:
        """The memories in it, in their order; none where drafts are checked."""
        return list(_shown(self._lines("memories")))

    @property
    def faulty(self) -> list[dict[str, Any]]:
        """The groups of an earlier answer that must be rewritten, with their faults."""
        return self._groups if self._lines("memories") else []

    @property
    def drafts(self) -> list[dict[str, Any]]:
        """The groups that must be checked; none where memories are shown."""
        return [] if self._lines("memories") else self._groups

    @property
    def _groups(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._lines("groups")]

    @property
    def kind(self) -> str:
        """The kind of question: write, repair or check."""
        return "check" if self.drafts else "repair" if self.faulty else "write"

    def _lines(self, name: str) -> list[str]:
        """Return the lines between two marks."""
        _, _, behind = f"\n{self.messages[1]['content']}".partition(f"\n<{name}>\n")
        inside, _, _ = behind.partition(f"\n</{name}>")
        return inside.splitlines()

    @property
    def prompt_tokens(self) -> int:
        """The tokens of the messages with their roles, and of the schema as it was sent."""
        shape = self.body.get("response_format")
        return count_messages(self.messages) + (count(compact(shape)) if shape else 0)

    @property
    def texts(self) -> str:
        """The texts of the memories."""
        return "\n".join(memory.text for memory in self.memories)

    @property
    def repair(self) -> str | None:
        """The faults of an earlier answer; None in a first question."""
        return self.messages[-1]["content"] if len(self.messages) > 2 else None

    @property
    def form(self) -> str | None:
        """The requested form of structured output."""
        form: str | None = self.body.get("response_format", {}).get("type")
        return form


@dataclass(frozen=True)
class Reply:
    """A response: a body, or nothing at all."""

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
    """Return a completion with this content; its tokens are counted unless specified."""
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text}
        | ({"refusal": refusal} if refusal else {}),
        "finish_reason": finish_reason,
    }
    completion = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1}
    output = {} if prompt_tokens is None else {"usage": {"prompt_tokens": prompt_tokens}}
    return Reply(completion | {"choices": [choice], **output})


def group(
    operation: str,
    memories: Sequence[Shown | str],
    text: str,
    left_out: Sequence[tuple[Shown | str, str, str]] = (),
) -> dict[str, Any]:
    """Return a group of an answer; left_out: of which memory, which words, and why."""
    ids = [_id(memory) for memory in memories]
    omitted = [{"id": _id(key), "words": words, "why": why} for key, words, why in left_out]
    return {"operation": operation, "ids": ids, "text": text, "left_out": omitted}


def groups(*members: dict[str, Any], conflicts: Sequence[Sequence[Shown | str]] = ()) -> Answer:
    """Return an answer of a writer."""
    return {
        "groups": list(members),
        "conflicts": [[_id(memory_id) for memory_id in ids] for ids in conflicts],
    }


def approval(asked: Asked) -> Answer:
    """Approve every draft."""
    return {"groups": [verdict(draft) for draft in asked.drafts]}


def disapproval(asked: Asked) -> Answer:
    """Reject the whole text of every draft."""
    return {"groups": [verdict(draft, [draft["text"]]) for draft in asked.drafts]}


def verdict(
    draft: Mapping[str, Any],
    unsupported: Sequence[str] = (),
    lost: Sequence[tuple[str, str]] = (),
    wrong_join: Sequence[str] = (),
    confirms: Sequence[str] | None = None,
) -> dict[str, Any]:
    """Return the verdict on a draft: unsupported words, lost (id, words), and strangers' ids."""
    everyone = [memory["id"] for memory in draft["memories"]]
    return {
        "n": draft["n"],
        "unsupported": [{"words": words, "why": "added"} for words in unsupported],
        "lost": [{"id": memory_id, "words": words, "why": "missed"} for memory_id, words in lost],
        "wrong_join": [{"ids": list(wrong_join), "why": "strangers"}] if wrong_join else [],
        "confirms": list(everyone if confirms is None else confirms),
    }


def _shown(lines: Sequence[str]) -> Iterator[Shown]:
    """Read the lines of memories, each below its day."""
    day = ""
    for line in lines:
        short, _, rest = line.partition(" ")
        if rest:
            mark, _, text = rest.partition('"')
            yield Shown(short, day, json.loads(f'"{text}'), mark == "made ")
        else:
            day = line


def _id(memory: Shown | str) -> str:
    return memory if isinstance(memory, str) else memory.id


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
    """Return an error in OpenAI's form; underscores of headers are hyphens."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply({"error": {"message": message, "type": "test", "code": None}}, status, named)


def in_turn(*replies: Reply, then: Responder | None = None) -> Responder:
    """Return these replies in turn, then those of another responder, else the last one."""
    remaining = list(replies)
    lock = threading.Lock()

    def respond(asked: Asked) -> Reply:
        with lock:
            if remaining:
                return remaining.pop(0)
        return replies[-1] if then is None else then(asked)

    return respond


def oracle(asked: Asked) -> Reply:
    """Answer honestly."""
    return says(honest(asked))


def honest(asked: Asked) -> Answer:
    """Return a true answer."""
    return check(asked) if asked.drafts else write(asked)


def answering(
    writer: Callable[[Asked], Answer], checker: Callable[[Asked], Answer] | None = None
) -> Responder:
    """Answer as a writer and a checker do; the checker is honest unless one is given."""
    return lambda asked: says((checker or check)(asked) if asked.drafts else writer(asked))


def write(asked: Asked) -> Answer:
    """Return a true answer: memories that share most of their words are about one fact."""
    demands = _demands(asked.memories)
    observed = [memory for memory in asked.memories if memory not in demands]
    joined = [_joined(members) for members in _alike(observed)]
    if demands:
        joined.append(group("extract", demands, min((each.text for each in demands), key=len)))
    return groups(*(written for written in joined if written is not None))


def check(asked: Asked) -> Answer:
    """Return a true check, by the values of the draft and of its memories."""
    return {"groups": [_read(draft) for draft in asked.drafts]}


def _read(draft: Mapping[str, Any]) -> dict[str, Any]:
    if draft["operation"] == "conflict":
        return verdict(draft)
    texts = [memory["text"] for memory in draft["memories"]]
    omitted = " ".join(left_out["words"] for left_out in draft.get("left_out", ()))
    return verdict(
        draft,
        sorted(_missing(draft["text"], " ".join(texts))),
        [
            (memory["id"], words)
            for memory in draft["memories"]
            for words in sorted(_missing(memory["text"], f"{draft['text']} {omitted}"))
        ],
    )


def _missing(text: str, elsewhere: str) -> set[str]:
    """Return the values of a text that another one lacks."""
    there = {word.lower() for word in _WORD.findall(elsewhere)}
    return {value for value in _values(text) if value.lower() not in there}


def _demands(memories: Sequence[Shown]) -> list[Shown]:
    """Return the memories that demand the most frequent thing, if they suffice for a rule."""
    norms = [memory for memory in memories if _DEMANDING.search(memory.text)]
    counted = Counter(stem for memory in norms for stem in _stems(memory.text))
    most = max(counted, key=lambda stem: (counted[stem], len(stem), stem), default="")
    demands = [memory for memory in norms if most in _stems(memory.text)]
    return demands if len(demands) >= _MIN_DEMANDS else []


def _joined(members: Sequence[Shown]) -> dict[str, Any] | None:
    """Return a group of its longest text and the additions of the rest; None if not shorter."""
    fullest = max(members, key=lambda memory: (memory.is_derived, len(memory.text)))
    text = fullest.text
    for memory in members:
        if not _says(text, memory.text):
            text = f"{text.removesuffix('.')}; {_behind_common(fullest.text, memory.text)}"
    if len(text) >= sum(len(memory.text) for memory in members):
        return None
    operation = "merge" if len(members) == 2 or text == fullest.text else "synthesize"
    return group(operation, members, text)


def _says(text: str, words: str) -> bool:
    """Whether a text has all values of another, and nearly all of its words."""
    here, there = _stems(text), _stems(words)
    return not _missing(words, text) and len(here & there) >= _SAID * len(there)


def _behind_common(text: str, second: str) -> str:
    """Return the rest of the second text after the words that both begin with."""
    pairs = zip(text.split(), second.split(), strict=False)
    common = takewhile(lambda pair: pair[0].strip(",.") == pair[1].strip(",."), pairs)
    return " ".join(second.split()[len(list(common)) :])


def _alike(memories: Sequence[Shown]) -> Iterator[list[Shown]]:
    """Yield the memories that share most of their words, each in one group at most."""
    remaining = list(memories)
    while remaining:
        first = remaining.pop(0)
        near = [memory for memory in remaining if _are_alike(first, memory)]
        remaining = [memory for memory in remaining if memory not in near]
        if near:
            yield [first, *near]


def _are_alike(first: Shown, second: Shown) -> bool:
    return all(
        len(here & there) >= _ALIKE * min(len(here), len(there))
        for here, there in (
            (_stems(first.text), _stems(second.text)),
            (_values(first.text), _values(second.text)),
        )
    )


@cache
def _stems(text: str) -> frozenset[str]:
    """Return the words of a text, each cut short, and its values, which are not."""
    values = {value.lower() for value in _values(text)}
    words = (word.lower() for word in _WORD.findall(text))
    return frozenset(word if word in values else word[:5] for word in words)


@cache
def _values(text: str) -> frozenset[str]:
    """Return the words with a digit or a capital that begins no sentence."""
    return frozenset(
        word
        for number, word in enumerate(_WORD.findall(text))
        if any(letter.isdigit() for letter in word) or (number and word.lower() != word)
    )


class ModelServer:
    """A running server: its address, and its requests."""

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
        """Forget the requests so far."""
        self.asked.clear()
        self.taken.clear()
        self.peak = 0

    def reply(self, asked: Asked) -> Reply:
        """Return the reply to a request."""
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
        """Add the usage to a completion."""
        choices = None if isinstance(reply.body, str) else reply.body.get("choices")
        if isinstance(reply.body, str) or not isinstance(choices, list) or not choices:
            return reply
        output = reply.body.get("usage", {}).get("prompt_tokens")
        prompt = asked.prompt_tokens if output is None else output
        answer = count(choices[0]["message"]["content"])
        with self._lock:
            self.taken.append((prompt, answer))
        usage = {"prompt_tokens": prompt, "completion_tokens": answer}
        usage["total_tokens"] = prompt + answer
        return replace(reply, body={**reply.body, "usage": usage})


@contextmanager
def model_server(
    responder: Responder = oracle, most_requests: int = MAX_REQUESTS
) -> Iterator[ModelServer]:
    """Run a server on a free port, in threads, while the block runs."""
    http = _Http(responder, most_requests)
    with serving(http):
        try:
            yield http.model
        finally:
            http.model.closing.set()
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


class _Handler(Handler):
    server: _Http
    timeout = MAX_SECONDS

    def do_POST(self) -> None:
        model = self.server.model
        body = json.loads(self.read_body())
        headers = {name.lower(): value for name, value in self.headers.items()}
        dialect = dialect_of(self.path)
        asked = dialect.asked(self.path, body)
        reply = model.reply(Asked(headers, asked))
        if reply.silent:
            model.closing.wait(MAX_SECONDS)
        elif not reply.hangs_up:
            # The client may have given up.
            with suppress(ConnectionError):
                body = _in(dialect, reply, asked["model"]).body
                text = body if isinstance(body, str) else json.dumps(body)
                self.send(text, reply.status, {**JSON, **reply.headers})


def _in(dialect: OpenAi, reply: Reply, model: str) -> Reply:
    """Return a reply in a dialect; only completions and errors are translated."""
    if isinstance(reply.body, str):
        return reply
    body = {"model": model, **reply.body}
    if reply.status >= 400:
        return replace(reply, body=dialect.refused(reply.status, body))
    return replace(reply, body=dialect.said(body) if "usage" in body else body)


def _serve_slowly(seconds: float, most_requests: int) -> None:
    """Answer honestly after some seconds, until stdin is closed.

    Prints JSON lines: its address; for each line of stdin, the number of requests and the tokens of
    questions and answers; in the end, when each request began and ended, and the share of the
    second question to write that a prefix cache could serve.
    """
    moments: list[tuple[float, float]] = []

    def respond(asked: Asked) -> Reply:
        began = time.monotonic()
        reply = oracle(asked)
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        moments.append((began, time.monotonic()))
        return reply

    count("")  # what counts is loaded before anybody asks
    with model_server(respond, most_requests) as server:
        _tell(server.base)
        for _ in sys.stdin:
            questions, answers = zip(*server.taken, strict=True) if server.taken else ((), ())
            _tell([len(server.asked), sum(questions), sum(answers)])
        _tell([moments, _cacheable([asked for asked in server.asked if asked.kind == "write"])])


def _cacheable(writing: Sequence[Asked]) -> float:
    """Return which share of the second question's tokens is a prefix of the first."""
    if len(writing) < 2:
        return 0.0
    first, second = (
        "".join(message["content"] for message in asked.messages) for asked in writing[:2]
    )
    same = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    return count(first[: len(list(same))]) / count(second)


def _tell(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _serve_slowly(float(sys.argv[1]), int(sys.argv[2]))
