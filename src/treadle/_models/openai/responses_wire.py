"""Writes requests for OpenAI's Responses API. Nothing is stored there: each request has the whole conversation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from treadle._models.media import data_url, source_of
from treadle._models.openai.chat_wire import is_strict
from treadle._models.transport.wire import EncodedMessages, arguments_of, as_dict, as_list, encode
from treadle._models.transport.writer import Writer, is_reply
from treadle._types.messages import (
    AssistantMessage,
    Content,
    ImagePart,
    Message,
    Part,
    SystemMessage,
    TextPart,
    ToolMessage,
    UserMessage,
)
from treadle._types.profile import Profile
from treadle._types.request import OutputFormat, Request, ToolSchema

API = "openai.responses"
TOOL_SEARCH = {"type": "tool_search"}
MIN_OUTPUT_TOKENS = 16
"""The API refuses a smaller limit."""


class ResponsesWriter(Writer):
    def __init__(
        self, name: str, profile: Profile, extra: Mapping[str, Any], provider_tools: Sequence[Any] = ()
    ) -> None:
        super().__init__(name, profile, extra, provider_tools)
        self._text = as_dict(self._extra.pop("text", None))

    def body(self, request: Request, encoded: EncodedMessages[bytes], streaming: bool) -> bytes:
        head = encode({"model": self._name, "stream": streaming, **self._settings(request)})[:-1]
        tools = self._tools(request, encoded, _tool, TOOL_SEARCH)
        items = b",".join(encoded.update(request.messages, self._message))
        return b'%b%b,"input":[%b]}' % (head, tools, items)

    def _settings(self, request: Request) -> dict[str, Any]:
        profile = self._profile
        settings: dict[str, Any] = {"store": False}
        if profile.reasoning:
            settings["include"] = ["reasoning.encrypted_content"]
        settings |= self._extra
        if request.tools and (choice := self._tool_choice(request.tool_choice)) is not None:
            settings["tool_choice"] = choice
        if request.max_tokens is not None:
            settings["max_output_tokens"] = max(MIN_OUTPUT_TOKENS, request.max_tokens)
        if request.temperature is not None and profile.accepts_temperature:
            settings["temperature"] = request.temperature
        text = dict(self._text)
        if request.format is not None and (wanted := self._format(request.format)):
            text["format"] = wanted
        return settings | {"text": text} if text else settings

    def _tool_choice(self, choice: str) -> Any:
        return self._chosen(choice, none="none", required="required", named={"type": "function", "name": choice})

    def _format(self, wanted: OutputFormat) -> dict[str, Any] | None:
        if wanted.kind == "schema" and wanted.schema is not None and self._profile.json_schema:
            return {
                "type": "json_schema",
                "name": wanted.name,
                "schema": wanted.schema,
                "strict": is_strict(wanted.schema),
            }
        return {"type": "json_object"} if wanted.kind != "grammar" and self._profile.json_mode else None

    def _message(self, messages: Sequence[Message], index: int) -> bytes:
        message = messages[index]
        match message:
            case SystemMessage(text=text):
                return encode({"role": self._profile.system_role, "content": text})
            case UserMessage(content=content):
                return encode({"role": "user", "content": _content(content)})
            case AssistantMessage():
                return encode(self._assistant(message))[1:-1]
            case ToolMessage():
                return encode(
                    {"type": "function_call_output", "call_id": message.call_id, "output": _content(message.content)}
                )

    def _assistant(self, message: AssistantMessage) -> list[Any]:
        items = as_list(self._stored(message, API).get("items"))
        if items and _matches(items, message):
            return items
        items = [{"role": "assistant", "content": message.text}] if message.text or not message.calls else []
        for call in message.calls:
            items.append(
                {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": arguments_of(call)}
            )
        return items


def _content(content: Content) -> Any:
    return content if isinstance(content, str) else [_part(part) for part in content]


def _part(part: Part) -> dict[str, Any]:
    match part:
        case TextPart(text=text):
            return {"type": "input_text", "text": text}
        case ImagePart(file_id=file_id) if file_id:
            return {"type": "input_image", "file_id": file_id, "detail": "auto"}
        case ImagePart():
            return {"type": "input_image", "image_url": data_url(part), "detail": "auto"}
        case _ if part.file_id:
            return {"type": "input_file", "file_id": part.file_id}
        case _ if source_of(part) == "url":
            return {"type": "input_file", "file_url": part.url}
        case _:
            return {"type": "input_file", "filename": part.name or "file.pdf", "file_data": data_url(part)}


def _matches(items: list[Any], message: AssistantMessage) -> bool:
    stored = [as_dict(item) for item in items]
    ids = [item.get("call_id") for item in stored if item.get("type") == "function_call"]
    return is_reply(message, text_of_items(stored), ids)


def text_of_items(items: Sequence[dict[str, Any]]) -> str:
    """The text that the items of a reply show to the user."""
    parts = [as_dict(part) for item in items if item.get("type") == "message" for part in as_list(item.get("content"))]
    return "".join(str(part.get("text") or "") for part in parts if part.get("type") == "output_text")


def _tool(tool: ToolSchema) -> dict[str, Any]:
    # Without the flag the API would require every schema to fit its strict subset.
    parameters: dict[str, Any] = {"type": "object", "properties": {}, **tool.parameters}
    written = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": parameters,
        "strict": False,
    }
    return written | {"defer_loading": True} if tool.deferred else written
