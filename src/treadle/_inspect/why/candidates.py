"""List the texts that may have made a run go wrong, as changes to try, the most suspicious first.

The wrong answer rests on the records whose words it repeats and the question does not have; texts are tried in pieces,
and a piece that helps is tried in smaller ones.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from treadle._inspect.why.changes import Change, parameter_texts, text_in
from treadle._inspect.why.experiments import Lab
from treadle._inspect.why.pieces import PIECES, pieces
from treadle._types.events import ToolDone
from treadle._types.messages import AssistantMessage
from treadle._types.request import ToolSchema
from treadle._types.state_values import Entry

WITHHELD = "(This result is not available.)"
_WORD = re.compile(r"[^\W_]{2,}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")

_IN_PIECES = 3
"""How many results are tried in pieces, even if it does not help to withhold them."""
_ALL = 10_000

Tried = tuple[Change, int]


def blamed(lab: Lab) -> list[tuple[float, Entry]]:
    """Return the messages with the share of the answer's own words in each, the largest first."""
    scored: list[tuple[float, Entry]] = []
    for entry in lab.entries:
        if entry.component == "question":
            continue
        if text := text_in(entry):
            scored.append((lab.blame(text), entry))
    return sorted(scored, key=lambda pair: -pair[0])


def texts(lab: Lab) -> list[Tried]:
    """List pieces of the system prompt, of tool descriptions and of messages beside the question.

    Pieces whose words are in the wrong answer come first.
    """
    first = lab.steps[0]
    changes = [(Change("prompt", before=piece), first) for piece in pieces(lab.started.system)]
    changes += [(Change("prompt", name, text), 0) for name, text in lab.started.prompts.items()]
    changes += [*descriptions(lab), *messages(lab)]
    return sorted(changes, key=lambda tried: -lab.blame(tried[0].before))


def descriptions(lab: Lab) -> list[Tried]:
    """List pieces of the descriptions of tools and their parameters; tools that were called come first."""
    called = dict.fromkeys(step.tool for step in lab.state.steps)
    offered: dict[str, ToolSchema] = {schema.name: schema for schema in lab.state.tools}
    changes: list[Tried] = []
    for name in (*called, *(name for name in offered if name not in called)):
        if name in offered:
            texts = [*pieces(offered[name].description, 4), *parameter_texts(offered[name])[:PIECES]]
            changes += [(Change("description", name, before=text), lab.steps[0]) for text in dict.fromkeys(texts)]
    return changes


def messages(lab: Lab) -> list[Tried]:
    """List messages beside the question: history, memory, notes of plug-ins, messages sent during the run."""
    changes: list[Tried] = []
    for _, entry in blamed(lab):
        step = lab.step_after(max(0, entry.seq))
        if not entry.component.startswith("tool:") and step is not None:
            changes.append((Change("passage", entry.component, before=text_in(entry), record=entry.seq), step))
            changes += parts(lab, entry)
    return changes


def parts(lab: Lab, entry: Entry, most: int = PIECES) -> list[Tried]:
    """Leave out each piece of a message: the answer may need the rest of it."""
    step = lab.step_after(max(0, entry.seq))
    cut = pieces(text_in(entry), most)
    if step is None or len(cut) < 2 or isinstance(entry.message, AssistantMessage):
        return []
    name = entry.component.removeprefix("tool:")
    return [(Change("passage", name, piece, record=entry.seq), step) for piece in cut]


def finest(lab: Lab) -> list[Tried]:
    """Every line, or sentence, of every text by itself, those first whose words the answer has. For when nothing else
    has helped: a larger piece may hold the cause and something that is needed as well."""
    first = lab.steps[0]
    changes: list[Tried] = [(Change("prompt", before=line), first) for line in _lines(lab.started.system)]
    for schema in lab.state.tools:
        changes += [(Change("description", schema.name, line), first) for line in _lines(schema.description)]
    for _, entry in blamed(lab):
        step = lab.step_after(max(0, entry.seq))
        if step is None or isinstance(entry.message, AssistantMessage):
            continue
        name = entry.component.removeprefix("tool:")
        changes += [(Change("passage", name, line, record=entry.seq), step) for line in _lines(text_in(entry))]
    return sorted(changes, key=lambda tried: -lab.blame(tried[0].before))


