"""The reply policy: reviews a reply before it counts.

A model may have one: by itself (`model.reply_policy`), or because its profile asks for it. The policy sees the reply,
the probabilities it came with and the decision in it, and accepts it, refuses it, or has the model asked again under a
constraint. Most models have none, and then nothing of this is loaded or called.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from treadle._dialects.base import Decision
from treadle._lazy import load
from treadle._models.base import Model
from treadle._types.events import Event, MessageAdded, ReplyConstrained, ThinkFailed
from treadle._types.messages import UserMessage
from treadle._types.request import DecisionNames, Reply

ENTRY = "_local.policy.policy:ProbabilityPolicy"
"""The policy of models whose profile asks for one."""


class Bounds(NamedTuple):
    """How probable an answer has to be. Between the two the reply is accepted, whichever it is."""

    answer_from: float
    """For an answer to be accepted."""
    no_call_from: float
    """For a call not to be accepted."""


class AskAgain(Struct, frozen=True):
    """The reply does not count: the model is asked again, and its next reply is constrained."""

    why: str
    must_act: bool = False
    barred: tuple[str, ...] = ()
    """Tools that the next reply cannot call."""
    note: str = ""
    """A message for the model before it is asked again."""
    think: bool = False
    """The next reply begins with a thought. Then it may call any tool that is left, or answer."""

    def events(self, policy: str, component: str, iteration: int, reply: Reply) -> tuple[Event, ...]:
        return (
            ThinkFailed(component, iteration, 1, self.why, 0.0, reply.usage, reply.options),
            *([MessageAdded(UserMessage(self.note, kind="note"), policy)] if self.note else []),
            ReplyConstrained(policy, self.must_act, self.barred, self.think),
        )


class Refuse(Struct, frozen=True):
    """The reply counts as one that cannot be used: the run asks for another one as often as its `repair` allows."""

    why: str
    """Phrased for the model."""


Verdict = AskAgain | Refuse | None
"""None accepts the reply."""


class Repetition(Struct, frozen=True):
    """How `LoopGuard` treats a model that repeats itself."""

    limits: tuple[int, int, int] = (2, 4, 6)
    """Rounds with nothing new until the model is told, its tools are withdrawn, and it must answer."""
    refuse_repeats: bool = False
    """A call whose result the model already has is not made a second time."""
    one_result: bool = False
    """The model answers after its first result."""
    answer_note: str = ""
    """What the model is told when it must answer; empty: the guard's own words."""


class ReplyPolicy(Protocol):
    """`run` is the `RunContext`."""

    name: str
    """The component in records of its decisions."""

    def bounds(self, run: Any) -> Bounds | None:
        """Return what the probabilities of the next reply are held against while it is written; None: it is not
        stopped."""
        ...

    async def review(self, run: Any, reply: Reply, decision: Decision | None, names: DecisionNames) -> Verdict:
        """Return whether the reply counts. `decision` is None for a reply that was stopped because it is out of
        bounds."""
        ...

    def repetition(self, run: Any) -> Repetition:
        """How the loop guard treats this model."""
        ...

    def guard(self, name: str) -> Any:
        """The plug-in that stands behind a `PolicyGuard` of this name; None when the policy has none."""
        ...


def policy_of(model: Model) -> ReplyPolicy | None:
    """The model's own policy, or the one its profile asks for."""
    own: ReplyPolicy | None = getattr(model, "reply_policy", None)
    if own is None and model.profile.reviewed:
        own = load(ENTRY)()
    return own
