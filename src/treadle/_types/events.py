"""What happens in a run. A run IS its records; everything else is a fold or a projection of them.

Events marked transient are shown but not stored. The journal stores `Record`s; `SCHEMA` is the version of these
shapes, and `treadle._journal` upgrades older ones when it reads them.
"""

from __future__ import annotations

from typing import Any, Literal, Union

import msgspec
from msgspec import Struct

from treadle._types.messages import AssistantMessage, Content, Message, ToolCall
from treadle._types.profile import Profile
from treadle._types.request import OutputFormat, ToolSchema
from treadle._types.usage import NO_USAGE, Usage

SCHEMA = 1

StopReason = Literal["answer", "final_tool", "limit", "budget", "stuck", "cancelled", "paused", "error"]


class Artifact(Struct, frozen=True, omit_defaults=True, gc=False):
    """Rich content a tool made. The model sees its name and summary only."""

    name: str
    content: str
    """Text, or base64 when `base64` is set."""
    mime: str = "text/plain"
    base64: bool = False
    summary: str = ""


class _Event(Struct, frozen=True, omit_defaults=True, tag_field="type", gc=False):
    pass


class RunStarted(_Event, frozen=True, tag="run_started"):
    question: Content
    agent: str = "agent"
    model: str = ""
    dialect: str = "native"
    system: str = ""
    tools: tuple[ToolSchema, ...] = ()
    history: tuple[Message, ...] = ()
    settings: dict[str, Any] = {}
    prompts: dict[str, str] = {}
    conversation: str = ""
    user: str = ""
    depth: int = 0
    profile: Profile | None = None
    """What was known of the model: a request depends on it."""
    schema: int = SCHEMA


class PhaseChanged(_Event, frozen=True, tag="phase"):
    phase: str
    data: dict[str, Any] = {}


class Sent(Struct, frozen=True, omit_defaults=True, gc=False):
    """A message of a component's request: either one of the run's own, by the record that brought it, or written out."""

    seq: int = -1
    message: Message | None = None


class ThinkStarted(_Event, frozen=True, tag="think_started"):
    """A model call begins. For the loop, the request is `render(state)`: only its digest is kept, and `system` when it
    changed. For other components the messages are kept too (by reference where they are the run's own)."""

    component: str
    iteration: int
    digest: str = ""
    parts: tuple[str, ...] = ()
    """One short digest per message that is new since this component's last request: finds the first difference on replay."""
    system: str | None = None
    messages: tuple[Sent, ...] = ()
    tools: tuple[ToolSchema, ...] = ()
    format: OutputFormat | None = None


class ThinkFailed(_Event, frozen=True, tag="think_failed"):
    """One attempt failed; another follows after `wait` seconds unless `wait` is None."""

    component: str
    iteration: int
    attempt: int
    error: str
    wait: float | None = None
    usage: Usage = NO_USAGE


class ThinkDone(_Event, frozen=True, tag="think_done"):
    component: str
    iteration: int
    message: AssistantMessage
    thought: str = ""
    answer: str | None = None
    problem: str = ""
    repaired: bool = False
    task_successful: bool | None = None
    finish: str = "stop"
    usage: Usage = NO_USAGE
    elapsed: float = 0.0
    digest: str = ""


class MessageAdded(_Event, frozen=True, tag="message_added"):
    message: Message
    component: str = "user"


class ToolStarted(_Event, frozen=True, tag="tool_started"):
    call: ToolCall
    iteration: int
    key: str = ""
    """The idempotency key of this call."""
    effect: str = "unsafe"


class ToolDone(_Event, frozen=True, tag="tool_done"):
    call_id: str
    name: str
    iteration: int
    content: Content
    error: str = ""
    elapsed: float = 0.0
    full: str | None = None
    artifacts: tuple[Artifact, ...] = ()
    final: bool = False
    had_extras: bool = False
    usage: Usage = NO_USAGE
    executed: bool = True


