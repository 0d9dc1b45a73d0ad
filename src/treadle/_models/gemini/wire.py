"""Writes requests for Gemini's generateContent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from treadle._models.gemini.schema import gemini_schema
from treadle._models.media import inline, source_of
from treadle._models.transport.block_messages import Part, blocks, joined_turns, written
from treadle._models.transport.provider_tools import joined, wanted
from treadle._models.transport.wire import EncodedMessages, arguments_of, as_dict, as_list, encode, media_of_results
from treadle._models.transport.writer import Writer, is_reply
from treadle._types.messages import (
    AssistantMessage,
    Content,
    MediaPart,
    Message,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
    text_of,
)
from treadle._types.profile import Profile
from treadle._types.request import Request, ToolSchema

API = "gemini"
UNSIGNED = "skip_thought_signature_validator"
"""What the provider expects instead of a signature on a call that another model made."""


class GeminiWriter(Writer):
    def __init__(
        self, name: str, profile: Profile, extra: Mapping[str, Any], provider_tools: Sequence[Any] = ()
    ) -> None:
        super().__init__(name, profile, extra, provider_tools)
        self._config = as_dict(self._extra.pop("generationConfig", None))
        self._signs = bool(re.search(r"gemini-[3-9]", name))

    def body(self, request: Request, encoded: EncodedMessages[Part], streaming: bool, continuation: str = "") -> bytes:
        """The body of a request, which is the same for a stream; `continuation` is the token that requests the rest of
        a reply."""
        parts = encoded.update(request.messages, self._message)
        system = b",".join(part.blocks for part in parts if part.role == "system")
        settings: dict[str, Any] = dict(self._extra)
        if config := self._settings(request):
            settings["generationConfig"] = config
        if request.tools and (choice := self._tool_choice(request.tool_choice)):
            settings["toolConfig"] = {"functionCallingConfig": choice}
        if continuation:
            settings["continuationToken"] = continuation
        pieces = [encode(settings)[1:-1]] if settings else []
        own = b'[{"functionDeclarations":%b}]' % encoded.encode_tools(request.tools, _tool) if request.tools else b""
        if listed := joined(own, self._provider_tools) if wanted(request) else own:
            pieces.append(b'"tools":' + listed)
        if system:
            pieces.append(b'"systemInstruction":{"parts":[%b]}' % system)
        turns = joined_turns([part for part in parts if part.role != "system"])
        pieces.append(b'"contents":[%b]' % written(turns, b"parts"))
        return b"{%b}" % b",".join(pieces)

    def _settings(self, request: Request) -> dict[str, Any]:
        profile = self._profile
        config: dict[str, Any] = {}
        if profile.reasoning:
            config["thinkingConfig"] = {"includeThoughts": True}
        if request.temperature is not None and profile.accepts_temperature:
            config["temperature"] = request.temperature
        if request.max_tokens is not None:
            config["maxOutputTokens"] = request.max_tokens
        if request.stop:
            config["stopSequences"] = request.stop[:5]
        if request.seed is not None:
            config["seed"] = request.seed
        # The API does not allow functions together with a JSON format.
        if request.format is not None and request.format.kind != "grammar" and not request.tools and profile.json_mode:
            config["responseMimeType"] = "application/json"
            if request.format.schema is not None and profile.json_schema:
                config["responseSchema"] = gemini_schema(request.format.schema)
        return config | self._config

    def _tool_choice(self, choice: str) -> dict[str, Any] | None:
        named = {"mode": "ANY", "allowedFunctionNames": [choice]}
        return self._chosen(choice, none={"mode": "NONE"}, required={"mode": "ANY"}, named=named)

    def _message(self, messages: Sequence[Message], index: int) -> Part:
        message = messages[index]
        match message:
            case SystemMessage(text=text):
                leading = all(isinstance(earlier, SystemMessage) for earlier in messages[:index])
                return Part("system" if leading else "user", blocks([{"text": text}]))
            case UserMessage(content=content):
                return Part("user", blocks(_content(content)))
            case AssistantMessage():
                return Part("model", blocks(self._assistant(message)))
            case ToolMessage():
                answer = {("error" if message.error else "output"): text_of(message.content)}
                result = {"functionResponse": {"id": message.call_id, "name": message.name, "response": answer}}
                return Part("user", blocks([result, *_content(media_of_results(messages, index))]))

    def _assistant(self, message: AssistantMessage) -> list[Any]:
        parts = as_list(self._stored(message, API).get("parts"))
        if parts and _matches(parts, message):
            return parts
        parts = [{"text": message.text}] if message.text else []
        for number, call in enumerate(message.calls):
            args = msgspec.Raw(arguments_of(call).encode())
            part: dict[str, Any] = {"functionCall": {"id": call.id, "name": call.name, "args": args}}
            if self._signs and number == 0:
                part["thoughtSignature"] = UNSIGNED
            parts.append(part)
        return parts or [{"text": " "}]


def _content(content: Content) -> list[dict[str, Any]]:
    if isinstance(content, str):
        return [{"text": content or " "}]
    return [{"text": part.text} if isinstance(part, TextPart) else _media(part) for part in content]


def _media(part: MediaPart) -> dict[str, Any]:
    if source_of(part) != "data":
        return {"fileData": {"mimeType": part.mime, "fileUri": part.file_id or part.url}}
    mime, data = inline(part)
    return {"inlineData": {"mimeType": mime, "data": data}}


def _matches(parts: list[Any], message: AssistantMessage) -> bool:
    stored = [as_dict(part) for part in parts]
    text = "".join(str(part["text"]) for part in stored if "text" in part)
    ids = [as_dict(part["functionCall"]).get("id") for part in stored if "functionCall" in part]
    return is_reply(message, text, ids)


def _tool(tool: ToolSchema) -> dict[str, Any]:
    declared: dict[str, Any] = {"name": tool.name, "description": tool.description}
    # An object without properties is refused; a function without parameters is not.
    if as_dict(tool.parameters.get("properties")) or "$ref" in tool.parameters:
        declared["parameters"] = gemini_schema(tool.parameters)
    return declared
