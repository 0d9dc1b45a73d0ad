"""What happens in a run. A run IS its records; everything else is a fold or a projection of them.

Events marked transient are shown but not stored. The journal stores `Record`s; `SCHEMA` is the version of these
shapes, and `treadle._journal` upgrades older ones when it reads them.
"""

from __future__ import annotations

from typing import Any, Literal, Union

import msgspec
from msgspec import Struct

from treadle._types.acts import Act as Act
from treadle._types.acts import LedgerEntry as LedgerEntry
from treadle._types.control_events import AnswerOnly as AnswerOnly
from treadle._types.control_events import AnswerPartial as AnswerPartial
from treadle._types.control_events import Approved as Approved
from treadle._types.control_events import ChildSpent as ChildSpent
from treadle._types.control_events import Forked as Forked
from treadle._types.control_events import LoopStarted as LoopStarted
from treadle._types.control_events import MessageRetracted as MessageRetracted
from treadle._types.control_events import Paused as Paused
from treadle._types.control_events import PhaseChanged as PhaseChanged
from treadle._types.control_events import ProviderToolsUsed as ProviderToolsUsed
from treadle._types.control_events import ReplyCapped as ReplyCapped
from treadle._types.control_events import ReplyConstrained as ReplyConstrained
from treadle._types.control_events import Resumed as Resumed
from treadle._types.control_events import Tainted as Tainted
from treadle._types.control_events import ToolAnswered as ToolAnswered
from treadle._types.control_events import ToolSelectionStarted as ToolSelectionStarted
from treadle._types.dag_events import DagJudged as DagJudged
from treadle._types.dag_events import DagModeChosen as DagModeChosen
from treadle._types.dag_events import DagPlanned as DagPlanned
from treadle._types.dag_events import DagPlanning as DagPlanning
from treadle._types.dag_events import PlannedStep as PlannedStep
from treadle._types.dag_events import StepDone as StepDone
from treadle._types.dag_events import StepStarted as StepStarted
from treadle._types.intent import Intent as Intent
from treadle._types.intent import IntentSet as IntentSet
from treadle._types.intent import Permitted as Permitted
from treadle._types.messages import AssistantMessage, AudioPart, Content, FilePart, ImagePart, Message, Origin, ToolCall
from treadle._types.profile import Profile
from treadle._types.request import OutputFormat, ToolSchema
from treadle._types.usage import NO_USAGE, Usage
from treadle._types.usage import Artifact as Artifact
from treadle._types.value import EventBase, Value
from treadle._types.workspace_events import TreeChanges as TreeChanges
from treadle._types.workspace_events import TreeSaved as TreeSaved
from treadle._types.workspace_events import WorkspaceOpened as WorkspaceOpened

SCHEMA = 3

StopReason = Literal["answer", "final_tool", "limit", "budget", "stuck", "empty", "cancelled", "paused", "error"]
"""Why a run ended. `empty`: the model gave no answer, however often it was asked."""


class RunStarted(EventBase, frozen=True, tag="run_started"):
    """A run begins: everything its first request depends on."""

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
    sources: tuple[str, ...] = ()
    """What was read from outside before it started: in the conversation so far, or by a run around it."""
    follows: str = ""
    """The run of its conversation that it continues; else the one before it."""
    preset: str = ""
    """The preset its settings began with."""
    output_schema: dict[str, Any] | None = None
    """The JSON Schema of the answer, where the caller gave one for this run."""
    client_tools: tuple[str, ...] = ()
    """Which of `tools` the caller brought, and gives the results of."""
    origin: Origin = "person"
    """`imported` for a run that was not made here: nothing in it is anybody's word or decision."""
    mark: str = ""
    """A seal of the server that started it: only such runs are resumed when a server starts."""
    acting: dict[str, tuple[str, ...]] = {}
    """The tools that act, with their `verbs`."""
    versions: dict[str, str] = {}
    """The version of each tool."""


class Sent(Struct, frozen=True, omit_defaults=True, gc=False):
    """A message of a component's request."""

    seq: int = -1
    message: Message | None = None


class ThinkStarted(EventBase, frozen=True, tag="think_started"):
    """A model call begins. Of the loop's request only the digest is kept, and `system` when it changed; of those of
    other components the messages, too."""

    component: str
    iteration: int
    digest: str = ""
    parts: tuple[str, ...] = ()
    """A short digest of each message that is new since this component's last request."""
    system: str | None = None
    messages: tuple[Sent, ...] = ()
    tools: tuple[ToolSchema, ...] = ()
    format: OutputFormat | None = None


CUT_OFF = "the request was cut off because the run was stopped"
"""The error of an attempt that whoever stopped the run has ended."""
UNREADABLE = "(could not parse LLM output as JSON)"
"""The thought of a reply that could not be read."""