class Injected(_Event, frozen=True, tag="injected"):
    """Messages that arrived while the run worked, drained at once and shown to the model as one."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]


class ToolsChanged(_Event, frozen=True, tag="tools_changed"):
    tools: tuple[ToolSchema, ...]
    reason: str = ""


class ContextCompacted(_Event, frozen=True, tag="context_compacted"):
    """The messages of the records `covers` left the window; `summary` (if any) stands where the first of them stood.
    `replaced` gives a shorter text to single messages, by record."""

    covers: tuple[int, ...] = ()
    summary: str = ""
    replaced: dict[int, Content] = {}
    unpinned: tuple[int, ...] = ()
    original_messages: int = 0
    kept_messages: int = 0
    reason: str = ""


class PlanStep(Struct, frozen=True, omit_defaults=True, gc=False):
    text: str
    done: bool = False


class PlanChanged(_Event, frozen=True, tag="plan_changed"):
    steps: tuple[PlanStep, ...]
    iteration: int = 0


class Observed(_Event, frozen=True, tag="observed"):
    iteration: int
    progressing: bool
    looping: bool
    reasoning: str = ""
    correction: str = ""


class Reflected(_Event, frozen=True, tag="reflected"):
    iteration: int
    text: str


class ModelSwitched(_Event, frozen=True, tag="model_switched"):
    model: str
    previous: str
    reason: str
    profile: Profile | None = None


class DialectDemoted(_Event, frozen=True, tag="dialect_demoted"):
    dialect: str
    previous: str
    reason: str
    system: str | None = None


class AnswerStarted(_Event, frozen=True, tag="answer_started"):
    source: str
    """loop | synthesis | complete | tool | fallback | error (what was found before a failure: not an answer)"""


class AnswerDone(_Event, frozen=True, tag="answer_done"):
    text: str
    source: str


class Paused(_Event, frozen=True, tag="paused"):
    """The run waits for a person: `call` needs approval, or `reason` says what else."""

    reason: str
    calls: tuple[ToolCall, ...] = ()


class Resumed(_Event, frozen=True, tag="resumed"):
    reason: str = ""


class Approved(_Event, frozen=True, tag="approved"):
    """A person decided about a call that waited."""

    call_id: str
    allow: bool
    by: str = ""
    note: str = ""


class Noted(_Event, frozen=True, tag="noted"):
    """A plug-in's own fact, kept so that it survives a crash."""

    component: str
    data: dict[str, Any] = {}


class StepStarted(_Event, frozen=True, tag="step_started"):
    """A step of a DAG begins, as the child run `run`."""

    step: str
    run: str
    task: str
    round: int = 1
    key: str = ""
    """The same for the same work on the same inputs."""


class StepDone(_Event, frozen=True, tag="step_done"):
    step: str
    status: str
    """completed | failed | skipped | reused"""
    result: str = ""
    error: str = ""
    elapsed: float = 0.0
    usage: Usage = NO_USAGE
    round: int = 1
    key: str = ""


class RunFinished(_Event, frozen=True, tag="run_finished"):
    stop_reason: StopReason
    answer: str = ""
    brief: str = ""
    success: bool = True
    error: str = ""
    error_type: str = ""
    task_successful: bool | None = None
    output: Any = None
    """The typed answer as plain JSON, when the agent has an `output_type`."""


# Transient: shown, never stored.


class TextStreamed(_Event, frozen=True, tag="text_streamed"):
    """A piece of a model's text or reasoning, while it is written."""

    component: str
    iteration: int
    text: str
    reasoning: bool = False


class ToolOutput(_Event, frozen=True, tag="tool_output"):
    call_id: str
    name: str
    text: str


class AnswerDelta(_Event, frozen=True, tag="answer_delta"):
    text: str


class Reset(_Event, frozen=True, tag="reset"):
    """What was streamed since the last start is void: the attempt is made again."""

    component: str
    attempt: int


Event = Union[  # noqa: UP007 - msgspec reads it at run time
    RunStarted, PhaseChanged, ThinkStarted, ThinkFailed, ThinkDone, MessageAdded, ToolStarted, ToolDone, Injected,
    ToolsChanged, ContextCompacted, PlanChanged, Observed, Reflected, ModelSwitched, DialectDemoted, AnswerStarted,
    AnswerDone, Paused, Resumed, Approved, Noted, StepStarted, StepDone, RunFinished,
    TextStreamed, ToolOutput, AnswerDelta, Reset,
]  # fmt: skip
TRANSIENT = (TextStreamed, ToolOutput, AnswerDelta, Reset)


class Record(Struct, frozen=True, omit_defaults=True, gc=False):
    """One event in its place. `(run, seq)` is its key; a transient event has `offset` > 0 within the record it belongs to."""

    run: str
    seq: int
    time: float
    event: Event
    parent: str = ""
    offset: int = 0

    @property
    def id(self) -> str:
        return f"{self.seq}.{self.offset}" if self.offset else str(self.seq)


_encoder = msgspec.json.Encoder()


def encode_event(event: Event) -> bytes:
    return _encoder.encode(event)


_decoder: msgspec.json.Decoder[Event] | None = None


def decode_event(data: bytes | str) -> Event:
    global _decoder
    if _decoder is None:  # building it walks every event type: not at import time
        _decoder = msgspec.json.Decoder(Event)
    return _decoder.decode(data)
