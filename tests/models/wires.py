"""The wire formats of the providers with servers of their own, for the contract tests."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from models.loopback import Answer, reply, split, stream
from treadle._models.anthropic.model import AnthropicModel
from treadle._models.gemini.model import GeminiModel
from treadle._models.http_model import HttpModel
from treadle._models.openai.chat import OpenAIModel
from treadle._models.openai.responses import ResponsesModel

KEY = "contract-key-0815"
HOW = ("plain", "one", "seven", "crlf", "comments", "gzip", "no end")
"""The ways in which a stream is sent. What is not text has no line ends: there these are other cuts."""


@dataclass(frozen=True)
class Sample:
    """What the pretended model says, to be written in an adapter's format."""

    text: str = ""
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    """Id, name, arguments."""
    reasoning: str = ""
    finish: str = "stop"
    """stop | calls | length"""


@dataclass(frozen=True)
class Sent:
    """A request body, read back: what the provider would see."""

    system: str
    texts: tuple[str, ...]
    """What user and assistant say, in order."""
    calls: tuple[tuple[str, str, Any], ...]
    results: tuple[tuple[str, str], ...]
    tools: tuple[str, ...]
    stream: bool


class Wire(ABC):
    """One provider's format: how it writes a `Sample`, and how its requests are read."""

    name: str
    key_header: str
    messages_key = "messages"
    signs_reasoning = False
    """Reasoning must come back unchanged when the conversation goes on."""
    usage = (100, 20, 40)
    """The input, output and cached tokens that every reply reports."""

    @abstractmethod
    def model(self, url: str, **options: Any) -> HttpModel: ...

    @abstractmethod
    def whole(self, sample: Sample) -> Answer: ...

    @abstractmethod
    def events(self, sample: Sample) -> list[str]:
        """The event stream, one string per event; the last one or two say that the reply is complete."""

    @abstractmethod
    def sent(self, body: Any) -> Sent: ...

    def error(self, status: int, message: str, **headers: str) -> Answer:
        return reply({"error": {"message": message}}, status, **headers)

    @abstractmethod
    def error_event(self, message: str) -> str: ...

    def encoded(self, sample: Sample) -> list[bytes]:
        """The events as they are sent."""
        return [item.encode() for item in self.events(sample)]

    def encoded_error(self, message: str) -> bytes:
        return self.error_event(message).encode()

    def documents(self, sample: Sample) -> list[Any]:
        """What the events of a stream carry, one JSON document each."""
        lines = "".join(self.events(sample)).split("\n")
        return [json.loads(line[6:]) for line in lines if line.startswith("data: {")]

    def framed(self, body: bytes) -> bytes:
        """Any bytes as the payload of an event."""
        return b"data: " + body + b"\n\n"

    def send(self, *pieces: bytes, **changes: Any) -> Answer:
        """A response that streams these bytes."""
        return stream(*pieces, **changes)

    def stream(self, sample: Sample, **changes: Any) -> Answer:
        return self.send(*self.encoded(sample), **changes)

    def streamed(self, sample: Sample, how: str) -> Answer:
        """The same stream, sent in one of the ways of `HOW`."""
        events = self.events(sample)
        text = "".join(events)
        match how:
            case "one" | "seven":
                return stream(*split(text.encode(), 1 if how == "one" else 7))
            case "crlf":
                return stream(*split(text.replace("\n", "\r\n").encode(), 7))
            case "comments":
                return stream(": hello\n\n", *(": keep-alive\n\n" + item for item in events))
            case "no end":
                return stream(text.rstrip("\n"))
            case _:
                return stream(*events, gzipped=how == "gzip")

    async def ask_without_key(self, model: type[HttpModel]) -> None:
        """Where nobody has given a key, the constructor says so."""
        model("gpt-5", base_url="https://example.com/v1")

    @property
    def overflow(self) -> str:
        return "This model's maximum context length is 10 tokens. However, your messages resulted in 11 tokens."


def event(value: Any, name: str = "") -> str:
    return (f"event: {name}\n" if name else "") + f"data: {json.dumps(value, ensure_ascii=False)}\n\n"


