"""What a conversation is made of, and one exchange with a model: messages, parts, calls, requests, replies."""

from __future__ import annotations

from treadle._types.messages import (
    AssistantMessage,
    Content,
    ImagePart,
    Message,
    Part,
    SystemMessage,
    TextPart,
    ToolCall,
    ToolMessage,
    UserMessage,
    text_of,
)
from treadle._types.request import (
    CallDelta,
    Delta,
    Finish,
    OutputFormat,
    RawCall,
    ReasoningDelta,
    Reply,
    Request,
    StreamPart,
    TextDelta,
    ToolSchema,
    WireCache,
)

__all__ = [
    "AssistantMessage",
    "CallDelta",
    "Content",
    "Delta",
    "Finish",
    "ImagePart",
    "Message",
    "OutputFormat",
    "Part",
    "RawCall",
    "ReasoningDelta",
    "Reply",
    "Request",
    "StreamPart",
    "SystemMessage",
    "TextDelta",
    "TextPart",
    "ToolCall",
    "ToolMessage",
    "ToolSchema",
    "UserMessage",
    "WireCache",
    "text_of",
]
