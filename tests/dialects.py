"""The protocols of model servers other than that of OpenAI: requests and answers.

A dialect turns a request into OpenAI's form, in which tests look at it, and a reply from it. Forms
as of September 2025: https://docs.anthropic.com/en/api/messages,
https://ai.google.dev/api/generate-content, https://docs.ollama.com/api and llama.cpp's
tools/server/README.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# litellm's name of a model, and the path after the address of its server.
PROVIDERS = {
    "OpenAI": ("openai/gpt-4o-mini", "/v1"),
    "OpenAI, thinking": ("openai/gpt-5-mini", "/v1"),
    "Anthropic": ("anthropic/claude-sonnet-4-5", ""),
    "Anthropic, older": ("anthropic/claude-3-5-haiku-20241022", ""),
    "Gemini": ("gemini/gemini-2.5-flash", ""),
    "Gemini, unknown": ("gemini/gemini-99-flash", ""),
    "Ollama": ("ollama/llama3", ""),
    "Ollama, chat": ("ollama_chat/llama3", ""),
    "llama.cpp": ("openai/scripted", "/llama.cpp/v1"),
}

Body = Mapping[str, Any]
# How litellm writes messages into the one text that Ollama completes.
_TURN = re.compile(r"### (System|User|Assistant):\n(.*?)\n\n(?=### |\Z)", re.DOTALL)


class OpenAi:
    """The protocol of OpenAI itself."""

    def asked(self, path: str, body: Body) -> Body:
        """Return a request in OpenAI's form."""
        return body

    def said(self, body: Body) -> Body:
        """Return a completion in the form of this protocol."""
        return body

    def refused(self, status: int, body: Body) -> Body:
        """Return an error in the form of this protocol."""
        return body


class LlamaCpp(OpenAi):
    """llama.cpp's server: OpenAI's protocol with additions."""

    def said(self, body: Body) -> Body:
        return {**body, "system_fingerprint": "b6500-abcdef", "timings": {"predicted_n": 1}}

    def refused(self, status: int, body: Body) -> Body:
        message = body["error"]["message"]
        return {"error": {"code": status, "message": message, "type": "invalid_request_error"}}


class Anthropic(OpenAi):
    """Claude: the system's message apart, a form as a tool's or as an output format."""

    _REASONS: Mapping[str, str] = {
        "stop": "end_turn",
        "length": "max_tokens",
        "content_filter": "refusal",
    }

    def asked(self, path: str, body: Body) -> Body:
        system = "".join(part["text"] for part in body.get("system", []))
        turns = [
            {
                "role": message["role"],
                "content": "".join(part["text"] for part in message["content"]),
            }
            for message in body["messages"]
        ]
        tools = [tool["input_schema"] for tool in body.get("tools", [])]
        shape = body.get("output_format", {}).get("schema") or (tools[0] if tools else None)
        used = {name: body[name] for name in ("model", "max_tokens", "temperature") if name in body}
        messages = [{"role": "system", "content": system}, *turns]
        return {**used, "messages": messages, **_formed(shape), "tools": tools}

    def said(self, body: Body) -> Body:
        (choice,) = body["choices"]
        usage = body["usage"]
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": [{"type": "text", "text": choice["message"]["content"]}],
            "stop_reason": self._REASONS[choice["finish_reason"]],
            "stop_sequence": None,
            "usage": {
                "input_tokens": usage["prompt_tokens"],
                "output_tokens": usage["completion_tokens"],
            },
        }

    def refused(self, status: int, body: Body) -> Body:
        kinds = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
        kind = kinds.get(status, "invalid_request_error")
        return {"type": "error", "error": {"type": kind, "message": body["error"]["message"]}}