def pieces(text: str, size: int = 5) -> list[str]:
    return [text[start : start + size] for start in range(0, len(text), size)]


class ChatWire(Wire):
    name = "openai"
    key_header = "authorization"
    _usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
        "prompt_tokens_details": {"cached_tokens": 40},
    }
    _finish = {"stop": "stop", "calls": "tool_calls", "length": "length"}

    def model(self, url: str, **options: Any) -> HttpModel:
        return OpenAIModel("gpt-4o", base_url=url, api_key=KEY, **options)

    def whole(self, sample: Sample) -> Answer:
        message: dict[str, Any] = {"role": "assistant", "content": sample.text or None}
        if sample.reasoning:
            message["reasoning_content"] = sample.reasoning
        if sample.calls:
            message["tool_calls"] = [
                {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
                for call_id, name, arguments in sample.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": self._finish[sample.finish]}
        return reply({"id": "r1", "model": "m1", "choices": [choice], "usage": self._usage})

    def events(self, sample: Sample) -> list[str]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": piece} for piece in pieces(sample.reasoning)]
        deltas += [{"content": piece} for piece in pieces(sample.text)]
        for index, (call_id, name, arguments) in enumerate(sample.calls):
            deltas.append(
                {"tool_calls": [{"index": index, "id": call_id, "function": {"name": name, "arguments": ""}}]}
            )
            deltas += [
                {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
                for piece in pieces(json.dumps(arguments))
            ]
        chunks = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": self._finish[sample.finish]}]})
        chunks.append({"choices": [], "usage": self._usage})
        return [event({"id": "r1", "model": "m1", **chunk}) for chunk in chunks[:-2]] + [
            "".join(event({"id": "r1", "model": "m1", **chunk}) for chunk in chunks[-2:]) + "data: [DONE]\n\n"
        ]

    def error_event(self, message: str) -> str:
        return event({"error": {"message": message, "type": "server_error"}})

    def sent(self, body: Any) -> Sent:
        system, texts, calls, results = "", [], [], []
        for message in body["messages"]:
            if message["role"] in ("system", "developer"):
                system = message["content"]
            elif message["role"] == "tool":
                results.append((message["tool_call_id"], message["content"]))
            elif message["content"]:
                texts.append(message["content"])
            calls += [
                (call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
                for call in message.get("tool_calls", ())
            ]
        tools = tuple(tool["function"]["name"] for tool in body.get("tools", ()))
        return Sent(system, tuple(texts), tuple(calls), tuple(results), tools, body["stream"])


class AnthropicWire(Wire):
    name = "anthropic"
    key_header = "x-api-key"
    _usage = {"input_tokens": 60, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 0, "output_tokens": 20}
    _finish = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens"}

    def model(self, url: str, **options: Any) -> HttpModel:
        return AnthropicModel("claude-sonnet-4-5", base_url=url, api_key=KEY, **options)

    def _blocks(self, sample: Sample) -> list[dict[str, Any]]:
        thoughts = [{"type": "thinking", "thinking": sample.reasoning, "signature": "c2ln"}] if sample.reasoning else []
        texts = [{"type": "text", "text": sample.text}] if sample.text else []
        uses = [
            {"type": "tool_use", "id": call_id, "name": name, "input": arguments}
            for call_id, name, arguments in sample.calls
        ]
        return [*thoughts, *texts, *uses]

    def whole(self, sample: Sample) -> Answer:
        message = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m1",
            "content": self._blocks(sample),
        }
        return reply({**message, "stop_reason": self._finish[sample.finish], "usage": self._usage})

    def events(self, sample: Sample) -> list[str]:
        start = {
            "id": "msg_1",
            "type": "message",
            "model": "m1",
            "content": [],
            "usage": {**self._usage, "output_tokens": 1},
        }
        out = [event({"type": "message_start", "message": start}, "message_start"), event({"type": "ping"}, "ping")]
        for index, block in enumerate(self._blocks(sample)):
            empty = {**block, **{key: "" for key in ("text", "thinking", "signature") if key in block}}
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block.get("text", ""))]
            deltas += [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block.get("thinking", ""))]
            if "signature" in block:
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
            if "input" in block:
                empty["input"] = {}
                written = json.dumps(block["input"]) if block["input"] else ""
                deltas += [{"type": "input_json_delta", "partial_json": piece} for piece in ["", *pieces(written)]]
            out.append(
                event({"type": "content_block_start", "index": index, "content_block": empty}, "content_block_start")
            )
            out += [
                event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
                for delta in deltas
            ]
            out.append(event({"type": "content_block_stop", "index": index}, "content_block_stop"))
        end = {
            "type": "message_delta",
            "delta": {"stop_reason": self._finish[sample.finish]},
            "usage": {"output_tokens": 20},
        }
        out.append(event(end, "message_delta") + event({"type": "message_stop"}, "message_stop"))
        return out

    def error(self, status: int, message: str, **headers: str) -> Answer:
        return reply({"type": "error", "error": {"type": "some_error", "message": message}}, status, **headers)

    def error_event(self, message: str) -> str:
        return event({"type": "error", "error": {"type": "overloaded_error", "message": message}}, "error")

    @property
    def overflow(self) -> str:
        return "prompt is too long: 213462 tokens > 200000 maximum"

    def sent(self, body: Any) -> Sent:
        texts, calls, results = [], [], []
        for message in body["messages"]:
            for block in message["content"]:
                if block["type"] == "text":
                    texts.append(block["text"])
                elif block["type"] == "tool_use":
                    calls.append((block["id"], block["name"], block["input"]))
                elif block["type"] == "tool_result":
                    results.append((block["tool_use_id"], block["content"]))
        system = "".join(block["text"] for block in body.get("system", ()))
        tools = tuple(tool["name"] for tool in body.get("tools", ()))
        return Sent(system, tuple(texts), tuple(calls), tuple(results), tools, body["stream"])


