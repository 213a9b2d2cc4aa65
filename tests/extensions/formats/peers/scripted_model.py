"""A model on loopback that plays a script of calls of an agent's own tools.

It speaks Anthropic's messages API and OpenAI's chat API, each as a stream where that is asked for.
The number of tool results in a request says which step comes next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from typing import Any

from http_servers import Handler, serving

EVENTS = {"content-type": "text/event-stream"}
# What it says when the script is at its end.
DONE = "ok"


@dataclass(frozen=True)
class Call:
    """A tool that the agent must call."""

    tool: str
    arguments: Mapping[str, Any]


# Yields calls, and is sent what each gave.
Play = Generator[Call, str, None]


@dataclass
class ScriptedModel:
    """A script, and the requests of the agent."""

    # A play adds its calls.
    script: list[Call]
    play: Play | None = None
    # The number of results of earlier sessions, which requests repeat.
    before: int = 0
    # Answers a request by itself, such as one of a subagent; None for one that the script answers.
    answer: Callable[[Mapping[str, Any]], str | None] = lambda _: None
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)

    @property
    def sent(self) -> str:
        """All that the agent has sent: what it loaded, and the results of its tools."""
        return json.dumps(self.requests, ensure_ascii=False)

    @property
    def results(self) -> list[str]:
        """The results of its tools in the longest request."""
        by_request = [_results(request) for request in self.requests]
        return max(by_request, key=len, default=[])

    def next_call(self, request: Mapping[str, Any]) -> tuple[int, Call] | None:
        """Return the step that comes next, and its number; None at the end, and without tools."""
        results = _results(request)[self.before :]
        names = [tool.get("name") or tool["function"]["name"] for tool in request.get("tools", ())]
        if not names:
            return None
        if len(results) == len(self.script):
            self._play_on(results)
        if len(results) >= len(self.script) or self.script[len(results)].tool not in names:
            return None
        return self.before + len(results), self.script[len(results)]

    def _play_on(self, results: list[str]) -> None:
        """Add the next call of the play, if there is one."""
        if self.play is not None:
            with suppress(StopIteration):
                self.script.append(self.play.send(results[-1]) if results else next(self.play))


def _results(request: Mapping[str, Any]) -> list[str]:
    """Return the results of tools, in order, in either API's form."""
    texts = []
    for message in request["messages"]:
        if message["role"] == "tool":
            texts.append(_text(message["content"]))
        elif isinstance(message["content"], list):
            texts += [
                _text(item["content"])
                for item in message["content"]
                if item["type"] == "tool_result"
            ]
    return texts


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(item.get("text", "") for item in content or ())


def _anthropic(step: tuple[int, Call] | None, text: str) -> dict[str, Any]:
    """Return a whole message of the messages API: a step, or a text."""
    if step is None:
        content: dict[str, Any] = {"type": "text", "text": text}
    else:
        index, call = step
        content = {"type": "tool_use", "id": f"toolu_{index}", "name": call.tool}
        content["input"] = dict(call.arguments)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": [content],
        "stop_reason": "end_turn" if step is None else "tool_use",
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def _anthropic_events(message: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    (content,) = message["content"]
    yield "message_start", {"message": message | {"content": [], "stop_reason": None}}
    if content["type"] == "text":
        empty, delta = {"text": ""}, {"type": "text_delta", "text": content["text"]}
    else:
        empty = {"input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(content["input"])}
    yield "content_block_start", {"index": 0, "content_block": content | empty}
    yield "content_block_delta", {"index": 0, "delta": delta}
    yield "content_block_stop", {"index": 0}
    yield (
        "message_delta",
        {"delta": {"stop_reason": message["stop_reason"]}, "usage": {"output_tokens": 1}},
    )
    yield "message_stop", {}


def _openai(step: tuple[int, Call] | None, text: str) -> dict[str, Any]:
    """Return a whole completion of the chat API: a step, or a text."""
    message: dict[str, Any] = {"role": "assistant", "content": text if step is None else None}
    if step is not None:
        index, call = step
        function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
        message["tool_calls"] = [{"id": f"call_{index}", "type": "function", "function": function}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "scripted",
        "choices": [
            {
                "index": 0,
                "message": message,
                "finish_reason": "stop" if step is None else "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _openai_chunks(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    (choice,) = whole["choices"]
    delta = dict(choice["message"])
    if "tool_calls" in delta:
        delta["tool_calls"] = [{"index": 0, **delta["tool_calls"][0]}]
    head = whole | {"object": "chat.completion.chunk"}
    usage = head.pop("usage")
    yield head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield head | {
        "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}],
        "usage": usage,
    }


@contextmanager
def scripted_model(script: Sequence[Call] = (), **options: Any) -> Iterator[ScriptedModel]:
    """Serve a script while the block runs; options: those of `ScriptedModel`."""
    model = ScriptedModel([*script], **options)

    class Answering(Handler):
        def do_POST(self) -> None:
            """Answer what the agent asks for next."""
            request = json.loads(self.read_body())
            if "messages" not in request or "count_tokens" in self.path:
                self.send(json.dumps({"input_tokens": 1}))
                return
            model.requests.append(request)
            text = model.answer(request)
            step = model.next_call(request) if text is None else None
            form = _openai if "/chat/completions" in self.path else _anthropic
            whole = form(step, text or DONE)
            if not request.get("stream"):
                self.send(json.dumps(whole))
            elif "/chat/completions" in self.path:
                chunks = [json.dumps(chunk) for chunk in _openai_chunks(whole)]
                lines = [f"data: {item}\n\n" for item in (*chunks, "[DONE]")]
                self.send("".join(lines), headers=EVENTS)
            else:
                lines = [
                    f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"
                    for kind, data in _anthropic_events(whole)
                ]
                self.send("".join(lines), headers=EVENTS)

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Answering)) as model.url:
        yield model
