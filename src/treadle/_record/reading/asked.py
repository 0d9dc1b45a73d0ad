"""A provider's request as the engine's own values, whichever protocol it is in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from treadle._models.transport.wire import as_dict, as_list, as_text
from treadle._types.messages import (
    AssistantMessage,
    AudioPart,
    Content,
    FilePart,
    ImagePart,
    Message,
    Part,
    SystemMessage,
    TextPart,
    ToolCall,
)
from treadle._types.request import ToolSchema


class Asked(Struct, frozen=True):
    """A request as a program sent it to a model."""

    protocol: str
    model: str
    system: str = ""
    tools: tuple[ToolSchema, ...] = ()
    messages: tuple[Message, ...] = ()
    """Without the system prompt at the beginning."""
    previous: str = ""
    """The id of an earlier reply that this request continues without repeating it."""
    pieces: tuple[tuple[str, bytes], ...] = ()
    """The request as bytes, in the order in which a cache reads it, each piece with its name."""


_encode = msgspec.json.Encoder().encode


def pieces_of(tools: Any, system: Any, messages: Sequence[Any]) -> tuple[tuple[str, bytes], ...]:
    """Encode what a provider's cache sees: tools, system prompt, messages, without the marks for the cache itself."""
    pieces: list[tuple[str, bytes]] = []
    if tools:
        pieces.append(("tools", _encode(_unmarked(tools))))
    if system:
        pieces.append(("system", _encode(_unmarked(system))))
    pieces += [(f"message {index}", _encode(_unmarked(message))) for index, message in enumerate(messages, 1)]
    return tuple(pieces)


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _unmarked(inner) for key, inner in as_dict(value).items() if key != "cache_control"}
    return [_unmarked(inner) for inner in as_list(value)] if isinstance(value, list) else value


def call_of(call_id: Any, name: Any, arguments: Any) -> ToolCall:
    """A call from a history: arguments are JSON text or a value already."""
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments or "null")
        except (msgspec.DecodeError, RecursionError):
            return ToolCall(as_text(call_id), as_text(name), raw=arguments, problem="the arguments are not JSON")
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"input": arguments}
    return ToolCall(as_text(call_id), as_text(name), as_dict(arguments))


def content_of(parts: Any) -> Content:
    """Text or a list of parts, in any of the protocols' forms."""
    if isinstance(parts, str):
        return parts
    content = [part for item in as_list(parts) if (part := _part(as_dict(item))) is not None]
    if all(isinstance(part, TextPart) for part in content):
        return "\n".join(part.text for part in content)
    return tuple(content)


def _part(item: dict[str, Any]) -> Part | None:
    if isinstance(item.get("text"), str):
        return TextPart(item["text"])
    match item.get("type"):
        case "image_url" | "input_image":
            url = item.get("image_url")
            return _media(ImagePart, as_text(url) or as_text(as_dict(url).get("url")), as_text(item.get("file_id")))
        case "input_audio":
            sound = as_dict(item.get("input_audio"))
            return AudioPart(data=as_text(sound.get("data")), mime=f"audio/{as_text(sound.get('format')) or 'wav'}")
        case "file" | "input_file":
            file = as_dict(item.get("file")) or item
            part = _media(
                FilePart, as_text(file.get("file_data") or file.get("file_url")), as_text(file.get("file_id"))
            )
            return msgspec.structs.replace(part, name=as_text(file.get("filename")))
        case "image" | "document":
            source = as_dict(item.get("source"))
            kind = ImagePart if item["type"] == "image" else FilePart
            mime = as_text(source.get("media_type")) or kind().mime
            return kind(url=as_text(source.get("url")), data=as_text(source.get("data")), mime=mime)
        case "refusal":
            return TextPart(as_text(item.get("refusal")))
        case _:
            return _gemini_part(item)


def _gemini_part(item: dict[str, Any]) -> Part | None:
    inline = as_dict(item.get("inlineData") or item.get("inline_data"))
    stored = as_dict(item.get("fileData") or item.get("file_data"))
    mime = as_text((inline or stored).get("mimeType") or (inline or stored).get("mime_type"))
    if not mime:
        return None
    kind = ImagePart if mime.startswith("image/") else AudioPart if mime.startswith("audio/") else FilePart
    uri = as_text(stored.get("fileUri") or stored.get("file_uri"))
    return kind(url=uri, data=as_text(inline.get("data")), mime=mime)


def _media(kind: type[ImagePart | FilePart], url: str, file_id: str) -> ImagePart | FilePart:
    if url.startswith("data:"):
        mime, _, data = url[5:].partition(";base64,")
        return kind(data=data, mime=mime or kind().mime)
    return kind(url=url, file_id=file_id)


def schemas_of(declared: Iterable[dict[str, Any]], *places: str) -> tuple[ToolSchema, ...]:
    """The tools that are declared with a name; `places` are where their parameters stand."""
    tools: list[ToolSchema] = []
    for tool in declared:
        schema = next((tool[place] for place in (*places, "parameters") if tool.get(place)), None)
        parameters: dict[str, Any] = as_dict(schema) or {"type": "object", "properties": {}}
        if name := as_text(tool.get("name")):
            tools.append(ToolSchema(name, as_text(tool.get("description")), parameters))
    return tuple(tools)


def split_system(messages: Iterable[Message]) -> tuple[str, tuple[Message, ...]]:
    """The system prompt at the beginning, and the rest."""
    rest = list(messages)
    texts: list[str] = []
    while rest and isinstance(first := rest[0], SystemMessage):
        texts.append(first.text)
        rest.pop(0)
    return "\n\n".join(texts), tuple(rest)


def names_by_id(messages: Iterable[Message]) -> dict[str, str]:
    """The tool of each call in a conversation."""
    return {
        call.id: call.name for message in messages if isinstance(message, AssistantMessage) for call in message.calls
    }
