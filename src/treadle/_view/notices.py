"""Events that are drawn alone, as one item each: notices with their words, retries, interrupts, compactions.

A new event that only has to be seen needs one entry in `ALONE`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from treadle._types import events as ev
from treadle._types.intent import in_words
from treadle._view.items import CheckItem, Checklist, Compaction, Interrupt, Item, Notice, ProviderUse, Retry

CHECKLIST = "checklist"


def _retry(event: ev.ThinkFailed, id: str) -> Item:
    if event.error == ev.CUT_OFF:  # the end of the run says so
        return _quiet(event, id)
    attempt = event.component, event.iteration, event.attempt
    return Retry(id, *attempt, event.error, event.wait, rejected=bool(event.options))


def _fields(event: ev.Event) -> dict[str, Any]:
    """The fields of an event that differ from their defaults."""
    fields: dict[str, Any] = msgspec.to_builtins(event)
    del fields["type"]
    return fields


def _quiet(event: ev.Event, id: str) -> Notice:
    topic = str(event.__struct_config__.tag)
    return Notice(id, _TOPICS.get(topic, topic), "quiet", fields=_fields(event))


_TOPICS = {"tool_selection_started": "selecting_tools", "dag_mode_chosen": "mode", "dag_planning": "planning"}
"""What a quiet notice is about, where that is not the tag of its event."""


_PHASES = {
    "handed over to ": "",
    "background ": "background work",
    "going on without tools": "some tools are missing",
}
"""How a phase that is worth a line begins, and its title where that is another one."""


def _phase(event: ev.PhaseChanged, id: str) -> Notice:
    """A phase is a text; those about other agents and missing tools are worth a line."""
    head, _, text = event.phase.partition(": ")
    titles = [title or head for start, title in _PHASES.items() if event.phase.startswith(start)]
    fields = {"phase": event.phase}
    return (
        Notice(id, "phase", "note", titles[0], text, fields) if titles else Notice(id, "phase", "quiet", fields=fields)
    )


def _tools_changed(event: ev.ToolsChanged, id: str) -> Notice:
    names = [tool.name for tool in event.tools]
    text = f"{', '.join(names) or 'none'} ({event.reason})"
    return Notice(id, "tools_changed", "note", "tools now", text, {**_fields(event), "tools": names})


def _model_switched(event: ev.ModelSwitched, id: str) -> Notice:
    previous = f" from {event.previous}" if event.previous else ""
    title = f"switched{previous} to {event.model}"
    return Notice(id, "model_switched", "warning", title, event.reason, _fields(event))


def _dialect_demoted(event: ev.DialectDemoted, id: str) -> Notice:
    title = f"switched to the dialect {event.dialect}"
    return Notice(id, "dialect_demoted", "warning", title, event.reason, _fields(event))


def _observed(event: ev.Observed, id: str) -> Notice:
    level = "note" if event.looping or not event.progressing else "quiet"
    return Notice(id, "observed", level, "observer", event.correction or event.reasoning, _fields(event))


_RESUMED = {"": "resumed", "forked": "forked", "restarted": "resumed after a restart"}


def _resumed(event: ev.Resumed, id: str) -> Notice:
    title = _RESUMED.get(event.reason, f"resumed ({event.reason})")
    changed = ", ".join(event.changed)
    text = f"changed since then: {changed}" if changed else ""
    return Notice(id, "resumed", "divider", title, text, {"reason": event.reason, "changed": list(event.changed)})


_MOMENTS = {
    "start": "files stored",
    "after": "files changed",
    "between": "files changed by something else",
    "interrupted": "changed by a call that was interrupted",
    "restored": "files restored",
}


def _tree(event: ev.TreeSaved, id: str) -> Notice:
    quiet = event.moment == "start" and not event.skipped
    level = "warning" if event.problem or event.moment == "interrupted" else "quiet" if quiet else "note"
    changes = event.changes
    more = changes.added + changes.changed + changes.removed - len(changes.paths)
    skipped = f"not stored: {', '.join(event.skipped)}" if event.skipped and event.moment == "start" else ""
    lines = (event.problem, ", ".join(changes.paths), f"and {more} more" if more > 0 else "", skipped)
    title = "files could not be stored" if event.problem else _MOMENTS[event.moment]
    return Notice(id, "tree_saved", level, title, "; ".join(filter(None, lines)), _fields(event))


def _note(title: str, text: Callable[[Any], str]) -> Callable[[Any, str], Notice]:
    """What draws an event as a line with this title."""
    return lambda event, id: Notice(id, event.__struct_config__.tag, "note", title, text(event), _fields(event))


ALONE: dict[type, Callable[[Any, str], Item]] = {
    ev.ThinkFailed: _retry,
    ev.Injected: lambda event, id: Interrupt(id, event.texts, event.ids),
    ev.ContextCompacted: lambda event, id: Compaction(
        id, event.original_messages, event.kept_messages, event.reason, event.summary
    ),
    ev.PlanChanged: lambda event, id: Checklist(
        CHECKLIST, tuple(CheckItem(one.text, one.done) for one in event.steps), event.iteration
    ),
    ev.ProviderToolsUsed: lambda event, id: ProviderUse(
        id, event.component, event.iteration, event.calls, event.citations
    ),
    ev.PhaseChanged: _phase,
    ev.ToolSelectionStarted: _quiet,
    ev.DagModeChosen: _quiet,
    ev.DagPlanning: _quiet,
    ev.DagJudged: lambda event, id: Notice(id, "verdict", "quiet", fields=msgspec.structs.asdict(event)),
    ev.ToolsChanged: _tools_changed,
    ev.ModelSwitched: _model_switched,
    ev.DialectDemoted: _dialect_demoted,
    ev.Observed: _observed,
    ev.Reflected: _note("reflection", lambda event: event.text),
    ev.Resumed: _resumed,
    ev.WorkspaceOpened: lambda event, id: Notice(
        id, "workspace_opened", "note", f"works in a {event.backend}", event.folder, _fields(event)
    ),
    ev.TreeSaved: _tree,
    ev.IntentSet: _note("may be done without a question", lambda event: in_words(event.intent)),
    ev.Permitted: _quiet,
    ev.AnswerOnly: _quiet,
    ev.MessageRetracted: _quiet,
    ev.ReplyCapped: _quiet,
}
"""The items that events are drawn as whatever else has happened, by the event and an id."""
