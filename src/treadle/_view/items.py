"""The values that a surface draws: frozen, tagged by `kind`, each with an id that is unique in its run.

An item that comes with an id that is there already takes the place of the old one. Every field is always written, so
the page's types (`web/src/items.ts`, written by `scripts/page_types.py`) need no defaults.
"""

from __future__ import annotations

from typing import Any, Literal, Union

from msgspec import Struct

from treadle._types.events import LedgerEntry, StopReason
from treadle._types.request import Citation, ProviderCall
from treadle._types.usage import NO_USAGE, Usage


class ItemBase(Struct, frozen=True, tag_field="kind", gc=False):
    """What all items have."""

    id: str


class Turn(ItemBase, frozen=True, tag="turn"):
    """The run itself: who was asked what."""

    run: str
    parent: str
    depth: int
    agent: str
    model: str
    dialect: str
    question: str
    conversation: str
    created: float


class Status(ItemBase, frozen=True, tag="status"):
    """What the run is doing now."""

    state: Literal["working", "paused", "parked", "finished"] = "working"
    activity: str = "starting"
    """A few words in lower case, such as `thinking`."""
    iteration: int = 0
    model: str = ""
    """The model in use."""
    speaker: str = ""
    """The agent that has the conversation now, where it was handed over."""


class Cost(ItemBase, frozen=True, tag="cost"):
    """What the run, and the runs inside it that have reported, have spent."""

    usage: Usage
    total_tokens: int


class Thought(ItemBase, frozen=True, tag="thought"):
    """A model call: what was read from its reply besides calls and the answer.

    Replies of components outside the conversation (an observer, a planner) have no text here.
    """

    component: str
    iteration: int
    state: Literal["open", "done", "void"] = "open"
    """`void`: it ended before the reply was there."""
    text: str = ""
    reasoning: str = ""
    """What the model thought in a channel of its own."""
    problem: str = ""
    """Why the reply could not be read."""
    unread: bool = False
    """The text only says that: nothing for a reader."""
    is_answer: bool = False
    """The answer says the same."""
    calls: tuple[str, ...] = ()
    """The ids of the calls that the reply asks for."""
    attempts: int = 0
    """How many attempts have failed."""
    elapsed: float = 0.0
    usage: Usage = NO_USAGE
    """All attempts together."""

    @property
    def words(self) -> str:
        """The thought for a reader: what the model wrote, else what it thought in its own channel."""
        return ((not self.unread and self.text) or self.reasoning).strip()


class ArtifactLine(Struct, frozen=True, gc=False):
    """An artifact without its content."""

    name: str
    mime: str
    summary: str
    size: int


CallState = Literal["waiting", "asked", "running", "done", "failed", "refused", "cancelled"]


class Call(ItemBase, frozen=True, tag="call"):
    """A tool call, from the reply that asks for it to its result."""

    call_id: str
    tool: str
    args: dict[str, Any] = {}
    """Those it is executed with."""
    proposed: dict[str, Any] | None = None
    """The arguments the model gave, where others took their place."""
    iteration: int = 0
    state: CallState = "waiting"
    """`waiting`: not started yet; `asked`: a person decides about it, or gives its result; `refused`: not executed."""
    why: str = ""
    """Why it was asked about."""
    external: bool = False
    """It waits for its result from outside, not for a decision."""
    output: str = ""
    """What it has written so far; empty once it has ended."""
    content: str = ""
    """Its result as text."""
    error: str = ""
    began: float = 0.0
    elapsed: float = 0.0
    artifacts: tuple[ArtifactLine, ...] = ()
    truncated: bool = False
    final: bool = False
    """Its result is the answer."""
    has_run: bool = False
    """An agent works on it in a run of its own: it was handed the conversation, or works in the background."""
    work: Literal["", "running", "done", "failed", "stopped"] = ""
    """How far an agent in the background is."""

    @property
    def ended(self) -> bool:
        return self.state in ENDED


ENDED = frozenset(("done", "failed", "refused", "cancelled"))


class Pause(ItemBase, frozen=True, tag="pause"):
    """The run waits for a person."""

    reason: str
    calls: tuple[str, ...] = ()
    """The ids of the calls that wait."""
    parked: int = 0
    """How often it was resumed without progress; 0 for a pause that is no parking."""


