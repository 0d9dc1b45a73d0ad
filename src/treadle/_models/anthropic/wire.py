"""Writes requests for Anthropic's Messages API."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from treadle._models.media import inline, source_of
from treadle._models.transport.block_messages import (
    UNSTREAMED_CAP,
    BlockForms,
    Part,
    blocks,
    marked,
    thinks,
    visible,
    written,
)
from treadle._models.transport.wire import EncodedMessages, arguments_of, as_dict, as_list, encode
from treadle._models.transport.writer import Writer, is_reply
from treadle._types.messages import AssistantMessage, Content, ImagePart, MediaPart, TextPart, ToolCall, ToolMessage
from treadle._types.messages import Part as MessagePart
from treadle._types.profile import Profile
from treadle._types.request import Request, ToolSchema

API = "anthropic.messages"
DEFAULT_CAP = 4_096
TOOL_SEARCH = {"type": "tool_search_tool_bm25_20251119", "name": "tool_search_tool_bm25"}
_CACHE_MARK = b',"cache_control":{"type":"ephemeral"}}'
_SUPPORTED_KEYWORDS = frozenset(
    (
        "type",
        "description",
        "title",
        "enum",
        "const",
        "anyOf",
        "allOf",
        "$ref",
        "$defs",
        "properties",
        "required",
        "items",
        "format",
    )
)
_SUPPORTED_FORMATS = frozenset(
    ("date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid")
)


class MessagesWriter(Writer):
    def __init__(
        self,
        name: str,
        profile: Profile,
        extra: Mapping[str, Any],
        provider_tools: Sequence[Any] = (),
        head: Mapping[str, str] | None = None,
    ) -> None:
        """`head` replaces the model's name at the beginning of the body, where the address has the name."""
        super().__init__(name, profile, extra, provider_tools)
        self._head = {"model": name} if head is None else dict(head)
        self._output_config = as_dict(self._extra.pop("output_config", None))
        self._thinks = thinks(self._extra, profile)

    def body(
        self,
        request: Request,
        encoded: EncodedMessages[Part],
        streaming: bool,
        paused: Iterable[Any] = (),
        container: str = "",
    ) -> bytes:
        """The body of a request. To continue a paused turn, `paused` has its blocks so far and `container` the place
        where the provider's own tools ran."""
        instructions, turns = BLOCKS.conversation(self._name, request, encoded)
        system = b",".join(instructions)
        if unfinished := list(paused):
            turns.append(Part("assistant", blocks(unfinished)))
        settings = self._extra | self._settings(request, streaming) | ({"container": container} if container else {})
        head = encode({**self._head, "stream": streaming, **settings})[:-1]
        tools = self._tools(request, encoded, _tool, TOOL_SEARCH)
        # Writing into the cache costs extra, and a single question without tools is unlikely to be continued.
        if tools or len(turns) > 1:
            # Marks after what never changes and after the last two user turns: each request finds the one before it in
            # the cache.
            if system:
                system = _with_cache_mark(system)
            elif tools:
                tools = _with_cache_mark(tools[:-1]) + b"]"
            turns = marked(turns, _with_cache_mark)
        if system:
            system = b',"system":[' + system + b"]"
        return b'%b%b%b,"messages":[%b]}' % (head, tools, system, written(turns))

    def _settings(self, request: Request, streaming: bool) -> dict[str, Any]:
        profile = self._profile
        cap = profile.max_output or DEFAULT_CAP
        settings: dict[str, Any] = {
            "max_tokens": request.max_tokens or (cap if streaming else min(cap, UNSTREAMED_CAP))
        }
        if request.temperature is not None and profile.accepts_temperature and not self._thinks:
            settings["temperature"] = min(request.temperature, 1.0)
        if stop := [text for text in request.stop if text.strip()]:
            settings["stop_sequences"] = stop
        if request.tools and (choice := self._tool_choice(request.tool_choice)):
            settings["tool_choice"] = choice
        output = dict(self._output_config)
        if (wanted := self._schema(request)) is not None:
            output["format"] = {"type": "json_schema", "schema": enforceable(wanted.schema)}
        if output:
            settings["output_config"] = output
        return settings

    def _tool_choice(self, choice: str) -> dict[str, Any] | None:
        named = {"type": "tool", "name": choice}
        return self._chosen(choice, none={"type": "none"}, required={"type": "any"}, named=named)


def _with_cache_mark(blocks: bytes) -> bytes:
    return blocks[:-1] + _CACHE_MARK


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": visible(text)}


def _content(content: Content) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [_text(content)]
    return [_part(part) for part in content] or [_text("")]


def _part(part: MessagePart) -> dict[str, Any]:
    if isinstance(part, TextPart):
        return _text(part.text)
    block: dict[str, Any] = {"type": "image" if isinstance(part, ImagePart) else "document", "source": _source(part)}
    return block | {"title": part.name[:200]} if part.name and not isinstance(part, ImagePart) else block


def _source(part: MediaPart) -> dict[str, Any]:
    match source_of(part):
        case "id":
            return {"type": "file", "file_id": part.file_id}
        case "url":
            return {"type": "url", "url": part.url}
        case "data":
            mime, data = inline(part)
            return {"type": "base64", "media_type": mime, "data": data}


def _use(call: ToolCall) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "id": _call_id(call.id),
        "name": call.name,
        "input": msgspec.Raw(arguments_of(call).encode()),
    }


def _result(message: ToolMessage) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "tool_result", "tool_use_id": _call_id(message.call_id)}
    if message.content:
        block["content"] = message.content if isinstance(message.content, str) else _content(message.content)
    return block | {"is_error": True} if message.error else block


def _call_id(call_id: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", call_id) or "_"


def _matches(content: list[Any], message: AssistantMessage) -> bool:
    stored = [as_dict(block) for block in content]
    text = "".join(block["text"] for block in stored if block.get("type") == "text")
    ids = [block["id"] for block in stored if block.get("type") == "tool_use"]
    return is_reply(message, text, ids)


def _is_thought(block: dict[str, Any]) -> bool:
    return block.get("type") in ("thinking", "redacted_thinking")


BLOCKS = BlockForms(API, _text, _content, _use, _result, _is_thought, _matches)


def _tool(tool: ToolSchema) -> dict[str, Any]:
    written = {"name": tool.name, "description": tool.description, "input_schema": {"type": "object"} | tool.parameters}
    return written | {"defer_loading": True} if tool.deferred else written


def enforceable(schema: Any) -> Any:
    """A schema in the supported part of JSON Schema, with closed objects; other constraints move into descriptions."""
    fields = dict(as_dict(schema))
    if "oneOf" in fields:
        fields["anyOf"] = fields.pop("oneOf")
    written = {key: value for key, value in fields.items() if key in _SUPPORTED_KEYWORDS}
    if written.get("format") not in _SUPPORTED_FORMATS:
        written.pop("format", None)
    for key in ("$defs", "properties"):
        if key in written:
            written[key] = {name: enforceable(inner) for name, inner in as_dict(written[key]).items()}
    for key in ("anyOf", "allOf"):
        if key in written:
            written[key] = [enforceable(inner) for inner in as_list(written[key])]
    if "items" in written:
        written["items"] = enforceable(written["items"])
    if written.get("type") == "object":
        written["additionalProperties"] = False
    ignored = ("additionalProperties", "default", "examples", "$schema", "$id")
    unsupported = {key: value for key, value in fields.items() if key not in written and key not in ignored}
    if unsupported:
        note = ", ".join(f"{key}: {encode(value).decode()}" for key, value in unsupported.items())
        written["description"] = f"{written.get('description', '')} ({note})".strip()
    return written
