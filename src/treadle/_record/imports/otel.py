"""OpenTelemetry traces with GenAI attributes, as far as they carry contents.

Read are OTLP as JSON (one document, or a line for each export) and the spans that Python's SDK prints. Contents may be
in the attributes of today's conventions (`gen_ai.input.messages`), in events of the span, or in numbered attributes
(`gen_ai.prompt.0.content`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from treadle._models.transport.wire import as_count, as_dict, as_list, as_text, encode
from treadle._record.imports.conversation import (
    Conversation,
    Found,
    Imported,
    decoded,
    number_of,
    reply_of,
    time_of,
)
from treadle._record.reading.asked import call_of, names_by_id, schemas_of
from treadle._record.reading.requests import chat_messages
from treadle._types.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from treadle._types.request import Finish, ToolSchema
from treadle._types.usage import Usage

_FINISH: dict[str, Finish] = {"length": "length", "max_tokens": "length", "content_filter": "filter"}
_NUMBERED = re.compile(r"gen_ai\.(prompt|completion)\.(\d{1,9})\.(.+)")


class Span(Struct, frozen=True):
    """The fields of a span that are needed here."""

    attributes: dict[str, Any]
    events: list[tuple[str, dict[str, Any]]]
    start: float
    end: float


def spans_in(value: Any) -> Iterator[Span]:
    """Every span in a document: OTLP, the console form of the SDK, or lists of them."""
    if isinstance(value, list):
        for item in as_list(value):
            yield from spans_in(item)
        return
    fields = as_dict(value)
    groups = fields.get("resourceSpans") or fields.get("scopeSpans") or fields.get("spans")
    if groups is None and "attributes" in fields and ("start_time" in fields or "startTimeUnixNano" in fields):
        yield _span(fields)
    elif groups is not None and fields.get("traceId") is None:
        yield from spans_in(groups)


def traces(documents: list[Any]) -> Found | None:
    """The exchanges of a trace in the order in which they began."""
    spans = sorted((span for document in documents for span in spans_in(document)), key=lambda span: span.start)
    if not spans:
        return None
    calls = [span for span in spans if _is_model_call(span)]
    exchanges = [exchange for span in calls if (exchange := _exchange(span)) is not None]
    hint = "have its program capture messages (OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true)"
    return Found([exchanges] if exchanges else [], len(calls) - len(exchanges), hint)


def _is_model_call(span: Span) -> bool:
    operation = span.attributes.get("gen_ai.operation.name") or span.attributes.get("llm.request.type")
    return operation in ("chat", "generate_content", "text_completion")


def _exchange(span: Span) -> Imported | None:
    inputs, replies = _contents(span)
    reply = next((message for message in replies if isinstance(message, AssistantMessage)), None)
    if not inputs or reply is None:
        return None
    attributes = span.attributes
    system = "\n\n".join(
        as_text(as_dict(part).get("content")) for part in _json(attributes.get("gen_ai.system_instructions"))
    )
    model = as_text(attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model"))
    provider = as_text(attributes.get("gen_ai.provider.name") or attributes.get("gen_ai.system"))
    protocol = "anthropic.messages" if "anthropic" in provider else "gemini" if provider[:1] == "g" else "openai.chat"
    reasons = as_list(attributes.get("gen_ai.response.finish_reasons"))
    finish = _FINISH.get(as_text(reasons[0])) if reasons else None
    answered = reply_of(reply, _usage(attributes), finish, as_text(attributes.get("gen_ai.response.id")))
    conversation = Conversation(protocol, model, system, _tools(attributes))
    return conversation.exchange(inputs, answered, span.start, span.end)


def _contents(span: Span) -> tuple[list[Message], list[Message]]:
    inputs = _json(span.attributes.get("gen_ai.input.messages"))
    if inputs:
        return _messages(inputs), _messages(_json(span.attributes.get("gen_ai.output.messages")))
    if span.events and any(name.startswith("gen_ai.") for name, _ in span.events):
        return _from_events(span.events)
    return _from_numbers(span.attributes)


def _messages(raw: list[Any]) -> list[Message]:
    messages: list[Message] = []
    for item in map(as_dict, raw):
        parts = [as_dict(part) for part in as_list(item.get("parts"))]
        text = "\n".join(as_text(part.get("content")) for part in parts if part.get("type") == "text")
        calls = tuple(
            call_of(part.get("id"), part.get("name"), part.get("arguments"))
            for part in parts
            if part.get("type") == "tool_call"
        )
        thought = "\n".join(as_text(part.get("content")) for part in parts if part.get("type") == "reasoning")
        results = [part for part in parts if part.get("type") == "tool_call_response"]
        role = item.get("role")
        for part in results:
            call_id = as_text(part.get("id"))
            value = part.get("response", part.get("result"))
            content = value if isinstance(value, str) else encode(value).decode()
            messages.append(ToolMessage(call_id, names_by_id(messages).get(call_id, ""), content))
        if role == "assistant":
            messages.append(AssistantMessage(text, calls, thought))
        elif role == "system":
            messages.append(SystemMessage(text))
        elif text or not results:
            messages.append(UserMessage(text))
    return messages


def _from_events(events: list[tuple[str, dict[str, Any]]]) -> tuple[list[Message], list[Message]]:
    inputs: list[Any] = []
    replies: list[Any] = []
    for name, fields in events:
        kind = name.removeprefix("gen_ai.").removesuffix(".message")
        if name == "gen_ai.choice":
            message = as_dict(decoded(fields.get("message"))) or fields
            replies.append({"role": "assistant", **message, "tool_calls": _json(message.get("tool_calls"))})
        elif kind in ("user", "system", "assistant", "tool"):
            body = {"role": kind, **fields, "tool_calls": _json(fields.get("tool_calls"))}
            inputs.append(body | {"tool_call_id": fields.get("id")} if kind == "tool" else body)
    return chat_messages(inputs), chat_messages(replies)


def _from_numbers(attributes: dict[str, Any]) -> tuple[list[Message], list[Message]]:
    """`gen_ai.prompt.0.tool_calls.1.name` and its like."""
    sides: dict[str, dict[int, dict[str, Any]]] = {"prompt": {}, "completion": {}}
    for key, value in attributes.items():
        if (match := _NUMBERED.fullmatch(key)) is None:
            continue
        message = sides[match[1]].setdefault(int(match[2]), {"role": "assistant"} if match[1] == "completion" else {})
        field, _, rest = match[3].partition(".")
        if field == "tool_calls" and rest:
            number, _, name = rest.partition(".")
            call = message.setdefault("calls", {}).setdefault(number, {})
            call[name] = value
        else:
            message[field] = value
    return tuple(chat_messages([_numbered(one) for _, one in sorted(side.items())]) for side in sides.values())  # pyright: ignore[reportReturnType]


def _numbered(message: dict[str, Any]) -> dict[str, Any]:
    calls = [
        {"id": call.get("id"), "function": {"name": call.get("name"), "arguments": call.get("arguments")}}
        for _, call in sorted(as_dict(message.pop("calls", {})).items())
    ]
    return message | {"tool_calls": calls}


def _tools(attributes: dict[str, Any]) -> tuple[ToolSchema, ...]:
    declared = [as_dict(tool) for tool in _json(attributes.get("gen_ai.tool.definitions"))]
    return schemas_of(as_dict(tool.get("function")) or tool for tool in declared)


def _usage(attributes: dict[str, Any]) -> Usage:
    def count(*names: str) -> int:
        return next(
            (as_count(attributes[f"gen_ai.usage.{name}"]) for name in names if f"gen_ai.usage.{name}" in attributes), 0
        )

    return Usage(
        count("input_tokens", "prompt_tokens"),
        count("output_tokens", "completion_tokens"),
        count("cache_read.input_tokens", "cached_tokens"),
        count("cache_creation.input_tokens"),
        count("reasoning.output_tokens"),
        requests=1,
    )


def _span(fields: dict[str, Any]) -> Span:
    events = [
        (as_text(as_dict(event).get("name")), _attributes(as_dict(event).get("attributes")))
        for event in as_list(fields.get("events"))
    ]
    start, end = (
        number_of(fields[nanos]) / 1e9 if nanos in fields else time_of(fields.get(name))
        for nanos, name in (("startTimeUnixNano", "start_time"), ("endTimeUnixNano", "end_time"))
    )
    return Span(_attributes(fields.get("attributes")), events, start, end)


def _attributes(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return as_dict(value)
    return {as_text(as_dict(pair).get("key")): _value(as_dict(as_dict(pair).get("value"))) for pair in as_list(value)}


def _value(value: dict[str, Any]) -> Any:
    for kind, inner in value.items():
        if kind == "arrayValue":
            return [_value(as_dict(item)) for item in as_list(as_dict(inner).get("values"))]
        if kind == "kvlistValue":
            return _attributes(as_dict(inner).get("values"))
        return _whole(inner) if kind == "intValue" else inner
    return None


def _whole(value: Any) -> Any:
    """OTLP writes whole numbers as texts."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return value


def _json(value: Any) -> list[Any]:
    return as_list(decoded(value))
