"""Everything else that may have made a run go wrong: settings, tools, guards, dialects, models, thresholds, and lines
that are missing. What happened gives the reason to doubt each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from treadle._engine.core.experiment import takes_part
from treadle._engine.settings import Settings
from treadle._inspect.why import candidates
from treadle._inspect.why.candidates import Tried
from treadle._inspect.why.changes import ADDED, OFFERED, Change
from treadle._inspect.why.experiments import Lab
from treadle._inspect.why.variants import GUARDS, name_of, plugins_of
from treadle._models.transport.decision import answer_probability
from treadle._types.events import (
    ContextCompacted,
    DialectDemoted,
    ThinkDone,
    ThinkFailed,
    ThinkStarted,
    ToolDone,
    ToolSelectionStarted,
)

_DEFAULTS = Settings()
_NOT_TRIED = frozenset(
    [
        "dialect",
        "probe",
        "stream_thoughts",
        "verbose",
        "markers",
        "files",
        "imports",
        "ask",
        "budget",
        "on_budget",
        "retry",
        "on_error",
        "raise_errors",
        "complete_name",
        "error_detail",
        "seed",
        "tool_timeout",
        "max_parallel",
        "provenance",
    ]
)
"""Settings with their own kind of change, that concern only what is shown, or that keep a person in control."""
_FEW = 4
_LARGER = 8
"""How many times as large a bound is tried."""


def settings(lab: Lab) -> list[Tried]:
    """Settings that what happened gives a reason to doubt; then each that is not what it is by default."""
    changes = [*accused(lab), *_doubted(lab)]
    named = {change.name for change, _ in changes}
    for name in lab.settings.__struct_fields__:
        default: Any = getattr(_DEFAULTS, name)
        if name not in _NOT_TRIED | named and getattr(lab.settings, name) != default:
            changes.append((Change("setting", name, value=_plain(default)), 0))
    return changes


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)


def accused(lab: Lab) -> Iterator[Tried]:
    """Yield what the log itself names: a limit or budget that ended the run, messages that left the window, results and
    replies that were cut off. Each from the last step at which it can still be made good."""
    now, state, first, last = lab.settings, lab.state, lab.steps[0], lab.steps[-1]
    stopped = state.finished.stop_reason if state.finished else ""
    limit = now.max_iterations
    if stopped == "limit" or state.iteration >= limit:
        yield Change("setting", "max_iterations", value=max(2 * limit, limit + 10)), last
    if stopped == "budget" and now.budget is not None:
        bounds = {name: value for name, value in _plain(now.budget).items() if value is not None}
        yield Change("setting", "budget", value={name: _LARGER * value for name, value in bounds.items()}), last
    if any(isinstance(r.event, ToolDone) and r.event.full is not None for r in lab.records):
        change = Change("setting", "max_observation_chars", value=_LARGER * now.max_observation_chars)
        yield from ((change, step) for step in ([last] if lab.long else [first]))
    replies = [r.event for r in lab.records if isinstance(r.event, ThinkDone) and r.event.finish == "length"]
    for reply in replies[-1:]:
        yield Change("setting", "max_tokens"), reply.iteration if reply.iteration in lab.cuts else first
    if any(isinstance(r.event, ContextCompacted) for r in lab.records):
        if now.max_history_messages is not None:
            yield Change("setting", "max_history_messages"), last
        if now.context_budget is not None:
            yield Change("setting", "context_budget", value=_LARGER * now.context_budget), last


def _doubted(lab: Lab) -> Iterator[Tried]:
    first = lab.steps[0]
    if lab.settings.temperature != 0:
        yield Change("setting", "temperature", value=0.0), first
    if any(isinstance(record.event, ToolSelectionStarted) for record in lab.records):
        yield Change("setting", "selection_threshold"), 0


def thresholds(lab: Lab) -> list[Tried]:
    """The nearest threshold with which a decision that was read from the model's probabilities is the other one."""
    decide = lab.state.profile.decide
    if decide is None:
        return []
    changes: list[Tried] = []
    seen = False
    for record in lab.records:
        event = record.event
        seen = seen or isinstance(event, ToolDone)
        if not isinstance(event, ThinkDone | ThinkFailed):
            continue
        if event.options and event.component == "loop" and event.iteration in lab.cuts:
            name = "later" if seen else "first"
            now, here = getattr(decide, name), answer_probability(event.options)
            other = min(1.0, here + 0.01) if here >= now else max(0.0, here - 0.01)
            changes.append((Change("threshold", name, value=round(other, 2)), event.iteration))
    changes += [
        (Change("threshold", name, value=round(getattr(decide, name) / 2, 2)), lab.steps[0])
        for name in ("first", "later")
    ]
    changes += [
        (Change("threshold", name, value=round((1 + getattr(decide, name)) / 2, 2)), lab.steps[0])
        for name in ("first", "later")
    ]
    return [*dict.fromkeys([*changes, (Change("threshold", "off"), lab.steps[0])])]


