"""One change to a recorded run: what an experiment does differently, as data.

What a request depends on is in the log, so most changes are records behind the fork: the fork can be shown, compared
and replayed like any other run. A model, a setting and a plug-in are the agent's, and are changed in a copy of it.
"""

from __future__ import annotations

import copy
from typing import Any, Literal

import msgspec
from msgspec import Struct

from treadle._engine.preset import no_plugins
from treadle._flows import presets
from treadle._flows.agent import Agent
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError
from treadle._types.events import ContextCompacted, DialectDemoted, Event, HistoryReplaced, ToolsChanged
from treadle._types.messages import text_of
from treadle._types.request import ToolSchema
from treadle._types.state import RunState

Kind = Literal[
    "nothing", "prompt", "description", "result", "passage", "tools", "model", "dialect", "setting", "guard"
]  # fmt: skip


class Change(Struct, frozen=True, omit_defaults=True):
    """Exactly one difference between a run and a fork of it.

    `prompt` and `description`: the text `before` becomes `after` (in the system prompt; in what the tool `name` says
    of itself). `result`: record `record` is a tool's result, which becomes `after`. `passage`: in the message of record
    `record`, `before` becomes `after`. `tools`: the tool `name` is no longer offered, or, with `after="offered"`, is.
    `model`, `dialect`: `name` takes over. `setting`: `name` becomes `value`. `guard`: the plug-in `name` is left out.
    `nothing`: the same again, to see what chance does.
    """

    kind: Kind
    name: str = ""
    before: str = ""
    after: str = ""
    record: int = -1
    value: Any = None

    def __str__(self) -> str:
        if self.kind in ("prompt", "description", "passage"):
            where = {
                "prompt": "the system prompt",
                "description": f"the description of {self.name}",
                "passage": f"the message of record {self.record}" + (f" ({self.name})" if self.name else ""),
            }[self.kind]
            if not self.after:
                return f"{where} without {_short(self.before)}"
            if not self.before:
                return f"{where} with {_short(self.after)} added"
            return f"{where} with {_short(self.after)} for {_short(self.before)}"
        match self.kind:
            case "result":
                return f"the result of {self.name} (record {self.record}) as {_short(self.after)}"
            case "tools":
                return f"the tool {self.name} {'offered' if self.after else 'not offered'}"
            case "setting":
                return f"{self.name}={self.value!r}"
            case "guard":
                return f"without the plug-in {self.name}"
            case "nothing":
                return "nothing changed"
            case _:
                return f"{self.kind} {self.name}"

    @property
    def size(self) -> int:
        """How many characters it concerns: of two changes that help, the smaller one says more."""
        return max(len(self.before), len(self.after))


def _short(text: str) -> str:
    text = " ".join(text.split())
    return repr(text if len(text) <= 80 else f"{text[:77]}...")


def edited(text: str, before: str, after: str) -> str:
    """The text with `before` changed once; a line that becomes empty goes with its line break."""
    if not before:
        return f"{text}\n{after}" if text else after
    if not after:
        for whole in (f"\n{before}", f"{before}\n"):
            if whole in text:
                return text.replace(whole, "", 1)
    return text.replace(before, after, 1)


def events_of(change: Change, state: RunState, agent: Agent[Any, Any]) -> list[Event]:
    """The records that stand behind the fork. Raises `ConfigError` where there is nothing to change at this point."""
    reason = "experiment"
    started = state.started
    assert started is not None
    match change.kind:
        case "prompt":
            system = edited(_with(started.system, change), change.before, change.after)
            return [HistoryReplaced(len(state.window), system=system, reason=reason)]
        case "description" | "tools":
            return [ToolsChanged(_tools(change, state, agent), reason)]
        case "result" | "passage":
            entry = next((e for e in state.window if e.seq == change.record and hasattr(e.message, "content")), None)
            if entry is None:
                raise ConfigError(f"record {change.record} is no message that is in the window at this step")
            old = text_of(getattr(entry.message, "content", ""))
            new = change.after if change.kind == "result" else edited(_with(old, change), change.before, change.after)
            return [ContextCompacted(replaced={change.record: new}, reason=reason)]
        case "dialect":
            return [DialectDemoted(change.name, state.dialect, reason)]
        case _:
            return []


def _with(text: str, change: Change) -> str:
    if change.before not in text:
        raise ConfigError(f"there is no {_short(change.before)} to change at this step")
    return text


def _tools(change: Change, state: RunState, agent: Agent[Any, Any]) -> tuple[ToolSchema, ...]:
    offered = {schema.name: schema for schema in state.tools}
    if change.kind == "description":
        if change.name not in offered:
            raise ConfigError(f"the tool {change.name} is not offered at this step")
        schema = offered[change.name]
        text = edited(_with(schema.description, change), change.before, change.after)
        offered[change.name] = msgspec.structs.replace(schema, description=text)
    elif change.after:
        tool = agent.toolkit.get(change.name)
        if tool is None or change.name in offered:
            raise ConfigError(f"the tool {change.name} is offered already, or the agent has none of this name")
        offered[change.name] = tool.schema
    elif offered.pop(change.name, None) is None:
        raise ConfigError(f"the tool {change.name} is not offered at this step")
    return tuple(offered.values())


def agent_with(change: Change, agent: Agent[Any, Any], models: dict[str, Any]) -> Agent[Any, Any]:
    """A copy of the agent with the change, where it is the agent's. Its plug-ins are all named one by one."""
    variant = copy.copy(agent)
    variant.plugins = tuple(presets.plugins_for(agent.preset, agent.settings, agent.plugins))
    variant.preset = msgspec.structs.replace(agent.preset, plugins=no_plugins)
    match change.kind:
        case "model":
            variant.models = (models[change.name],)
        case "guard":
            variant.plugins = tuple(p for p in variant.plugins if getattr(p, "name", "") != change.name)
        case "description":
            variant.toolkit = Toolkit(
                tool.replace(description=edited(tool.description, change.before, change.after))
                if tool.name == change.name
                else tool
                for tool in agent.toolkit
            )
        case "tools" if not change.after:
            variant.toolkit = Toolkit(tool for tool in agent.toolkit if tool.name != change.name)
        case _:
            pass
    return variant