class GeminiWire(Wire):
    name = "gemini"
    key_header = "x-goog-api-key"
    _usage = {
        "promptTokenCount": 100,
        "candidatesTokenCount": 15,
        "thoughtsTokenCount": 5,
        "cachedContentTokenCount": 40,
    }
    _finish = {"stop": "STOP", "calls": "STOP", "length": "MAX_TOKENS"}

    def model(self, url: str, **options: Any) -> HttpModel:
        return GeminiModel("gemini-2.5-flash", base_url=url, api_key=KEY, **options)

    def _parts(self, sample: Sample) -> list[dict[str, Any]]:
        calls = [
            {"functionCall": {"id": call_id, "name": name, "args": arguments}}
            for call_id, name, arguments in sample.calls
        ]
        thoughts = [{"text": sample.reasoning, "thought": True}] if sample.reasoning else []
        return [*thoughts, *([{"text": sample.text}] if sample.text else []), *calls]

    def _answer(self, parts: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0, **more}
        return {"candidates": [candidate], "usageMetadata": self._usage, "modelVersion": "m1", "responseId": "r1"}

    def whole(self, sample: Sample) -> Answer:
        return reply(self._answer(self._parts(sample), finishReason=self._finish[sample.finish]))

    def events(self, sample: Sample) -> list[str]:
        out: list[str] = []
        for part in self._parts(sample):
            out += [event(self._answer([part | {"text": piece}])) for piece in pieces(part.get("text", ""))]
            if "functionCall" in part:
                out.append(event(self._answer([part])))
        return [*out, event(self._answer([{"text": ""}], finishReason=self._finish[sample.finish]))]

    def error(self, status: int, message: str, **headers: str) -> Answer:
        return reply({"error": {"code": status, "message": message, "status": "SOME_STATUS"}}, status, **headers)

    def error_event(self, message: str) -> str:
        return event({"error": {"code": 503, "message": message, "status": "UNAVAILABLE"}})

    @property
    def overflow(self) -> str:
        return "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."

    def sent(self, body: Any) -> Sent:
        texts, calls, results = [], [], []
        for content in body["contents"]:
            for part in content["parts"]:
                if call := part.get("functionCall"):
                    calls.append((call["id"], call["name"], call["args"]))
                elif result := part.get("functionResponse"):
                    results.append((result["id"], *result["response"].values()))
                else:
                    texts.append(part["text"])
        system = "".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", ()))
        tools = tuple(tool["name"] for group in body.get("tools", ()) for tool in group["functionDeclarations"])
        return Sent(system, tuple(texts), tuple(calls), tuple(results), tools, False)


