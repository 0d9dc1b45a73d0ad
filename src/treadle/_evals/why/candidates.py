"""What may have made a run go wrong: the changes worth trying, kind by kind, the most suspicious first.

The wrong answer rests on the records whose words it repeats and the question does not have; texts are tried in pieces,
and a piece that helps is tried in smaller ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from treadle._evals.why.changes import Change, agent_with
from treadle._evals.why.effects import takes_part
from treadle._evals.why.experiments import Lab
from treadle._types.events import ThinkDone, ToolDone, ToolSelectionStarted
from treadle._types.messages import AssistantMessage, text_of
from treadle._types.state_values import Entry

WITHHELD = "(This result is not available.)"
_WORD = re.compile(r"[^\W_]{2,}")
PIECES = 8
"""How many pieces a text is cut into at a time."""

Tried = tuple[Change, int]


def pieces(text: str, most: int = PIECES) -> list[str]:
    """The text as at most so many pieces: lines, or sentences where there is one line only. A piece of several lines
    stands in the text just as it is."""
    spans = [match.span() for match in re.finditer(r"[^\n]*\S[^\n]*", text)]
    if len(spans) == 1:
        spans = [match.span() for match in re.finditer(r"\S.*?(?:[.!?;](?=\s)|$)", text, re.DOTALL)]
    if len(spans) <= 1:
        return [text[start:end] for start, end in spans]
    size = -(-len(spans) // most)
    groups = [spans[index : index + size] for index in range(0, len(spans), size)]
    return [text[group[0][0] : group[-1][1]] for group in groups]


def blamed(lab: Lab) -> list[tuple[float, Entry]]:
    """The messages of the last request, with the share of the answer's own words that each has, the largest first."""
    finished = lab.state.finished
    answer = finished.answer if finished else ""
    asked = set(_words(lab.state.question))
    words = [word for word in _words(answer) if word not in asked]
    scored: list[tuple[float, Entry]] = []
    for entry in lab.state.window:
        if isinstance(entry.message, AssistantMessage) or entry.component == "question":
            continue
        own = set(_words(text_of(getattr(entry.message, "content", ""))))
        scored.append((sum(word in own for word in words) / len(words) if words else 0.0, entry))
    return sorted(scored, key=lambda pair: -pair[0])


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def texts(lab: Lab) -> list[Tried]:
    """Pieces of the system prompt, of the descriptions of tools, and of messages that nobody asked for."""
    found: list[Tried] = []
    system = lab.state.started.system if lab.state.started else ""
    first = lab.steps[0]
    found += [(Change("prompt", before=piece), first) for piece in pieces(system)]
    called = dict.fromkeys(step.tool for step in lab.state.steps)
    offered = {schema.name: schema for schema in lab.state.started.tools} if lab.state.started else {}
    for name in (*called, *(name for name in offered if name not in called)):
        if name in offered:
            found += [
                (Change("description", name, before=piece), first) for piece in pieces(offered[name].description, 4)
            ]
    for _, entry in blamed(lab):
        if not entry.component.startswith("tool:"):
            text = text_of(getattr(entry.message, "content", ""))
            step = lab.step_after(max(0, entry.seq))
            if step is not None and text:
                found.append((Change("passage", entry.component, before=text, record=entry.seq), step))
    return found


def results(lab: Lab) -> list[Tried]:
    """Each result withheld, those first that the answer rests on or that say that something failed."""
    found: list[Tried] = []
    failed = {record.seq for record in lab.records if isinstance(record.event, ToolDone) and record.event.error}
    for _, entry in sorted(blamed(lab), key=lambda pair: (pair[1].seq not in failed, -pair[0])):
        step = lab.step_after(entry.seq)
        if entry.component.startswith("tool:") and step is not None:
            name = entry.component.removeprefix("tool:")
            before = text_of(getattr(entry.message, "content", ""))
            found.append((Change("result", name, before, WITHHELD, entry.seq), step))
    return found


def tools(lab: Lab) -> list[Tried]:
    """Each tool that was called taken away, and each that the agent has and the run was not offered, offered."""
    first = lab.steps[0]
    called = dict.fromkeys(step.tool for step in lab.state.steps)
    offered = {schema.name for schema in lab.state.tools}
    missing = [name for name in lab.agent.toolkit.names if name not in offered]
    return [
        *((Change("tools", name), first) for name in called),
        *((Change("tools", name, after="offered"), first) for name in missing),
    ]


def settings(lab: Lab) -> Iterator[Tried]:
    """Settings that what happened gives a reason to doubt."""
    first, state = lab.steps[0], lab.state
    recorded: dict[str, Any] = state.started.settings if state.started else {}
    last = lab.steps[-1]
    if recorded.get("temperature") != 0:
        yield Change("setting", "temperature", value=0.0), first
    if any(isinstance(record.event, ToolSelectionStarted) for record in lab.records):
        yield Change("setting", "selection_threshold"), 0
    stopped = state.finished.stop_reason if state.finished else ""
    limit = int(recorded.get("max_iterations", 50))
    if stopped == "limit" or state.iteration >= limit:
        yield Change("setting", "max_iterations", value=max(2 * limit, limit + 10)), last
    cut = [r for r in lab.records if isinstance(r.event, ToolDone) and r.event.full is not None]
    if cut:
        most = int(recorded.get("max_observation_chars", 12_000))
        yield Change("setting", "max_observation_chars", value=8 * most), first
    if any(isinstance(r.event, ThinkDone) and r.event.finish == "length" for r in lab.records):
        yield Change("setting", "max_tokens"), first


def guards(lab: Lab) -> list[Tried]:
    """Each plug-in that has left a trace in the run, left out from the beginning."""
    components = {str(getattr(record.event, "component", "")) for record in lab.records}
    plugins = agent_with(Change("nothing"), lab.agent, {}).plugins
    named = [str(getattr(plugin, "name", "")) for plugin in plugins if takes_part(plugin)]
    return [(Change("guard", name), 0) for name in named if name and name in components]


def dialects(lab: Lab, wanted: Sequence[str]) -> list[Tried]:
    now = lab.state.dialect
    return [(Change("dialect", name), lab.steps[0]) for name in wanted if name != now]


def models(lab: Lab) -> list[Tried]:
    return [(Change("model", name), lab.steps[0]) for name in lab.models]
