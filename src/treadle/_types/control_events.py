"""What steers a run: where it stands, what holds for the next reply, and what a person decides."""

from __future__ import annotations

from typing import Any

from treadle._types.messages import Content, ToolCall
from treadle._types.request import Citation, ProviderCall
from treadle._types.usage import NO_USAGE, Usage
from treadle._types.value import EventBase


class PhaseChanged(EventBase, frozen=True, tag="phase"):
    """What the run is doing now, for display only: nothing may depend on it."""

    phase: str


class LoopStarted(EventBase, frozen=True, tag="loop_started"):
    """The start hooks of the plug-ins are done; a resumed run does not call them again."""


class ReplyConstrained(EventBase, frozen=True, tag="reply_constrained"):
    """What the next reply is held to, where the dialect can; it ends with that reply. A later one takes its place."""

    component: str
    must_act: bool = False
    """The reply has to be a tool call."""
    barred: tuple[str, ...] = ()
    """Tools it must not call."""
    think: bool = False
    """It has to begin with a thought."""
    until_call: bool = False
    """It holds until the caller has a call of one of its own tools."""


class AnswerOnly(EventBase, frozen=True, tag="answer_only"):
    """From now on no tool may be called: the run has to answer."""

    reason: str


class MessageRetracted(EventBase, frozen=True, tag="message_retracted"):
    """The message of record `seq` leaves the window; the transcript keeps it."""

    seq: int
    component: str
    reason: str = ""


class ToolSelectionStarted(EventBase, frozen=True, tag="tool_selection_started"):
    """There are many tools: a model call chooses among them before the loop."""

    total_tools: int


class Paused(EventBase, frozen=True, tag="paused"):
    """The run waits for a person: `call` needs approval, or `reason` says what else."""

    reason: str
    calls: tuple[ToolCall, ...] = ()
    why: dict[str, str] = {}
    """Why a call waits, by its id, if for another reason."""
    parked: int = 0
    """How often the run was resumed without any progress before it was parked; else 0."""


class Resumed(EventBase, frozen=True, tag="resumed"):
    """A run continues that had been interrupted or paused."""

    reason: str = ""
    """paused | restarted | unparked | forked (it goes on for the first time after it was copied)"""
    attempt: int = 0
    """How often it was resumed since its last progress."""
    changed: dict[str, str] = {}
    """The tools that have changed since they were recorded last, with their versions."""


class ReplyCapped(EventBase, frozen=True, tag="reply_capped"):
    """The budget leaves room for a shorter reply than the settings allow."""

    component: str
    iteration: int
    max_tokens: int


class ChildSpent(EventBase, frozen=True, tag="child_spent"):
    """What a run inside this one has spent so far."""

    child: str
    """Its id, without this run's id in front where it begins with it."""
    usage: Usage = NO_USAGE


class Approved(EventBase, frozen=True, tag="approved"):
    """A person decided about a call that waited."""

    call_id: str
    allow: bool
    by: str = ""
    note: str = ""
    args: dict[str, Any] | None = None
    """Arguments the person put in place of the model's."""
    always: bool = False
    """Allow every later call of this tool in this run, too."""
    tool: str = ""

    @property
    def name(self) -> str:
        """The tool's name, as other events call it."""
        return self.tool


class ToolAnswered(EventBase, frozen=True, tag="tool_answered"):
    """The caller gave the result of a call that is not executed here."""

    call_id: str
    content: Content
    error: bool = False
    """It failed out there; `content` says why."""
    by: str = ""
    tool: str = ""

    @property
    def name(self) -> str:
        """The tool's name, as other events call it."""
        return self.tool


class Tainted(EventBase, frozen=True, tag="tainted"):
    """A run inside this one has read something from outside."""

    sources: tuple[str, ...]
    run: str = ""


class ProviderToolsUsed(EventBase, frozen=True, tag="provider_tools_used"):
    """The provider ran tools of its own while it wrote the reply that follows."""

    component: str
    iteration: int
    calls: tuple[ProviderCall, ...] = ()
    citations: tuple[Citation, ...] = ()

    @property
    def sources(self) -> tuple[str, ...]:
        """The hosts and files that are cited, else the tools that read the web or files."""
        cited = [_place(one) for one in self.citations]
        read = [f"{call.tool} (provider)" for call in self.calls if call.tool not in ("code_execution", "tool_search")]
        return tuple(dict.fromkeys(cited or read))


def _place(cited: Citation) -> str:
    # Google cites the web through addresses of its own; the title is the site then.
    if "grounding-api-redirect" in cited.url and cited.title:
        return cited.title
    from urllib.parse import urlsplit

    try:
        host = urlsplit(cited.url).hostname or ""
    except ValueError:
        host = ""
    return host or cited.file or cited.title or cited.url


class AnswerPartial(EventBase, frozen=True, tag="answer_partial"):
    """The answer as far as it had been shown while it was being written, stored once a second."""

    text: str
    """The answer from character `at` on."""
    at: int = 0
    component: str = "loop"
    usage: Usage = NO_USAGE
    """The estimated cost of the reply so far."""


class Forked(EventBase, frozen=True, tag="forked"):
    """This run was copied from another one up to here, without decisions about calls."""

    origin: str
    seq: int
    """The original's first record that was not copied."""
