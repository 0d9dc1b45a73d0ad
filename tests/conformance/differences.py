"""The differences between ways to run the same scenario, each with its reason. Whatever is not here must not differ."""

from __future__ import annotations

from msgspec import Struct


class Difference(Struct, frozen=True):
    fields: tuple[str, ...]
    """The fields of the outcome that differ."""
    reason: str


def differ(fields: str, reason: str) -> Difference:
    return Difference(tuple(fields.split()), reason)


_STREAM_ENDS = "a stream ends where the run pauses; the run goes on with `agent.resume`"
_FACADE_REFUSES = "the protocol has no pause: the error says where to decide"
_PLAN_JUDGED = "a plan goes on after a step that failed: its judge has the last word, and its rounds are used up"
_PLAN_BEST = "the answer names the task that was not finished"
_TO_THE_CALLER = "a message goes to the run that was started, not to those inside it"
_OWN_COUNT = "an agent that delegates counts its own iterations"
_OWN_END = "what failed inside is a result for the agent that delegates: it ends as it decides"
_ONE_RESULT = "a tool's final result ends the step; what the steps amount to is an answer"
_DELIVERED = "what a component answers from the rounds it has is its output, and the document goes on"
_REPAIRS_UNCOUNTED = "repairs do not count as iterations in this preset"
_TEXT_DIALECT = "a cut reply in a text dialect is unreadable as a whole; natively only its call is"
_ONE_TOOL = "one call per reply: the second is refused"
_INSIDE = "what a run inside another raises is a failure for the one around it, not for the caller"
_SOURCES = "an answer is checked by its sources: the model is told once what rests on none, and that is marked"
_CITED = "what was read has a number, and the answer is marked or cites it"
_REVISED = (
    "direct answer", "one call", "two calls in one reply", "chain of three", "failing tool", "unknown tool",
    "wrong arguments, then right ones", "tool time-out", "unreadable reply, then repaired", "model error, then retry",
    "message while it works", "secret in the answer", "white space and other letters",
)  # fmt: skip
"""Their answers cite nothing, and no tool says what they say."""