class ThinkFailed(EventBase, frozen=True, tag="think_failed"):
    """One attempt failed; another follows after `wait` seconds unless `wait` is None."""

    component: str
    iteration: int
    attempt: int
    error: str
    wait: float | None = None
    usage: Usage = NO_USAGE
    options: dict[str, float] = {}
    """What the model would most probably have written where it decided."""


class ThinkDone(EventBase, frozen=True, tag="think_done"):
    """A model call ended: the whole reply, what was read from it, and what it cost."""

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
    options: dict[str, float] = {}
    """What the model would most probably have written where it decided, before any constraint."""
    completes: bool = False
    """`answer` is proposed once the calls of the message are done."""


class MessageAdded(EventBase, frozen=True, tag="message_added"):
    """A component added a message to the conversation."""

    message: Message
    component: str = "user"


class ToolStarted(EventBase, frozen=True, tag="tool_started"):
    """A tool is about to be executed: without a `ToolDone`, the call was under way at a crash."""

    call: ToolCall
    iteration: int
    key: str = ""
    """The idempotency key of this call."""
    effect: str = "unsafe"

    @property
    def name(self) -> str:
        """The tool's name."""
        return self.call.name

    @property
    def call_id(self) -> str:
        """The id of the call, unique in the run."""
        return self.call.id

    @property
    def args(self) -> dict[str, Any]:
        """The arguments it is executed with."""
        return self.call.args


class ToolDone(EventBase, frozen=True, tag="tool_done"):
    """A call has its outcome, which the model will see."""

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
    source: str = ""
    """Where the content comes from, if from outside ("example.org")."""
    task_successful: bool | None = None
    """Of a final result: what is said about having done the task."""
    act: Act | None = None
    """Of a tool that acts: what it was called for, whether or not it was run."""
    inside: tuple[LedgerEntry, ...] = ()
    """What an agent that was asked has done itself."""


class Injected(EventBase, frozen=True, tag="injected"):
    """Messages that arrived while the run worked, shown to the model as one."""

    ids: tuple[str, ...]
    texts: tuple[str, ...]
    media: tuple[ImagePart | AudioPart | FilePart, ...] = ()
    """What came with them, in this order."""


class ToolsChanged(EventBase, frozen=True, tag="tools_changed"):
    """From the next request on, the model is offered these tools."""

    tools: tuple[ToolSchema, ...]
    reason: str = ""


class ContextCompacted(EventBase, frozen=True, tag="context_compacted"):
    """The messages of the records `covers` left the window; `summary` (if any) stands where the first of them stood.
    `replaced` gives a shorter text to single messages, by record."""

    covers: tuple[int, ...] = ()
    summary: str = ""
    replaced: dict[int, Content] = {}
    unpinned: tuple[int, ...] = ()
    original_messages: int = 0
    kept_messages: int = 0
    reason: str = ""


class PlanStep(Value, frozen=True, omit_defaults=True, gc=False):
    """One step of a plan that `Planner` keeps."""

    text: str
    done: bool = False


class PlanChanged(EventBase, frozen=True, tag="plan_changed"):
    """The plan was made, or its done flags changed."""

    steps: tuple[PlanStep, ...]
    iteration: int = 0


class Observed(EventBase, frozen=True, tag="observed"):
    """The observer's judgement of the run so far; `correction` is what the model was told, if anything."""

    iteration: int
    progressing: bool
    looping: bool
    reasoning: str = ""
    correction: str = ""


class Reflected(EventBase, frozen=True, tag="reflected"):
    """What a reflection on the last results said."""

    iteration: int
    text: str


class ModelSwitched(EventBase, frozen=True, tag="model_switched"):
    """Another model serves this run from now on."""

    model: str
    previous: str
    reason: str
    profile: Profile | None = None


class DialectDemoted(EventBase, frozen=True, tag="dialect_demoted"):
    """The model's replies could not be read in one dialect; another one is used from now on."""

    dialect: str
    previous: str
    reason: str
    system: str | None = None


class AnswerStarted(EventBase, frozen=True, tag="answer_started"):
    """The answer for the user begins."""

    source: str
    """loop | synthesis | complete | own_words | tool | fallback | partial (it was stopped while it was written) | error
    (no answer: what was found before)"""


class AnswerDone(EventBase, frozen=True, tag="answer_done"):
    """The answer for the user is complete."""

    text: str
    source: str


class Noted(EventBase, frozen=True, tag="noted"):
    """A plug-in's own fact, kept so that it survives a crash."""

    component: str
    data: dict[str, Any] = {}


class RunFinished(EventBase, frozen=True, tag="run_finished"):
    """The last record of a run."""

    stop_reason: StopReason
    answer: str = ""
    brief: str = ""
    success: bool = True
    error: str = ""
    error_type: str = ""
    task_successful: bool | None = None
    output: Any = None
    """The typed answer as plain JSON, when the agent has an `output_type`."""
    unread: tuple[str, ...] = ()
    """Messages that arrived too late to be read."""