class Decision(ItemBase, frozen=True, tag="decision"):
    """Somebody decided about a call, or gave its result."""

    call_id: str
    tool: str
    decided: Literal["allowed", "refused", "answered"]
    by: str = ""
    note: str = ""
    always: bool = False
    args: dict[str, Any] | None = None
    """Arguments put in place of the model's."""
    failed: bool = False
    """The result that was given is a failure."""


class Answer(ItemBase, frozen=True, tag="answer"):
    """The answer, in the version that counts now. There is one per run."""

    state: Literal["draft", "open", "void", "final", "retracted"]
    """`draft`: words that may turn out to be a thought; `open`: it is being written; `void`: what was written does not
    count and it begins anew; `retracted`: those words are not the answer (the item is gone)."""
    text: str = ""
    source: str = ""


class Interrupt(ItemBase, frozen=True, tag="interrupt"):
    """Messages that arrived while the run worked, and were read."""

    texts: tuple[str, ...]
    message_ids: tuple[str, ...]


class Compaction(ItemBase, frozen=True, tag="compaction"):
    """Old messages left the context; perhaps a summary took their place."""

    original_messages: int
    kept_messages: int
    reason: str
    summary: str


class CheckItem(Struct, frozen=True, gc=False):
    """One line of a checklist."""

    text: str
    done: bool


class Checklist(ItemBase, frozen=True, tag="checklist"):
    """The plan that the run keeps for itself. There is one per run."""

    steps: tuple[CheckItem, ...]
    iteration: int


class PlannedLine(Struct, frozen=True, gc=False):
    """A step as it was planned."""

    id: str
    task: str
    dependencies: tuple[str, ...]
    tool_hint: str
    model_hint: str


class Plan(ItemBase, frozen=True, tag="plan"):
    """The plan of one round. The steps themselves are `PlanStep` items."""

    round: int
    steps: tuple[PlannedLine, ...]
    notes: tuple[str, ...]


class PlanStep(ItemBase, frozen=True, tag="plan_step"):
    """A step of a plan, which is a run inside this one."""

    step: str
    round: int
    task: str = ""
    dependencies: tuple[str, ...] = ()
    hint: str = ""
    state: str = "waiting"
    """waiting | running | completed | failed | skipped | reused"""
    run: str = ""
    result: str = ""
    error: str = ""
    elapsed: float = 0.0
    usage: Usage = NO_USAGE


class ProviderUse(ItemBase, frozen=True, tag="provider_use"):
    """What the provider did by itself while it wrote a reply, and what the reply cites."""

    component: str
    iteration: int
    calls: tuple[ProviderCall, ...]
    citations: tuple[Citation, ...]


class Retry(ItemBase, frozen=True, tag="retry"):
    """An attempt of a model call failed; what was shown of it is void."""

    component: str
    iteration: int
    attempt: int
    error: str
    wait: float | None
    """Seconds until the next attempt; None when there is none."""
    rejected: bool = False
    """The reply arrived and was not accepted: the model is asked again, nothing failed."""


class Notice(ItemBase, frozen=True, tag="notice"):
    """Anything else that happened. Its words are written once, in `notices.py`."""

    topic: str
    level: Literal["note", "warning", "divider", "quiet"] = "note"
    """`quiet`: part of the stream for programs, not drawn for people."""
    title: str = ""
    text: str = ""
    fields: dict[str, Any] = {}
    """The facts of the event, for programs."""


class End(ItemBase, frozen=True, tag="end"):
    """How the run ended. There is one per run, the last item."""

    stop_reason: StopReason
    success: bool
    failed: bool
    """There is no answer: `error` says why, and `partial` what there was before."""
    answer: str
    partial: str
    error: str
    error_type: str
    iterations: int
    elapsed: float
    unread: tuple[str, ...] = ()
    ledger: tuple[LedgerEntry, ...] = ()
    """What became of each call that acts."""


Item = Union[  # noqa: UP007 - msgspec reads it at run time
    Turn, Status, Cost, Thought, Call, Pause, Decision, Answer, Interrupt, Compaction, Checklist, Plan, PlanStep,
    ProviderUse, Retry, Notice, End,
]  # fmt: skip


class Put(Struct, frozen=True, gc=False):
    """An item was added, or took the place of `before`."""

    item: Item
    before: Item | None = None


class More(Struct, frozen=True, gc=False):
    """A piece of the text of an open thought or answer, or of the output of a call; never stored."""

    id: str
    text: str
    reasoning: bool = False


Change = Put | More