def guards(lab: Lab) -> list[Tried]:
    """Each plug-in left out from the beginning, those first that have left a trace in the run."""
    components = {str(getattr(record.event, "component", "")) for record in lab.records}
    own = {name_of(plugin) for plugin in lab.agent.plugins}
    named = [name_of(plugin) for plugin in plugins_of(lab.agent, lab.settings) if takes_part(plugin)]
    tried = [name for name in named if name in components]
    tried += [name for name in named if name in own and name not in tried]
    return [(Change("guard", name), 0) for name in tried]


def tools(lab: Lab) -> list[Tried]:
    """Each tool that was called taken away, and each that the agent has and the run was not offered, offered; the ones
    that nobody called taken away where they are few."""
    first = lab.steps[0]
    called = dict.fromkeys(step.tool for step in lab.state.steps)
    offered = [schema.name for schema in lab.state.tools]
    missing = [name for name in lab.agent.toolkit.names if name not in offered]
    idle = [name for name in offered if name not in called]
    return [
        *((Change("tools", name), first) for name in called if name in offered),
        *((Change("tools", name, after=OFFERED), first) for name in missing),
        *((Change("tools", name), first) for name in idle if len(idle) <= _FEW),
    ]


def of_flow(lab: Lab, right_inside: bool) -> list[Tried]:
    """List what only a plan or document has: the ways that its components chose, the prompts of its own requests that
    were written anew and, where a run inside was right, whatever the last of these requests has read."""
    assert lab.flow is not None
    at = {seq: step for step, seq in lab.cuts.items()}
    changes: list[Tried] = []
    for choice in lab.flow.choices(lab.records):
        done = lab.state.dag.steps.get(choice.name)
        chosen = done.result if done is not None else ""
        changes += [
            (Change("route", choice.name, chosen, way), at[choice.record])
            for way in choice.ways
            if way != chosen and choice.record in at
        ]
    texts = [tried for tried in candidates.texts(lab) if tried[0].kind != "description"]
    if right_inside:
        return [*changes, *((change, _judged(lab)) for change, _ in texts)]
    return [*changes, *(tried for tried in texts if tried[0].name in lab.started.prompts)]


def _judged(lab: Lab) -> int:
    """Return the step of the last request of its own."""
    own = {record.seq for record in lab.records if isinstance(record.event, ThinkStarted)}
    return max((step for step, seq in lab.cuts.items() if seq in own), default=0)


def dialects(lab: Lab, wanted: Sequence[str]) -> list[Tried]:
    """Those that were named; where replies could not be read, or no tool was called though there are some, the usual
    ones too."""
    now = lab.state.dialect
    replies = [record.event for record in lab.records if isinstance(record.event, ThinkDone)]
    unread = any(reply.problem or reply.repaired for reply in replies)
    demoted = [record.event.previous for record in lab.records if isinstance(record.event, DialectDemoted)]
    usual = ["native"] if lab.state.profile.tool_call else []
    if unread or demoted or (lab.state.tools and not lab.state.steps):
        wanted = [*wanted, *demoted, *usual, "json"]
    return [(Change("dialect", name), lab.steps[0]) for name in dict.fromkeys(wanted) if name != now]


def models(lab: Lab) -> list[Tried]:
    return [(Change("model", name), lab.steps[0]) for name in lab.models]


def additions(lab: Lab, calls: Sequence[str], lines: Sequence[str], added: Sequence[str]) -> list[Tried]:
    """Lines that may be missing: the user's own, and general ones that what happened gives a reason for."""
    state, first = lab.state, lab.steps[0]
    wanted = [*lines]
    if state.tools and not state.steps:
        wanted.append("Look everything up with the tools; do not answer from memory.")
    if any(step.error for step in state.steps):
        wanted.append("When a tool fails, try it again with other arguments, or try another tool.")
    if state.steps and not any(step.error for step in state.steps):
        wanted.append("Answer exactly what was asked, with the values that the tools gave.")
    changes: list[Tried] = [(Change("prompt", after=line), first) for line in dict.fromkeys(wanted)]
    offered = {schema.name for schema in state.tools}
    made = {step.tool for step in state.steps}
    asked = " ".join(state.question.split())[:120]
    changes += [
        (Change("description", name, after=f"Use it for questions such as: {asked}"), first)
        for name in calls
        if name in offered and name not in made
    ]
    return [*changes, *((Change("guard", name, after=ADDED), first) for name in added if name in GUARDS)]