# Of runs that were recorded from another program: they were not made here, and say so.


class Exchanged(EventBase, frozen=True, tag="exchanged"):
    """A request of a recorded program and its response, and what it has in common with the one before."""

    iteration: int
    protocol: str
    """openai.chat | openai.responses | anthropic.messages | gemini"""
    status: int = 0
    ending: str = "complete"
    """complete | cut | cancelled | unreachable"""
    attempt: int = 1
    sent: int = 0
    """Bytes of the request, unpacked."""
    received: int = 0
    first_token: float | None = None
    """Seconds from the request to the first piece of the reply."""
    elapsed: float = 0.0
    compared: int = 0
    """Bytes of the request before it; 0 when there is none."""
    kept: int = 0
    """How many of them this request begins with."""
    broke: str = ""
    """What differs first: `tools`, `system`, `message 3`."""
    before: str = ""
    """The bytes around the place, in the request before."""
    after: str = ""
    """The same place in this request."""
    lost_tokens: int = 0
    """Tokens of the request before that a cache could not have because of that."""
    lost_cost: float | None = None
    """In dollars; None when prices are not known."""


class HistoryReplaced(EventBase, frozen=True, tag="history_replaced"):
    """The recorded program did not go on where it was: from message `kept` on, its next request has these messages."""

    kept: int
    messages: tuple[Message, ...] = ()
    system: str | None = None
    reason: str = ""


# Transient: shown, never stored.


class TextStreamed(EventBase, frozen=True, tag="text_streamed"):
    """A piece of a model's text or reasoning, while it is written."""

    component: str
    iteration: int
    text: str
    reasoning: bool = False


class ToolOutput(EventBase, frozen=True, tag="tool_output"):
    """A piece of a tool's output, while it runs."""

    call_id: str
    name: str
    text: str


class AnswerDelta(EventBase, frozen=True, tag="answer_delta"):
    """A piece of the answer for the user, as it streams."""

    text: str
    provisional: bool = False
    """Whether it may still be retracted."""


class AnswerRetracted(EventBase, frozen=True, tag="answer_retracted"):
    """What streamed as the answer is not the answer: it was said before a call, and is a thought."""

    text: str


class OutputPartial(EventBase, frozen=True, tag="output_partial"):
    """The typed answer as far as it is written, of an agent with an `output_type`. What `data` has fits the schema;
    only its last text may still grow."""

    data: dict[str, Any]
    complete: bool = False
    """Nothing that is required is missing."""


class Reset(EventBase, frozen=True, tag="reset"):
    """What was streamed since the last start is void: the attempt is made again."""

    component: str
    attempt: int


Event = Union[  # noqa: UP007 - msgspec reads it at run time
    RunStarted, LoopStarted, PhaseChanged, ReplyConstrained, AnswerOnly, MessageRetracted, ToolSelectionStarted,
    ThinkStarted, ThinkFailed, ThinkDone, MessageAdded, ToolStarted, ToolDone, Injected, ToolsChanged,
    ContextCompacted, PlanChanged, Observed, Reflected, ModelSwitched, DialectDemoted, AnswerStarted,
    AnswerPartial, IntentSet, Permitted,
    AnswerDone, Paused, Resumed, Approved, Tainted, Forked, Noted, DagModeChosen, DagPlanning, DagPlanned, DagJudged,
    ProviderToolsUsed, StepStarted, StepDone, ReplyCapped, ChildSpent, ToolAnswered, Exchanged, HistoryReplaced,
    WorkspaceOpened, TreeSaved, RunFinished,
    TextStreamed, ToolOutput, AnswerDelta, AnswerRetracted, OutputPartial, Reset,
]  # fmt: skip
"""Anything that happens in a run."""
TRANSIENT = (TextStreamed, ToolOutput, AnswerDelta, AnswerRetracted, OutputPartial, Reset)
"""The events that are shown and never stored."""


class Record(Value, frozen=True, omit_defaults=True, gc=False):
    """One event and its position: `(run, seq)` is its key; a transient event has an `offset` > 0 within that record."""

    run: str
    seq: int
    time: float
    event: Event
    parent: str = ""
    offset: int = 0
    depth: int = 0
    """0 for a run that was started by a caller, 1 for one inside it, and so on."""

    @property
    def id(self) -> str:
        """Its number, and after a dot its `offset` if it has one."""
        return f"{self.seq}.{self.offset}" if self.offset else str(self.seq)


_encoder = msgspec.json.Encoder()


def encode_event(event: Event) -> bytes:
    """An event as JSON, the way journals store it."""
    return _encoder.encode(event)


_decoder: msgspec.json.Decoder[Event] | None = None


def decode_event(data: bytes | str) -> Event:
    """The event that `encode_event` wrote."""
    global _decoder
    if _decoder is None:  # building it walks every event type: not at import time
        _decoder = msgspec.json.Decoder(Event)
    return _decoder.decode(data)