class ResponsesWire(Wire):
    name = "responses"
    key_header = "authorization"
    _usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 40},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 120,
    }

    def model(self, url: str, **options: Any) -> HttpModel:
        return ResponsesModel("gpt-4o", base_url=url, api_key=KEY, **options)

    def _items(self, sample: Sample) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        if sample.reasoning:
            summary = [{"type": "summary_text", "text": sample.reasoning}]
            items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "zzz"})
        if sample.text:
            content = [{"type": "output_text", "text": sample.text, "annotations": []}]
            items.append(
                {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
            )
        for call_id, name, arguments in sample.calls:
            call = {"type": "function_call", "id": f"fc_{call_id}", "call_id": call_id, "name": name}
            items.append({**call, "arguments": json.dumps(arguments), "status": "completed"})
        return items

    def _response(self, sample: Sample) -> dict[str, Any]:
        base: dict[str, Any] = {
            "id": "resp_1",
            "object": "response",
            "model": "m1",
            "error": None,
            "output": self._items(sample),
        }
        if sample.finish == "length":
            return {
                **base,
                "status": "incomplete",
                "incomplete_details": {"reason": "max_output_tokens"},
                "usage": self._usage,
            }
        return {**base, "status": "completed", "incomplete_details": None, "usage": self._usage}

    def whole(self, sample: Sample) -> Answer:
        return reply(self._response(sample))

    def events(self, sample: Sample) -> list[str]:
        def make(kind: str, **fields: Any) -> str:
            return event({"type": kind, **fields}, kind)

        started = {
            "id": "resp_1",
            "object": "response",
            "model": "m1",
            "status": "in_progress",
            "output": [],
            "usage": None,
        }
        out = [make("response.created", response=started)]
        for index, item in enumerate(self._items(sample)):
            if item["type"] == "function_call":
                out.append(make("response.output_item.added", output_index=index, item=item | {"arguments": ""}))
                kind, whole = "response.function_call_arguments", item["arguments"]
            elif item["type"] == "message":
                out.append(make("response.output_item.added", output_index=index, item=item | {"content": []}))
                kind, whole = "response.output_text", sample.text
            else:
                out.append(make("response.output_item.added", output_index=index, item=item | {"summary": []}))
                out.append(make("response.reasoning_summary_part.added", output_index=index, summary_index=0))
                kind, whole = "response.reasoning_summary_text", sample.reasoning
            out += [make(f"{kind}.delta", output_index=index, delta=piece) for piece in pieces(whole)]
            out.append(make(f"{kind}.done", output_index=index, text=whole, arguments=whole))
            out.append(make("response.output_item.done", output_index=index, item=item))
        kind = "response.incomplete" if sample.finish == "length" else "response.completed"
        return [*out, make(kind, response=self._response(sample))]

    def error_event(self, message: str) -> str:
        return event({"type": "error", "code": "server_error", "message": message, "param": None}, "error")

    def sent(self, body: Any) -> Sent:
        system, texts, calls, results = "", [], [], []
        for item in body["input"]:
            if item.get("type") == "function_call":
                calls.append((item["call_id"], item["name"], json.loads(item["arguments"])))
            elif item.get("type") == "function_call_output":
                results.append((item["call_id"], item["output"]))
            elif item["role"] in ("system", "developer"):
                system = item["content"]
            else:
                texts.append(item["content"])
        tools = tuple(tool["name"] for tool in body.get("tools", ()))
        return Sent(system, tuple(texts), tuple(calls), tuple(results), tools, body["stream"])
