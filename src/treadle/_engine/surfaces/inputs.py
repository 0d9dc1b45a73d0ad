"""What callers hand in, as the engine's own values: questions, histories, messages in the common dictionary form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import msgspec

from treadle._tools.media.attach import checked
from treadle._types.errors import ConfigError
from treadle._types.messages import (
    STRANGERS,
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
    ToolMessage,
    UserMessage,
)
from treadle._types.provenance import SENT_ALONG

_PROMPT_HELP = (
    'give text, or content parts such as [TextPart("..."), attach("scan.pdf")] or [{"type": "text", "text": "..."}]'
)
_HISTORY_KINDS = {"question": "history", "history": "history", "interrupt": "history", "summary": "summary"}


def to_content(value: Any) -> Content:
    """A question as content; anything else is refused with what would be accepted."""
    if isinstance(value, str):
        if not value.strip():
            raise ConfigError(f"the prompt is empty: {_PROMPT_HELP}")
        return clean(value)
    if isinstance(value, list | tuple) and value:
        return tuple(_part(item) for item in cast(Sequence[Any], value))
    raise ConfigError(f"a prompt cannot be {type(cast(object, value)).__name__}: {_PROMPT_HELP}")


def clean(text: str) -> str:
    """Lone surrogates cannot be sent or stored: replace them."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _part(item: Any) -> Part:
    if isinstance(item, TextPart):
        return item
    if isinstance(item, ImagePart | AudioPart | FilePart):
        return checked(item)
    if isinstance(item, str):
        return TextPart(clean(item))
    if isinstance(item, Mapping) and "role" in cast(Mapping[str, Any], item):
        raise ConfigError(
            "a question cannot be a list of messages: the last one's text is the question, those before it are "
            "history=[...]"
        )
    if isinstance(item, Mapping) and (part := _part_of_dict(cast(Mapping[str, Any], item))) is not None:
        return part
    raise ConfigError(f"a content part cannot be a {type(cast(Any, item)).__name__} like this: {_PROMPT_HELP}")


def _part_of_dict(part: Mapping[str, Any]) -> Part | None:
    """A part in our own form or in OpenAI's. Never by path: dictionaries come from other programs."""
    kind = part.get("type")
    inner: Any = part.get(str(kind))
    nested: Mapping[str, Any] = cast(Mapping[str, Any], inner) if isinstance(inner, Mapping) else {}
    if kind == "text" and isinstance(part.get("text"), str):
        return TextPart(clean(part["text"]))
    if kind == "image_url":
        url: object = nested.get("url") if nested else cast(object, inner)
        return checked(ImagePart(url=url)) if isinstance(url, str) else None
    if kind == "input_audio" and isinstance(nested.get("data"), str):
        return checked(
            AudioPart(data=nested["data"], mime="audio/mpeg" if nested.get("format") == "mp3" else "audio/wav")
        )
    if kind == "file" and nested:
        url, name = str(nested.get("file_data") or ""), str(nested.get("filename") or "")
        return checked(FilePart(url=url, file_id=str(nested.get("file_id") or ""), name=name))
    if kind in _CLASSES:
        fields: dict[str, Any] = {name: str(part[name]) for name in _FIELDS if part.get(name)}
        return checked(_CLASSES[kind](**fields))
    return None


_CLASSES = {"image": ImagePart, "audio": AudioPart, "file": FilePart}
_FIELDS = ("url", "data", "mime", "name", "file_id", "text")


def to_messages(history: str | Iterable[Any]) -> list[Message]:
    """A conversation: our own messages, or dictionaries with `role` and `content`. A call stays beside its results."""
    if isinstance(history, str):
        return [UserMessage(to_content(history))]
    if not isinstance(cast(object, history), Iterable):
        hint = ": write history=result.messages" if hasattr(history, "new_messages") else ""
        raise ConfigError(f"history is a list of messages, not {type(history).__name__}{hint}")
    return _paired([_message(item) for item in history])


def as_history(messages: Iterable[Message]) -> list[Message]:
    """Return what was said before a run, as that run sees it: nothing in it is pinned or its own question any more, and
    each message says whose it is. What the engine itself put there is a summary or a note, never the user's words; what
    a model or a tool is only said to have said may have been said anywhere."""
    return [_past(message) for message in messages if not isinstance(message, SystemMessage)]