DIFFERENCES: dict[tuple[str, str], Difference] = {
    # surfaces, in every mode and preset
    ("approval", "stream"): differ("answer stop_reason success events", _STREAM_ENDS),
    ("approval", "deltas"): differ("answer", _STREAM_ENDS),
    ("approval", "text"): differ("answer", _STREAM_ENDS),
    ("approval", "facade"): differ("answer stop_reason tokens", _FACADE_REFUSES),
    ("approval", "facade stream"): differ("answer stop_reason tokens", _FACADE_REFUSES),
    # modes
    ("empty replies", "plan"): differ("answer stop_reason", _PLAN_JUDGED),
    ("limit", "plan"): differ("answer", _PLAN_BEST),
    ("budget", "plan"): differ("answer stop_reason", _PLAN_JUDGED),
    ("permanent model error", "plan"): differ("answer stop_reason", _PLAN_JUDGED),
    ("final tool", "plan"): differ("stop_reason", _ONE_RESULT),
    ("cancelled in a call", "plan"): differ("answer", "the answer says what the steps have found, not which tools ran"),
    ("message while it works", "plan"): differ("work", _TO_THE_CALLER),
    ("limit", "document"): differ("stop_reason success", _DELIVERED),
    ("final tool", "document"): differ("stop_reason", _ONE_RESULT),
    ("cancelled in a call", "document"): differ(
        "answer", "the answer is what components have found, not which tools ran"
    ),
    ("message while it works", "document"): differ(
        "work unread", "a document has nobody to read a message: the result reports it as unread"
    ),
    ("direct answer", "child"): differ("iterations", _OWN_COUNT),
    ("chain of three", "child"): differ("iterations", _OWN_COUNT),
    ("wrong arguments, then right ones", "child"): differ("iterations", _OWN_COUNT),
    ("unreadable reply, then repaired", "child"): differ("iterations", _OWN_COUNT),
    ("empty replies", "child"): differ("answer stop_reason success iterations", _OWN_END),
    ("limit", "child"): differ("stop_reason success", _OWN_END),
    ("budget", "child"): differ("stop_reason success", _OWN_END),
    ("permanent model error", "child"): differ("stop_reason success iterations", _OWN_END),
    ("final tool", "child"): differ("stop_reason iterations", _OWN_END),
    ("cancelled in a call", "child"): differ("answer", "the answer names the tools of the run that was started"),
    ("message while it works", "child"): differ("work", _TO_THE_CALLER),
    ("secret in the answer", "child"): differ("iterations", _OWN_COUNT),
    ("white space and other letters", "child"): differ("iterations", _OWN_COUNT),
    ("unknown tool", "code"): differ("work", "in code, a tool that does not exist is a name that does not exist"),
    ("unreadable reply, then repaired", "code"): differ("iterations work", _TEXT_DIALECT),
    ("empty replies", "code"): differ("iterations", _REPAIRS_UNCOUNTED),
    ("limit", "code"): differ("answer", "at the limit it says what was done (`on_limit=salvage`)"),
    ("budget", "code"): differ("iterations work", "the call that runs the code counts as well"),
    ("permanent model error", "code"): differ("answer", "the answer names the model's own calls: those of `python`"),
    ("cancelled in a call", "code"): differ("answer", "the answer names the model's own calls: those of `python`"),
    # presets
    ("empty replies", "two_phase"): differ("iterations work", "one repair instead of two"),
    ("limit", "two_phase"): differ("answer", "at the limit it says what was done (`on_limit=fallback`)"),
    ("two calls in one reply", "streaming"): differ("iterations work", _ONE_TOOL),
    ("failing tool", "streaming"): differ("iterations", _REPAIRS_UNCOUNTED),
    ("unknown tool", "streaming"): differ("iterations", _REPAIRS_UNCOUNTED),
    ("wrong arguments, then right ones", "streaming"): differ("iterations", _REPAIRS_UNCOUNTED),
    ("tool time-out", "streaming"): differ("iterations", _REPAIRS_UNCOUNTED),
    ("unreadable reply, then repaired", "streaming"): differ("iterations work", _TEXT_DIALECT),
    ("empty replies", "streaming"): differ("iterations", _REPAIRS_UNCOUNTED),
    ("empty replies", "strict"): differ("raised", "errors are raised (`raise_errors`)"),
    ("limit", "strict"): differ("answer raised work", "the limit is raised (`on_limit=raise`)"),
    ("permanent model error", "strict"): differ("raised", "errors are raised (`raise_errors`)"),
    ("unreadable reply, then repaired", "reflective"): differ("work", _TEXT_DIALECT),
    ("empty replies", "reflective"): differ("iterations work", "more repairs, as many as there are iterations"),
    ("two calls in one reply", "planned"): differ("work", _ONE_TOOL),
    ("unreadable reply, then repaired", "planned"): differ("iterations work", _TEXT_DIALECT),
    ("empty replies", "planned"): differ("iterations", _REPAIRS_UNCOUNTED),
    ("limit", "planned"): differ("answer", "at the limit it says what was done (`on_limit=salvage`)"),
    **{(name, "research"): differ("answer iterations work", _SOURCES) for name in _REVISED},
    **{
        (name, "research"): differ("answer", _CITED)
        for name in ("limit", "budget", "permanent model error", "approval")
    },
    ("final tool", "research"): differ("answer stop_reason iterations work", _SOURCES),
    # presets in other modes, where they differ from the preset in the loop in more than the mode does
    ("empty replies", "plan with strict"): differ("raised", _INSIDE),
    ("limit", "plan with strict"): differ("raised", _INSIDE),
    ("permanent model error", "plan with strict"): differ("raised", _INSIDE),
    ("empty replies", "document with strict"): differ("raised", _INSIDE),
    ("limit", "document with strict"): differ("raised", _INSIDE),
    ("permanent model error", "document with strict"): differ("raised", _INSIDE),
    ("empty replies", "child with strict"): differ("raised", _INSIDE),
    ("limit", "child with strict"): differ("answer raised", _INSIDE),
    ("permanent model error", "child with strict"): differ("answer raised", _INSIDE),
}
NOT_OFFERED: dict[tuple[str, str], str] = {
    ("unreadable reply, then repaired", "terminal"): "a script file cannot say that a reply was cut",
    ("structured output", "terminal"): "the program has no option for the type of the answer",
}
