"""One change to a recorded run, as data: the difference between the run and an experiment.

What a request depends on is in the log, so most changes are records behind the fork: the fork can be shown, compared
and replayed like any other run. A model, a setting and a plug-in are the agent's: see `variants.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct

from treadle._agent.agent import Agent
from treadle._tools.results import cut
from treadle._types.errors import ConfigError
from treadle._types.events import (
    ContextCompacted,
    DialectDemoted,
    Event,
    HistoryReplaced,
    Record,
    StepDone,
    ToolDone,
    ToolsChanged,
)
from treadle._types.messages import AssistantMessage, text_of
from treadle._types.request import ToolSchema
from treadle._types.state import RunState
from treadle._types.state_values import Entry

Kind = Literal[
    "nothing", "prompt", "description", "result", "passage", "again", "tools", "model", "dialect", "setting",
    "threshold", "guard", "route",
]  # fmt: skip
ADDED = "added"
OFFERED = "offered"


class Change(Struct, frozen=True, omit_defaults=True):
    """Exactly one difference between a run and a fork of it.

    `prompt` (the system prompt, or the engine's `name`), `description` (of the tool `name`) and `passage` (the message
    of record `record`): the text `before` becomes `after`; without `before`, `after` is added. `result`: the result in
    `record`, or in `records`, becomes `after`. `again`: the call of `record` is made again. `tools`: the tool `name`
    is no longer offered, or, with `after="offered"`, is. `model`, `dialect`: `name` takes over. `setting`: `name`
    becomes `value`. `threshold`: from which probability of an answer (`name`: first | later; off) the model is taken to
    want one. `guard`: the plug-in `name` is left out, or, with `after="added"`, put in. `route`: the component `name`
    of a document chooses `after`. `nothing`: the same again, to see what chance does.
    """

    kind: Kind
    name: str = ""
    before: str = ""
    after: str = ""
    record: int = -1
    value: Any = None
    records: tuple[int, ...] = ()

    def __str__(self) -> str:
        if self.kind in ("prompt", "description", "passage"):
            where = {
                "prompt": f"the prompt {self.name!r}" if self.name else "the system prompt",
                "description": f"the description of {self.name}",
                "passage": f"the message of record {self.record}" + (f" ({self.name})" if self.name else ""),
            }[self.kind]
            if not self.after:
                return f"{where} without {_short(self.before)}"
            if not self.before:
                return f"{where} with {_short(self.after)} added"
            return f"{where} with {_short(self.after)} for {_short(self.before)}"
        match self.kind:
            case "result" if self.records:
                return f"{len(self.records)} results (records {self.records[0]} to {self.records[-1]}) withheld"
            case "result":
                return f"the result of {self.name} (record {self.record}) as {_short(self.after)}"
            case "again":
                return f"the call of {self.name} (record {self.record}) made again"
            case "tools":
                return f"the tool {self.name} {'offered' if self.after else 'not offered'}"
            case "setting":
                return f"{self.name}={self.value!r}"
            case "threshold":
                return f"the decision threshold {self.name}" + (f"={self.value!r}" if self.value is not None else "")
            case "guard":
                return f"with{'' if self.after else 'out'} the plug-in {self.name}"
            case "route":
                return f"{self.name} choosing {self.after!r}" + f", not {self.before!r}" * bool(self.before)
            case "nothing":
                return "nothing changed"
            case _:
                return f"{self.kind} {self.name}"

    @property
    def size(self) -> int:
        """The number of characters it changes."""
        return max(len(self.before), len(self.after))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def edited(text: str, before: str, after: str) -> str:
    """Replace `before` everywhere in a text; a line that becomes empty is removed with its line break."""
    if not before:
        return f"{text}\n{after}" if text else after
    if not after:
        for whole in (f"\n{before}", f"{before}\n"):
            text = text.replace(whole, "")
    return text.replace(before, after)


def prompts_with(change: Change, prompts: Mapping[str, str]) -> dict[str, str]:
    """Return the engine's prompts that were written anew, with the change; one that becomes empty is the engine's
    own again."""
    others = {name: text for name, text in prompts.items() if name != change.name}
    if len(others) == len(prompts):
        raise ConfigError(f"the run has no prompt {change.name!r} of its own")
    changes = bool(change.before or change.after)
    text = edited(_with(prompts[change.name], change), change.before, change.after) if changes else ""
    return others | {change.name: text} if text.strip() else others


def events_of(change: Change, state: RunState, agent: Agent[Any, Any], before: Sequence[Record] = ()) -> list[Event]:
    """Return the records to append after the fork. Raises `ConfigError` if there is nothing to change there."""
    reason = "experiment"
    started = state.started
    assert started is not None
    match change.kind:
        case "prompt" if not change.name:
            system = edited(_with(started.system, change), change.before, change.after)
            return [HistoryReplaced(len(state.conversation.window), system=system, reason=reason)]
        case "description" | "tools":
            return [ToolsChanged(_tools(change, state, agent), reason)]
        case "result" if change.records:
            here = {entry.seq for entry in state.conversation.window}
            replaced = {seq: change.after for seq in change.records if seq in here}
            if not replaced:
                raise ConfigError("none of these results is in the window at this step")
            return [ContextCompacted(replaced=dict(replaced), reason=reason)]
        case "result" | "passage":
            return [_message(change, state, reason)]
        case "dialect":
            return [DialectDemoted(change.name, state.dialect, reason)]
        case "setting":
            return _undone(change, state, before, reason)
        case "route":
            return [StepDone(change.name, "completed", change.after, key=change.name, stop_reason="answer")]
        case _:
            return []


WINDOW = ("max_history_messages", "context_budget")
"""Settings that have messages leave the window."""


def _undone(change: Change, state: RunState, before: Sequence[Record], reason: str) -> list[Event]:
    """Undo what a setting has done to the window before the fork: without it, it would not be so."""
    window = state.conversation.window
    if change.name in WINDOW and any(isinstance(record.event, ContextCompacted) for record in before):
        return [HistoryReplaced(0, tuple(state.conversation.transcript), reason=reason)]
    if change.name == "max_observation_chars" and change.value is not None:
        here = {entry.seq for entry in window}
        whole = {
            record.seq: cut(record.event.full, change.value)
            for record in before
            if isinstance(record.event, ToolDone) and record.event.full is not None and record.seq in here
        }
        return [ContextCompacted(replaced=dict(whole), reason=reason)] if whole else []
    return []


def _message(change: Change, state: RunState, reason: str) -> Event:
    entry = next((e for e in state.conversation.window if e.seq == change.record and text_in(e)), None)
    if entry is None:
        raise ConfigError(f"record {change.record} is no message that is in the window at this step")
    if isinstance(entry.message, AssistantMessage):
        if change.after or change.before != entry.message.text:
            raise ConfigError("what the model said itself can only be left out as a whole")
        return ContextCompacted((entry.seq,), reason=reason)
    old = text_in(entry)
    new = change.after if change.kind == "result" else edited(_with(old, change), change.before, change.after)
    return ContextCompacted(replaced={change.record: new}, reason=reason)


def text_in(entry: Entry) -> str:
    """Return the text of a message that can be changed: a reply with calls cannot, because results refer to it."""
    message = entry.message
    if isinstance(message, AssistantMessage):
        return "" if message.calls else message.text
    return text_of(getattr(message, "content", ""))


def _with(text: str, change: Change) -> str:
    if change.before not in text:
        raise ConfigError(f"there is no {_short(change.before)} to change at this step")
    return text


def _tools(change: Change, state: RunState, agent: Agent[Any, Any]) -> tuple[ToolSchema, ...]:
    offered = {schema.name: schema for schema in state.tools}
    if change.kind == "description":
        if change.name not in offered:
            raise ConfigError(f"the tool {change.name} is not offered at this step")
        offered[change.name] = described(offered[change.name], change)
    elif change.after:
        tool = agent.toolkit.get(change.name)
        if tool is None or change.name in offered:
            raise ConfigError(f"the tool {change.name} is offered already, or the agent has none of this name")
        offered[change.name] = tool.schema
    elif offered.pop(change.name, None) is None:
        raise ConfigError(f"the tool {change.name} is not offered at this step")
    return tuple(offered.values())


def described(schema: ToolSchema, change: Change) -> ToolSchema:
    """Apply the change to the description of a tool or of its parameters."""
    if not change.before or change.before in schema.description:
        text = edited(schema.description, change.before, change.after)
        return msgspec.structs.replace(schema, description=text)
    parameters = _rewritten(schema.parameters, change)
    if parameters == schema.parameters:
        raise ConfigError(f"there is no {_short(change.before)} to change at this step")
    return msgspec.structs.replace(schema, parameters=parameters)


def _rewritten(value: Any, change: Change) -> Any:
    """Change the descriptions and titles of a JSON Schema; drop an example or enum value that is just the text."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {
            name: edited(inner, change.before, change.after)
            if name in ("description", "title") and isinstance(inner, str)
            else _rewritten(inner, change)
            for name, inner in fields.items()
            if not (name in ("default", "examples") and not change.after and str(inner) == change.before)
        }
    if isinstance(value, list):
        items = cast("list[Any]", value)
        remaining = [item for item in items if change.after or str(item) != change.before]
        return [_rewritten(item, change) for item in remaining]
    return value


def parameter_texts(schema: ToolSchema) -> list[str]:
    """Collect the descriptions of a tool's parameters, and the values and examples they name."""
    texts: list[str] = []

    def look(value: Any) -> None:
        if isinstance(value, dict):
            for name, inner in cast("dict[str, Any]", value).items():
                if name == "description" and isinstance(inner, str) and inner:
                    texts.append(inner)
                elif name == "enum" and isinstance(inner, list):
                    texts.extend(str(item) for item in cast("list[Any]", inner))
                elif name in ("default", "examples") and inner not in (None, ""):
                    texts.append(str(inner))
                else:
                    look(inner)

    look(schema.parameters)
    return texts