def _lines(text: str) -> list[str]:
    """As small as pieces are: lines, and the sentences, clauses or elements of a long one."""
    lines: list[str] = []
    for line in text.splitlines():
        if line.strip():
            small = pieces(line, _ALL)
            small += [part for whole in small for part in pieces(whole, _ALL, clauses=True)]
            lines += [line, *small] if len(small) > 1 else [line]
    return [*dict.fromkeys(lines)]


def results(lab: Lab) -> list[Tried]:
    """Each result withheld, those first that the answer rests on or that say that something failed; where there are
    many, several at a time."""
    failed = {record.seq for record in lab.records if isinstance(record.event, ToolDone) and record.event.error}
    rank = sorted(blamed(lab), key=lambda pair: (pair[1].seq not in failed, -pair[0]))
    entries = [entry for _, entry in rank if entry.component.startswith("tool:") and lab.step_after(entry.seq)]
    chosen = entries if len(entries) <= PIECES else entries[: PIECES // 2]
    changes = [withheld(lab, entry) for entry in chosen]
    for entry in chosen[:_IN_PIECES]:
        changes += parts(lab, entry)
    if len(chosen) < len(entries):
        rest = sorted(entry.seq for entry in entries[len(chosen) :])
        changes += groups(lab, rest)
    return changes


def withheld(lab: Lab, entry: Entry) -> Tried:
    name = entry.component.removeprefix("tool:")
    step = lab.step_after(entry.seq) or lab.steps[-1]
    return Change("result", name, text_in(entry), WITHHELD, entry.seq), step


def groups(lab: Lab, records: Sequence[int], most: int = PIECES) -> list[Tried]:
    """Results, several at a time, from the step on at which all of them are there; one alone is tried as such."""
    size = -(-len(records) // most)
    changes: list[Tried] = []
    for index in range(0, len(records), size):
        part = tuple(records[index : index + size])
        step = lab.step_after(part[-1])
        if step is None:
            continue
        if len(part) == 1:
            entry = next(entry for entry in lab.entries if entry.seq == part[0])
            changes.append(withheld(lab, entry))
        else:
            changes.append((Change("result", after=WITHHELD, records=part), step))
    return changes


def again(lab: Lab) -> list[Tried]:
    """List calls that failed, to make them again: the tool may have failed by accident."""
    changes: list[Tried] = []
    for record in lab.records:
        event = record.event
        if isinstance(event, ToolDone) and event.error and event.executed and event.iteration in lab.cuts:
            changes.append((Change("again", event.name, record=record.seq), event.iteration))
    return changes


def corrected(lab: Lab, wanted: Sequence[str], most: int = 6) -> list[Tried]:
    """Where the wrong value of the answer stands in a text, the expected one in its place: then that text is where it
    comes from. The texts nearest to the model's own answer come last in the ranking, because it only repeats them."""
    finished = lab.state.finished
    answer = finished.answer if finished else ""
    changes: list[Tried] = []
    for new in wanted:
        olds = _values(answer, new, lab.state.question)
        for _, entry in blamed(lab):
            text, step = text_in(entry), lab.step_after(max(0, entry.seq))
            old = next((old for old in olds if _stands(old, text)), "")
            if old and step is not None and not isinstance(entry.message, AssistantMessage):
                name = entry.component.removeprefix("tool:")
                changes.append((Change("passage", name, old, new, entry.seq), step))
        system = lab.started.system
        changes += [(Change("prompt", before=old, after=new), lab.steps[0]) for old in olds if _stands(old, system)][:1]
    return changes[:most]


def _values(answer: str, wanted: str, question: str) -> list[str]:
    """Return the values of the answer that may be wrong: numbers where a number is expected, else words."""
    pattern = _NUMBER if _NUMBER.fullmatch(wanted.strip()) else _WORD
    asked = set(pattern.findall(question))
    values = [value for value in dict.fromkeys(pattern.findall(answer)) if value not in asked and value != wanted]
    return sorted(values, key=len, reverse=True)[:4] if pattern is _WORD else values


def _stands(value: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None
