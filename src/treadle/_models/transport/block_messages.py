"""Messages as lists of content blocks under two roles: what Anthropic's Messages API and Bedrock's Converse share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from treadle._models.transport.wire import EncodedMessages, as_dict, as_list, encode
from treadle._types.messages import (
    AssistantMessage,
    Content,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from treadle._types.profile import Profile
from treadle._types.request import Request

UNSTREAMED_CAP = 21_000
"""A reply that is not streamed keeps the connection silent while it is written; longer ones would exceed the
time-out."""
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


def marked(turns: Sequence[Part], mark: Callable[[bytes], bytes]) -> list[Part]:
    """Mark the last two turns of the user: what comes before a mark is kept in the provider's cache, and each request
    finds there what the one before it has put in."""
    last = [index for index, turn in enumerate(turns) if turn.role == "user"][-2:]
    return [Part(turn.role, mark(turn.blocks)) if index in last else turn for index, turn in enumerate(turns)]


def written(turns: Sequence[Part], field: bytes = b"content") -> bytes:
    return b",".join(b'{"role":"%b","%b":[%b]}' % (turn.role.encode(), field, turn.blocks) for turn in turns)


def thinks(settings: Mapping[str, Any], profile: Profile) -> bool:
    """Tell whether a model of Anthropic's thinks with these settings of a request."""
    thinking = as_dict(settings.get("thinking")).get("type")
    return thinking in ("enabled", "adaptive") or (profile.reasoning and thinking != "disabled")


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

    def conversation(
        self, model: str, request: Request, encoded: EncodedMessages[Part]
    ) -> tuple[list[bytes], list[Part]]:
        """The system prompt, and the turns after it, which begin with one of the user."""
        parts = encoded.update(request.messages, partial(self.part, model))
        count = next((index for index, part in enumerate(parts) if part.role != "system"), len(parts))
        turns = joined_turns(parts[count:])
        if not turns or turns[0].role != "user":
            turns.insert(0, Part("user", blocks([self.text(_GOES_ON)])))
        return [part.blocks for part in parts[:count]], turns

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