def _past(message: UserMessage | AssistantMessage | ToolMessage) -> Message:
    if isinstance(message, UserMessage):
        kind = _HISTORY_KINDS.get(message.kind, "note")
        origin = message.origin or ("person" if kind == "history" else "model")
        return msgspec.structs.replace(message, kind=kind, pinned=False, origin=origin)
    if message.origin:
        return message
    return msgspec.structs.replace(message, origin="outside", source=message.source or SENT_ALONG)


def _message(item: Any) -> Message:
    if isinstance(item, SystemMessage | UserMessage | AssistantMessage | ToolMessage):
        return item
    if not isinstance(item, Mapping):
        raise ConfigError(
            f'a message of the history cannot be {type(item).__name__}: give {{"role": "user", "content": "..."}}'
        )
    data = cast(Mapping[str, Any], item)
    role, content = data.get("role"), data.get("content")
    match role:
        case "user":
            origin = data.get("origin")  # a caller may say that it is a stranger's, never that it is not
            return UserMessage(to_content(content), kind="history", origin="outside" if origin in STRANGERS else "")
        case "system" | "developer":
            return SystemMessage(_words(content, role))
        case "assistant":
            return AssistantMessage(_words(content, role), _calls(data.get("tool_calls")), source=SENT_ALONG)
        case "tool":
            call_id, name = str(data.get("tool_call_id", "")), str(data.get("name", ""))
            return ToolMessage(call_id, name, _words(content, role), source=SENT_ALONG)
        case _:
            raise ConfigError(f"a message has the role {role!r}; expected one of: user, assistant, system, tool")


def _words(content: Any, role: str) -> str:
    """The text of a message that is only text: as it is, or in parts."""
    if content is None or isinstance(content, str):
        return clean(content or "")
    parts = cast(Sequence[Any], content) if isinstance(content, list | tuple) else (content,)
    return "\n".join(_text_part(part, role) for part in parts)


def _text_part(part: Any, role: str) -> str:
    if isinstance(part, str):
        return clean(part)
    if isinstance(part, TextPart):
        return part.text
    fields: Mapping[str, Any] = cast(Mapping[str, Any], part) if isinstance(part, Mapping) else {}
    text = fields.get("refusal" if fields.get("type") == "refusal" else "text")
    if isinstance(text, str):
        return clean(text)
    if role == "tool":  # what a program made: anything it could write as JSON
        return msgspec.json.encode(part, enc_hook=str).decode()
    raise ConfigError(
        f"a message of the role {role!r} has a part that is no text: give text, or parts like "
        '{"type": "text", "text": "..."}'
    )


def _calls(data: Any) -> tuple[ToolCall, ...]:
    if data is None:
        return ()
    if not isinstance(data, list | tuple):
        raise _no_call(data)
    return tuple(_call(one) for one in cast(Sequence[Any], data))


def _no_call(data: Any) -> ConfigError:
    return ConfigError(
        f"a call of the history cannot be {type(data).__name__}: give tool_calls as a list of "
        '{"id": "...", "function": {"name": "...", "arguments": "{}"}}'
    )


def _call(given: Any) -> ToolCall:
    data = cast(Mapping[str, Any], given)
    inner: Any = data.get("function", data) if isinstance(given, Mapping) else given
    if not isinstance(inner, Mapping):
        raise _no_call(inner)
    function = cast(Mapping[str, Any], inner)
    arguments: Any = function.get("arguments") or {}
    if isinstance(arguments, str):
        try:
            arguments = msgspec.json.decode(arguments)
        except (msgspec.DecodeError, RecursionError):
            arguments = {}
    args = cast(dict[str, Any], arguments) if isinstance(arguments, dict) else {}
    return ToolCall(str(data.get("id", "")), str(function.get("name", "")), args)


def _paired(messages: list[Message]) -> list[Message]:
    """Histories come from anywhere: a call without a result gets one, a result without a call is dropped."""
    paired: list[Message] = []
    open_calls: dict[str, ToolCall] = {}

    def close() -> None:
        paired.extend(
            ToolMessage(call.id, call.name, "(no result was recorded)", error=True, origin="tool")
            for call in open_calls.values()
        )
        open_calls.clear()

    for message in messages:
        if isinstance(message, ToolMessage):
            call = open_calls.pop(message.call_id, None)
            if call is not None:
                paired.append(message if message.name else msgspec.structs.replace(message, name=call.name))
            continue
        close()
        paired.append(message)
        if isinstance(message, AssistantMessage):
            open_calls = {call.id: call for call in message.calls}
    close()
    return paired
