"""One exchange with a model: what is sent, the parts that stream back, and the whole reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle._types.messages import Message
from treadle._types.usage import NO_USAGE, Usage

CONVERSATION = ("loop", "repair")
"""Components whose replies are part of the conversation; all others only advise."""
ANSWERING = ("synthesis", "complete", "own_words", "final", "salvage")
"""Components whose streamed text is the answer."""


class ToolSchema(Struct, frozen=True, omit_defaults=True, gc=False):
    """What a model is told of a tool."""

    name: str
    description: str
    parameters: dict[str, Any]
    deferred: bool = False
    """The provider keeps it from the model until its own search finds it. Elsewhere it is offered like any other."""


class OutputFormat(Struct, frozen=True, omit_defaults=True, gc=False):
    """A constraint on the reply: any JSON object, one that fits a schema, or text of a grammar."""

    kind: Literal["json", "schema", "grammar"]
    schema: dict[str, Any] | None = None
    grammar: str = ""
    name: str = "reply"


class WireCache:
    """Where a model keeps what it encoded for one conversation, so that a message is encoded once.

    The engine makes one per run and component and hands it along with each request.
    """

    __slots__ = ("slots",)

    def __init__(self) -> None:
        self.slots: dict[str, Any] = {}


class DecisionNames(Struct, frozen=True, omit_defaults=True, gc=False):
    """The actions between which a reply decides."""

    answers: tuple[str, ...] = ("final_answer", "no_tool")
    """Those that call no tool; unless a dialect says which of them it has, all there are."""
    tools: tuple[str, ...] = ()


class Request(Struct, frozen=True, omit_defaults=True):
    """Everything one model call depends on. A pure function of the run's state builds it."""

    messages: Sequence[Message]
    tools: tuple[ToolSchema, ...] = ()
    tool_choice: str = "auto"
    """auto | none | required | the name of the one tool that must be called."""
    format: OutputFormat | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    stream: bool = False
    """Whether the caller wants deltas; a model may use its plain endpoint when not."""
    component: str = "loop"
    tuned: bool = False
    """Whether the prompt is in the form that a model tuned for tool use was trained on: then it uses what it learnt."""
    decision_after: str = ""
    """Text of the reply after which the next token decides between a tool and an answer: what a model would most
    probably write there, before any constraint, is wanted in the reply's `options`. Empty: it is not."""
    answer_from: float | None = None
    """From which probability of an answer on one that it begins there is believed. A reply that is not believed will be
    asked for again: the rest of it need not be written (`broken_off`)."""
    no_call_from: float | None = None
    """From which probability of an answer on a call that it begins there is not believed; None: from the same on."""
    decision_names: DecisionNames = DecisionNames()
    """What can stand there: the beginning of a tool's name says nothing about an answer that begins alike."""
    cache: WireCache | None = None

    def replace(self, **changes: Any) -> Request:
        return msgspec.structs.replace(self, **changes)


class RawCall(Struct, frozen=True, omit_defaults=True, gc=False):
    """A native tool call as the provider gave it: arguments are still text."""

    id: str
    name: str
    arguments: str = ""


Finish = Literal["stop", "calls", "length", "filter", "refusal", "pause", "error", "unknown"]
"""Why a reply ended."""


class ProviderCall(Struct, frozen=True, omit_defaults=True, gc=False):
    """A call of a tool that runs at the provider. It has happened: nothing of it is ours to execute."""

    tool: str
    """`web_search`, `web_fetch`, `code_execution`, `file_search`, or the provider's name for another one."""
    id: str = ""
    input: str = ""
    """The query, the code or the arguments, as text."""
    output: str = ""
    """The beginning of what came of it, where the provider shows it."""
    error: str = ""


class Citation(Struct, frozen=True, omit_defaults=True, gc=False):
    """What the provider names as the source of a passage of its reply."""

    url: str = ""
    title: str = ""
    quote: str = ""
    file: str = ""
    """The id of a file at the provider, for what is not on the web."""


class Reply(Struct, frozen=True, omit_defaults=True, tag="reply", gc=False):
    """One whole assistant message. Every stream of parts ends in exactly one."""

    text: str = ""
    calls: tuple[RawCall, ...] = ()
    reasoning: str = ""
    finish: Finish = "stop"
    usage: Usage = NO_USAGE
    model: str = ""
    id: str = ""
    opaque: dict[str, Any] | None = None
    used: tuple[ProviderCall, ...] = ()
    """Calls of the provider's own tools."""
    citations: tuple[Citation, ...] = ()
    options: dict[str, float] = {}
    """Beginnings of what the model would have written at the point of decision, with their probabilities."""
    broken_off: bool = False
    """It was not written to its end: it went against what the model wanted (`Request.answer_from`)."""


class TextDelta(Struct, frozen=True, tag="text", gc=False):
    """A piece of a reply's text, as it streams."""

    text: str


class ReasoningDelta(Struct, frozen=True, tag="reasoning", gc=False):
    """A piece of a reply's reasoning, as it streams."""

    text: str


class CallDelta(Struct, frozen=True, tag="call", omit_defaults=True, gc=False):
    """A fragment of a native call; `done` says that its arguments are complete."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    done: bool = False


Delta = TextDelta | ReasoningDelta | CallDelta
"""A piece of a reply, as it streams."""
StreamPart = TextDelta | ReasoningDelta | CallDelta | Reply
"""What `Model.stream` yields: deltas, then one whole reply."""
