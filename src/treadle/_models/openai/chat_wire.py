"""Writes requests for chat completions."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from treadle._lazy import load
from treadle._models.catalog.providers import Provider
from treadle._models.media import data_url, inline
from treadle._models.transport.decision import OPTIONS
from treadle._models.transport.wire import EncodedMessages, arguments_of, as_dict, as_list, encode, media_of_results
from treadle._models.transport.writer import Writer
from treadle._types.errors import RequestRefusedError
from treadle._types.messages import (
    AssistantMessage,
    AudioPart,
    Content,
    FilePart,
    Message,
    Part,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
    join_content,
    text_of,
)
from treadle._types.profile import Profile
from treadle._types.request import OutputFormat, Request, ToolSchema

API = "openai.chat"
_TUNING = "_local.runtime.prompt:tuning_settings"
MAX_CALL_ID = 40
"""The longest id of a call that OpenAI accepts; what asks less of ids takes such a one, too."""
_SOUND_NAMES = {"audio/mpeg": "mp3", "audio/mp3": "mp3"}
"""What the format calls a MIME type; the others are sent as "wav", the only other one it has."""


class ChatWriter(Writer):
    """Writes request bodies for one model. What never changes is encoded once, in the constructor."""

    def __init__(self, name: str, provider: Provider, profile: Profile, extra: Mapping[str, Any]) -> None:
        super().__init__(name, profile, extra)
        self._provider = provider
        self._head = {flag: self._fixed(name, extra, flag) for flag in (False, True)}

    def body(self, request: Request, encoded: EncodedMessages[bytes], streaming: bool) -> bytes:
        """The body of a request. Messages come last: while the settings stay, each body begins like the one before."""
        tools = b""
        if request.tools:
            tools = b',"tools":' + encoded.encode_tools(request.tools, _tool)
        settings = self._settings(request)
        more = b"," + encode(settings)[1:-1] if settings else b""
        messages = b",".join(filter(None, encoded.update(request.messages, self._message)))
        return b"%b%b%b,%b]}" % (self._head[streaming], tools, more, b'"messages":[' + messages)

    def _fixed(self, name: str, extra: Mapping[str, Any], streaming: bool) -> bytes:
        fixed: dict[str, Any] = {"model": name, "stream": streaming}
        if streaming and self._provider.stream_usage:
            fixed["stream_options"] = {"include_usage": True}
        return encode(fixed | dict(extra))[:-1]

    def _settings(self, request: Request) -> dict[str, Any]:
        profile = self._profile
        settings: dict[str, Any] = {}
        if request.tools and (choice := self._tool_choice(request.tool_choice)) is not None:
            settings["tool_choice"] = choice
        if request.max_tokens is not None:
            settings[profile.token_cap_name] = request.max_tokens
        if request.temperature is not None and profile.accepts_temperature:
            settings["temperature"] = request.temperature
        # Models that accept no temperature accept no stop sequences either.
        if request.stop and profile.accepts_temperature:
            settings["stop"] = request.stop
        if request.seed is not None:
            settings[self._provider.seed_name] = request.seed
        if request.format is not None:
            settings |= self._format(request.format)
        if request.decision_after and profile.logprobs:
            settings |= {"logprobs": True, "top_logprobs": OPTIONS}
        if profile.tuned and self._provider.takes_tuning:
            settings |= load(_TUNING)(request)
        return settings

    def _tool_choice(self, choice: str) -> Any:
        named = {"type": "function", "function": {"name": choice}}
        return self._chosen(choice, none="none", required=self._provider.required_choice, named=named)

    def _format(self, wanted: OutputFormat) -> dict[str, Any]:
        profile = self._profile
        if wanted.kind == "grammar":
            if not self._provider.grammar_name:
                raise RequestRefusedError(
                    f"{self._provider.name} does not support grammars; use a JSON schema instead",
                    provider=self._provider.name,
                )
            return {self._provider.grammar_name: wanted.grammar}
        if wanted.kind == "schema" and wanted.schema is not None and self._provider.schema_name:
            return {self._provider.schema_name: plain_schema(wanted.schema)}
        if wanted.kind == "schema" and wanted.schema is not None and profile.json_schema:
            spec = {"name": wanted.name, "schema": wanted.schema, "strict": is_strict(wanted.schema)}
            return {"response_format": {"type": "json_schema", "json_schema": spec}}
        if profile.json_mode:
            return {"response_format": {"type": "json_object"}}
        return {}

    def _message(self, messages: Sequence[Message], index: int) -> bytes:
        message = messages[index]
        match message:
            case SystemMessage(text=text):
                if self._profile.system_role != "user":
                    return encode({"role": self._profile.system_role, "content": text})
                # For a model without a system role it becomes part of the user's message.
                following = messages[index + 1] if index + 1 < len(messages) else None
                return b"" if isinstance(following, UserMessage) else encode({"role": "user", "content": text})
            case UserMessage(content=content):
                before = messages[index - 1] if index else None
                if self._profile.system_role == "user" and isinstance(before, SystemMessage):
                    content = join_content((before.text, content))
                return encode({"role": "user", "content": _content(content)})
            case AssistantMessage():
                return encode(self._assistant(message))
            case ToolMessage():
                return self._result(message, messages, index)

    def _assistant(self, message: AssistantMessage) -> dict[str, Any]:
        written: dict[str, Any] = {"role": "assistant", "content": message.text}
        if message.calls:
            written["tool_calls"] = [
                {
                    "id": self._call_id(call.id),
                    "type": "function",
                    "function": {"name": call.name, "arguments": arguments_of(call)},
                }
                for call in message.calls
            ]
        if self._profile.replay_reasoning:
            written |= self._thoughts(message)
        return written

    def _thoughts(self, message: AssistantMessage) -> dict[str, Any]:
        """Earlier thoughts in the form they came in; signed ones are sent only to the provider that signed them."""
        stored = message.opaque or {}
        if stored.get("api") == API and stored.get("provider") == self._provider.name:
            return stored["keep"] or {stored["field"]: message.reasoning}
        field = self._provider.reasoning_field
        return {field: message.reasoning} if field and message.calls else {}

    def _result(self, message: ToolMessage, messages: Sequence[Message], index: int) -> bytes:
        result = encode(
            {"role": "tool", "tool_call_id": self._call_id(message.call_id), "content": text_of(message.content)}
        )
        media = media_of_results(messages, index)
        return result + b"," + encode({"role": "user", "content": _content(media)}) if media else result

    def _call_id(self, call_id: str) -> str:
        length = self._provider.call_id_length
        if not length:
            # A longer one (from the client of a server) as a digest, the same for a call and its result.
            return call_id if len(call_id) <= MAX_CALL_ID else f"call_{_digest(call_id)}"[:MAX_CALL_ID]
        if len(call_id) == length and call_id.isalnum():
            return call_id
        return _digest(call_id)[:length]


def _digest(text: str) -> str:
    import hashlib  # loads OpenSSL, for few providers

    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _tool(tool: ToolSchema) -> dict[str, Any]:
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
    }


def _content(content: Content) -> Any:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Part) -> dict[str, Any]:
    match part:
        case TextPart(text=text):
            return {"type": "text", "text": text}
        case AudioPart():
            mime, data = inline(part)
            return {"type": "input_audio", "input_audio": {"data": data, "format": _SOUND_NAMES.get(mime, "wav")}}
        case FilePart(file_id=file_id) if file_id:
            return {"type": "file", "file": {"file_id": file_id}}
        case FilePart():
            return {"type": "file", "file": {"filename": part.name or "file.pdf", "file_data": data_url(part)}}
        case _:
            return {"type": "image_url", "image_url": {"url": data_url(part)}}


def is_strict(schema: Any) -> bool:
    """Tell whether a schema fits OpenAI's strict mode: closed objects, every property required."""
    if isinstance(schema, list):
        return all(map(is_strict, as_list(schema)))
    if not isinstance(schema, dict):
        return True
    fields = as_dict(schema)
    if fields.get("type") == "object" or "properties" in fields:
        properties = as_dict(fields.get("properties"))
        closed = fields.get("additionalProperties") is False and set(as_list(fields.get("required"))) == set(properties)
        return closed and all(map(is_strict, properties.values()))
    return all(is_strict(value) for key, value in fields.items() if key not in ("enum", "const", "default", "examples"))


_LOOK_AROUND = re.compile(r"\(\?[^:]|\\[1-9]|\\k<")


def plain_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema for the constraint engine that every build has."""
    plain = cast("dict[str, Any]", enforceable(schema))
    return {key: value for key, value in plain.items() if key != "x-guidance"}


def enforceable(node: Any, names: bool = False) -> Any:
    """A schema without what the constraint engine cannot compile: look-around in patterns, external references."""
    if isinstance(node, list):
        return [enforceable(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, Any]", node)
    if names:  # keys are the names of properties here, not keywords
        return {key: enforceable(value) for key, value in fields.items()}
    copied: dict[str, Any] = {}
    for key, value in fields.items():
        if key in ("const", "enum", "default", "examples"):
            copied[key] = value
        elif isinstance(value, str) and (
            (key == "pattern" and _LOOK_AROUND.search(value)) or (key == "$ref" and value[:1] != "#")
        ):
            continue
        else:
            copied[key] = enforceable(value, names=key in ("properties", "$defs", "definitions", "patternProperties"))
    return copied