class Gemini(OpenAi):
    """Gemini: parts of contents, and how to generate apart; the path names the model."""

    _REASONS: Mapping[str, str] = {
        "stop": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
    }

    def asked(self, path: str, body: Body) -> Body:
        how = body.get("generationConfig", {})
        first, *rest = body["contents"]
        # To a model that it does not know litellm gives the system's part with the first question.
        instruction = body.get("system_instruction") or {"parts": first["parts"][:1]}
        if "system_instruction" not in body:
            first = {**first, "parts": first["parts"][1:]}
        turns = [
            {"role": "assistant" if each["role"] == "model" else "user", "content": _text(each)}
            for each in (first, *rest)
        ]
        match = re.search(r"/models/([^:]+):", path)
        used = {"max_tokens": how.get("max_output_tokens"), "temperature": how.get("temperature")}
        return {
            "model": match.group(1) if match else "",
            "messages": [{"role": "system", "content": _text(instruction)}, *turns],
            **{name: value for name, value in used.items() if value is not None},
            **_formed(how.get("response_json_schema") or how.get("response_schema")),
        }

    def said(self, body: Body) -> Body:
        (choice,) = body["choices"]
        usage = body["usage"]
        content = {"role": "model", "parts": [{"text": choice["message"]["content"]}]}
        reason = self._REASONS[choice["finish_reason"]]
        return {
            "candidates": [{"content": content, "finishReason": reason, "index": 0}],
            "usageMetadata": {
                "promptTokenCount": usage["prompt_tokens"],
                "candidatesTokenCount": usage["completion_tokens"],
                "totalTokenCount": usage["total_tokens"],
            },
            "modelVersion": body["model"],
        }

    def refused(self, status: int, body: Body) -> Body:
        kinds = {401: "UNAUTHENTICATED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED"}
        kind = kinds.get(status, "INVALID_ARGUMENT")
        return {"error": {"code": status, "message": body["error"]["message"], "status": kind}}


class Ollama(OpenAi):
    """Ollama, asked to complete one text."""

    def asked(self, path: str, body: Body) -> Body:
        turns = [
            {"role": role.lower(), "content": text} for role, text in _TURN.findall(body["prompt"])
        ]
        used = body.get("options", {})
        return {
            "model": body["model"],
            "messages": turns,
            "max_tokens": used.get("num_predict"),
            "num_ctx": used.get("num_ctx"),
            **({"temperature": used["temperature"]} if "temperature" in used else {}),
            **_formed(body.get("format")),
        }

    def said(self, body: Body) -> Body:
        (choice,) = body["choices"]
        usage = body["usage"]
        return {
            "model": body["model"],
            "created_at": "2025-09-01T00:00:00Z",
            **self._answer(choice["message"]["content"]),
            "done": True,
            "done_reason": choice["finish_reason"],
            "prompt_eval_count": usage["prompt_tokens"],
            "eval_count": usage["completion_tokens"],
        }

    def _answer(self, text: str) -> Body:
        return {"response": text}

    def refused(self, status: int, body: Body) -> Body:
        return {"error": body["error"]["message"]}


class OllamaChat(Ollama):
    """Ollama, asked with messages."""

    def asked(self, path: str, body: Body) -> Body:
        turns = [
            {"role": message["role"], "content": message["content"]} for message in body["messages"]
        ]
        return {**super().asked(path, {**body, "prompt": ""}), "messages": turns}

    def _answer(self, text: str) -> Body:
        return {"message": {"role": "assistant", "content": text}}


# By what the path of a request holds.
_DIALECTS: Mapping[str, OpenAi] = {
    "/v1/messages": Anthropic(),
    ":generateContent": Gemini(),
    "/api/generate": Ollama(),
    "/api/chat": OllamaChat(),
    "/llama.cpp/": LlamaCpp(),
    "": OpenAi(),
}


def dialect_of(path: str) -> OpenAi:
    """Return the dialect in which a path is asked."""
    return next(dialect for part, dialect in _DIALECTS.items() if part in path)


def _text(content: Body) -> str:
    return "".join(part["text"] for part in content["parts"])


def _formed(shape: Any) -> Body:
    """Return the requested form of the answer, as OpenAI spells it."""
    if not isinstance(shape, dict):
        return {}
    return {"response_format": {"type": "json_schema", "json_schema": {"schema": shape}}}
