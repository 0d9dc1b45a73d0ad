"""A conversation as a file: markdown to read, or JSON with every message."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from treadle._cli.display.text import arguments
from treadle._types.errors import ConfigError
from treadle._types.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage, text_of


def save(messages: Sequence[Message], name: str) -> Path:
    """Write the conversation to a new file; an existing one is never overwritten."""
    path = Path(name).expanduser()
    shown = [message for message in messages if not isinstance(message, SystemMessage)]
    data = msgspec.json.format(msgspec.json.encode(shown)).decode() if path.suffix == ".json" else markdown(shown)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(data)
    except FileExistsError:
        raise ConfigError(f"{name} exists: choose another name") from None
    except OSError as error:
        raise ConfigError(f"{name} cannot be written: {error.strerror}") from None
    return path


def markdown(messages: Sequence[Message]) -> str:
    parts: list[str] = []
    for message in messages:
        if isinstance(message, UserMessage):
            parts.append(f"## You\n\n{text_of(message.content)}")
        elif isinstance(message, AssistantMessage):
            parts += [f"`{call.name}` {arguments(call.args, 400)}" for call in message.calls]
            if message.text and not message.calls:
                parts.append(f"## Answer\n\n{message.text}")
        elif isinstance(message, ToolMessage):
            parts.append("\n".join(f"> {line}" for line in text_of(message.content).split("\n")))
    return "\n\n".join(parts) + "\n"
