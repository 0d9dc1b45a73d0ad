"""Writes requests for Amazon Bedrock's Converse API."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from treadle._models.media import inline, source_of
from treadle._models.transport.block_messages import UNSTREAMED_CAP, BlockForms, Part, marked, thinks, visible, written
from treadle._models.transport.wire import EncodedMessages, arguments_of, as_dict, encode
from treadle._models.transport.writer import Writer, is_reply
from treadle._types.errors import ConfigError
from treadle._types.messages import AssistantMessage, Content, ImagePart, MediaPart, TextPart, ToolCall, ToolMessage
from treadle._types.profile import Profile
from treadle._types.request import OutputFormat, Request, ToolSchema

API = "bedrock.converse"
NO_CALLS = "Do not call a tool now: answer in words."
"""Converse has no choice `none`, and it refuses a conversation with calls in it when no tools are sent."""
_CACHE_POINT = b'{"cachePoint":{"type":"default"}}'
_CACHES = re.compile(r"claude|nova", re.IGNORECASE)
_CLAUDE = re.compile(r"claude", re.IGNORECASE)


class ConverseWriter(Writer):
    def __init__(
        self, name: str, profile: Profile, extra: Mapping[str, Any], provider_tools: Sequence[Any] = ()
    ) -> None:
        super().__init__(name, profile, extra, provider_tools)
        self._inference = as_dict(self._extra.pop("inferenceConfig", None))
        self._thinks = thinks(as_dict(self._extra.get("additionalModelRequestFields")), profile)
        self._caches = bool(_CACHES.search(name))
        self._is_claude = bool(_CLAUDE.search(name))

    def body(self, request: Request, encoded: EncodedMessages[Part], streaming: bool) -> bytes:
        system, turns = BLOCKS.conversation(self._name, request, encoded)
        # Writing into the cache costs extra, and a single question without tools is unlikely to be continued.
        caches = self._caches and (bool(request.tools) or len(turns) > 1)
        if caches and system:
            system.append(_CACHE_POINT)
        if caches:
            turns = marked(turns, lambda blocks: blocks + b"," + _CACHE_POINT)
        if request.tools and request.tool_choice == "none":
            system.append(encode({"text": NO_CALLS}))
        pieces = [encode(settings)[1:-1]] if (settings := self._settings(request, streaming)) else []
        if request.tools:
            pieces.append(self._tool_config(request, encoded, mark=caches and not system))
        if system:
            pieces.append(b'"system":[%b]' % b",".join(system))
        return b"{%b}" % b",".join([*pieces, b'"messages":[%b]' % written(turns)])

    def _tool_config(self, request: Request, encoded: EncodedMessages[Part], *, mark: bool) -> bytes:
        tools = encoded.encode_tools(request.tools, _tool)
        if mark and self._is_claude:  # only here may the mark stand there
            tools = b"%b,%b]" % (tools[:-1], _CACHE_POINT)
        choice = self._tool_choice(request.tool_choice)
        chosen = b',"toolChoice":' + encode(choice) if choice else b""
        return b'"toolConfig":{"tools":%b%b}' % (tools, chosen)

    def _settings(self, request: Request, streaming: bool) -> dict[str, Any]:
        profile = self._profile
        config: dict[str, Any] = dict(self._inference)
        if request.max_tokens is not None:
            config["maxTokens"] = request.max_tokens
        elif self._is_claude and profile.max_output and "maxTokens" not in config:
            # Others have their maximum as the default.
            config["maxTokens"] = profile.max_output if streaming else min(profile.max_output, UNSTREAMED_CAP)
        if request.temperature is not None and profile.accepts_temperature and not self._thinks:
            config["temperature"] = min(request.temperature, 1.0)
        if stop := [text for text in request.stop if text.strip()]:
            config["stopSequences"] = stop[:4]
        settings = dict(self._extra)
        if config:
            settings["inferenceConfig"] = config
        if (wanted := self._schema(request)) is not None:
            settings["outputConfig"] = as_dict(settings.get("outputConfig")) | {"textFormat": _format(wanted)}
        return settings

    def _tool_choice(self, choice: str) -> dict[str, Any] | None:
        return self._chosen(choice, none=None, required={"any": {}}, named={"tool": {"name": choice}})


def _format(wanted: OutputFormat) -> dict[str, Any]:
    from treadle._models.anthropic.wire import enforceable  # the models with this ability are Anthropic's

    schema = encode(enforceable(wanted.schema)).decode()
    return {"type": "json_schema", "structure": {"jsonSchema": {"schema": schema, "name": wanted.name}}}


def _text(text: str) -> dict[str, Any]:
    return {"text": visible(text)}


def _content(content: Content) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [_text(content)]
    return [_text(part.text) if isinstance(part, TextPart) else _media(part) for part in content] or [_text("")]


def _media(part: MediaPart) -> dict[str, Any]:
    mime, data = inline(part)
    source: dict[str, Any] = {"bytes": data}
    if source_of(part) == "id":
        source = {"s3Location": {"uri": part.file_id or part.url}}
    elif source_of(part) == "url":
        raise ConfigError(
            f"Bedrock fetches nothing from an address ({part.url[:80]}): pass its bytes, or an s3:// address"
        )
    if isinstance(part, ImagePart):
        return {"image": {"format": mime.rpartition("/")[2].replace("jpg", "jpeg") or "png", "source": source}}
    # Names with other characters are refused.
    name = re.sub(r"[^\w()\[\] -]", "-", part.name.rpartition(".")[0] or part.name, flags=re.ASCII)[:200]
    return {"document": {"format": "pdf", "name": name.strip() or "file", "source": source}}


def _use(call: ToolCall) -> dict[str, Any]:
    arguments = msgspec.Raw(arguments_of(call).encode())
    return {"toolUse": {"toolUseId": call_id(call.id), "name": call.name, "input": arguments}}


def _result(message: ToolMessage) -> dict[str, Any]:
    blocks = _content(message.content) if message.content else [_text("")]
    result = {"toolUseId": call_id(message.call_id), "content": blocks}
    return {"toolResult": result | ({"status": "error"} if message.error else {})}


def call_id(text: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_-]", "_", text)[:64] or "_"


def _matches(content: list[Any], message: AssistantMessage) -> bool:
    stored = [as_dict(block) for block in content]
    text = "".join(str(block["text"]) for block in stored if "text" in block)
    uses = [as_dict(block["toolUse"]) for block in stored if "toolUse" in block]
    ids = [use.get("toolUseId") for use in uses if use.get("type") != "server_tool_use"]
    return is_reply(message, text, ids)


def _is_thought(block: dict[str, Any]) -> bool:
    return "reasoningContent" in block


BLOCKS = BlockForms(API, _text, _content, _use, _result, _is_thought, _matches)


def _tool(tool: ToolSchema) -> dict[str, Any]:
    spec: dict[str, Any] = {"name": tool.name, "inputSchema": {"json": {"type": "object"} | tool.parameters}}
    return {"toolSpec": spec | ({"description": tool.description} if tool.description.strip() else {})}
