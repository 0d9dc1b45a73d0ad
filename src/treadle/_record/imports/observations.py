"""Calls of models as Langfuse and LangSmith have stored them: exports, pages of their interfaces, dumps of their SDKs.

What was said is in the form in which the program's library had it: messages of OpenAI or Anthropic, or LangChain's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from treadle._models.transport.wire import as_count, as_dict, as_list, as_text
from treadle._record.imports.conversation import Found, Imported, decoded, reply_of, time_of
from treadle._record.imports.dumps import read_conversation
from treadle._types.messages import AssistantMessage
from treadle._types.usage import Usage

_INSIDE = ("data", "observations", "runs", "child_runs")
"""Where lists of them stand in a document."""
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "function"}
"""LangChain's types of messages; its classes are named after them."""
_MAX_DEPTH = 20


class _Call(Struct, frozen=True):
    """A call of a model, whoever stored it."""

    inputs: Any
    output: Any
    fields: dict[str, Any]
    """What is said of the request besides its messages: the model, the tools."""
    usage: Usage
    began: float
    ended: float


def observations(documents: list[Any]) -> Found | None:
    """The calls of models in the order in which they began."""
    stored = list(_stored(documents))
    if not stored:
        return None
    calls = [call for item in stored if (call := _call_in(item)) is not None]
    calls.sort(key=lambda call: call.began)
    exchanges = [exchange for call in calls if (exchange := _exchange(call)) is not None]
    hint = "export observations with their input and output (Langfuse: fields=core,basic,io,model,usage)"
    return Found([exchanges] if exchanges else [], len(calls) - len(exchanges), hint)


def _stored(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    if depth > _MAX_DEPTH:
        return
    fields = as_dict(value)
    if "run_type" in fields or ("type" in fields and ("traceId" in fields or "trace_id" in fields)):
        yield fields
    for item in as_list(value) or [each for name in _INSIDE for each in as_list(fields.get(name))]:
        yield from _stored(item, depth + 1)


def _call_in(item: dict[str, Any]) -> _Call | None:
    """A call of a model; None for a tool, a chain, or whatever else is stored."""
    if item.get("run_type") == "llm":
        return _langsmith(item)
    return _langfuse(item) if as_text(item.get("type")).upper() == "GENERATION" else None


def _langfuse(item: dict[str, Any]) -> _Call:
    def either(name: str) -> Any:
        """A field under the name that the interface or the SDK gives it."""
        camel = "".join(part.title() if index else part for index, part in enumerate(name.split("_")))
        return item.get(camel, item.get(name))

    counted = as_dict(decoded(either("usage_details"))) or as_dict(item.get("usage"))
    inputs = decoded(item.get("input")) or item.get("input")
    model = item.get("model") or either("provided_model_name")
    return _Call(
        inputs,
        decoded(item.get("output")) or item.get("output"),
        {"model": model, **as_dict(inputs)},
        _usage(counted, lambda name: name.startswith(("input", "prompt", "cache"))),
        time_of(either("start_time")),
        time_of(either("end_time")),
    )


def _langsmith(item: dict[str, Any]) -> _Call:
    inputs, output = as_dict(decoded(item.get("inputs"))), as_dict(decoded(item.get("outputs")))
    extra = as_dict(decoded(item.get("extra")))
    asked, metadata = as_dict(extra.get("invocation_params")), as_dict(extra.get("metadata"))
    counted = as_dict(output.get("usage_metadata")) or as_dict(metadata.get("usage_metadata"))
    cached = as_dict(counted.get("input_token_details") or item.get("prompt_token_details")).get("cache_read")
    counted = {"input": counted.get("input_tokens"), "output": counted.get("output_tokens")} if counted else {
        "input": item.get("prompt_tokens"), "output": item.get("completion_tokens")
    }  # fmt: skip
    model = asked.get("model") or asked.get("model_name") or metadata.get("ls_model_name") or inputs.get("model")
    usage = _usage({**counted, "cache": cached}, lambda name: name == "input")  # here cached ones are in it
    began, ended = time_of(item.get("start_time")), time_of(item.get("end_time"))
    return _Call(inputs, output, {"tools": asked.get("tools"), **inputs, "model": model}, usage, began, ended)


def _usage(counted: dict[str, Any], is_input: Callable[[str], bool]) -> Usage:
    def total(belongs: Callable[[str], bool]) -> int:
        return sum(as_count(value) for name, value in counted.items() if belongs(name) and not name.endswith("ost"))

    output = total(lambda name: name.startswith(("output", "completion")))
    return Usage(total(is_input), output, total(lambda name: "cache" in name), requests=1)


def _exchange(call: _Call) -> Imported | None:
    inputs = [_plain(item) for item in _messages(call.inputs, "user")]
    tools = [item["content"] for item in inputs if isinstance(item.get("content"), dict)]  # Langfuse's, of LangChain
    raw = [item for item in inputs if not isinstance(item.get("content"), dict)]
    replies = [_plain(item) for item in _messages(call.output, "assistant")]
    fields = call.fields if call.fields.get("tools") or not tools else {**call.fields, "tools": tools}
    conversation, messages = read_conversation([*raw, *replies], fields)
    if not raw or not replies or not messages or not isinstance(reply := messages[-1], AssistantMessage):
        return None
    return conversation.exchange(messages[:-1], reply_of(reply, call.usage), call.began, call.ended)


def _messages(value: Any, role: str) -> list[dict[str, Any]]:
    """The messages of an input or an output; of several replies the first."""
    if isinstance(value, str):
        return [{"role": role, "content": value}]
    if isinstance(value, list):
        items = as_list(value)
        return _messages(items[0], role) if items and isinstance(items[0], list) else [as_dict(item) for item in items]
    fields = as_dict(value)
    if "role" in fields or "lc" in fields or fields.get("type") in ("function_call", "message"):
        return [fields]
    if generations := as_list(fields.get("generations")):  # LangChain's LLMResult
        first = as_dict(next(iter(as_list(generations[0]) or generations), None))
        return _messages(first.get("message") or as_text(first.get("text")), role)
    if choices := as_list(fields.get("choices")):
        return _messages(as_dict(choices[0]).get("message"), role)
    inside = next((fields[name] for name in ("messages", "input", "output", "prompts") if fields.get(name)), None)
    return _messages(inside, role) if inside is not None else []


def _plain(item: dict[str, Any]) -> dict[str, Any]:
    """A message in the form of one of the protocols, also where LangChain has written it in its own."""
    if item.get("lc"):
        name = as_text(next(iter(as_list(item.get("id"))[-1:]), ""))
        kind = name.removesuffix("Chunk").removesuffix("Message").lower()
        item = {"type": kind, **as_dict(item.get("kwargs"))}
    if "role" not in item and (role := _ROLES.get(as_text(item.get("type")))):
        item = {**(as_dict(item.get("data")) or item), "role": role}
    calls = [as_dict(call) for call in as_list(item.get("tool_calls"))]
    if not any("args" in call for call in calls):
        return item
    blocks = as_list(item.get("content"))
    text = item.get("content") if not blocks else [b for b in blocks if as_dict(b).get("type") == "text"]
    functions = [
        {"id": call.get("id"), "function": {"name": call.get("name"), "arguments": call.get("args")}} for call in calls
    ]
    return {**item, "content": text, "tool_calls": functions}
