"""Messages as lists of content blocks under two roles: what Anthropic's Messages API and Bedrock's Converse share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from treadle._models.transport.wire import as_dict, as_list, encode
from treadle._types.messages import (
    AssistantMessage,
    Content,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)

_GOES_ON = "(The conversation goes on.)"


class Part(NamedTuple):
    """A message's content blocks and its role. Neighbours of one role are sent as one message."""

    role: str
    blocks: bytes


def blocks(items: Sequence[Any]) -> bytes:
    return encode(items)[1:-1]


def visible(text: str) -> str:
    """Both APIs refuse blocks without a visible character."""
    return text if text.strip() else "(no text)"


def joined_turns(parts: Sequence[Part]) -> list[Part]:
    """Join neighbours of one role."""
    turns: list[Part] = []
    for part in parts:
        if turns and turns[-1].role == part.role:
            turns[-1] = Part(part.role, turns[-1].blocks + b"," + part.blocks)
        else:
            turns.append(part)
    return turns


class BlockForms(NamedTuple):
    """How each kind of block looks in one API."""

    api: str
    """The name of the API: a stored reply is sent back unchanged to the API that it came from."""
    text: Callable[[str], dict[str, Any]]
    content: Callable[[Content], list[dict[str, Any]]]
    use: Callable[[ToolCall], dict[str, Any]]
    result: Callable[[ToolMessage], dict[str, Any]]
    is_thought: Callable[[dict[str, Any]], bool]
    matches: Callable[[list[Any], AssistantMessage], bool]
    """Tells whether stored blocks still have the text and calls of the message, which may have been shortened."""

    def part(self, model: str, messages: Sequence[Message], index: int) -> Part:
        """One message for this model."""
        message = messages[index]
        match message:
            case SystemMessage(text=text):
                leading = all(isinstance(earlier, SystemMessage) for earlier in messages[:index])
                return Part("system" if leading else "user", blocks([self.text(text)]))
            case UserMessage(content=content):
                return Part("user", blocks(self.content(content)))
            case AssistantMessage():
                return Part("assistant", blocks(self._assistant(model, message)))
            case ToolMessage():
                return Part("user", blocks([self.result(message)]))

    def turns(self, parts: Sequence[Part]) -> list[Part]:
        """The parts with neighbours of one role joined, beginning with the user."""
        turns = joined_turns(parts)
        if not turns or turns[0].role != "user":
            turns.insert(0, Part("user", blocks([self.text(_GOES_ON)])))
        return turns

    def _assistant(self, model: str, message: AssistantMessage) -> list[Any]:
        stored = message.opaque or {}
        content: list[Any] = []
        # Thoughts are signed for one model and must come back unchanged and in the same order.
        if stored.get("api") == self.api and stored.get("model") == model:
            content = as_list(stored.get("content"))
            if self.matches(content, message):
                return content
            content = [block for block in content if self.is_thought(as_dict(block))]
        if message.text.strip():
            content = [*content, self.text(message.text)]
        return [*content, *(self.use(call) for call in message.calls)] or [self.text("")]
