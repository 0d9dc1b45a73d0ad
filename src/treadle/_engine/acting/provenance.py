"""The policy against injected instructions: what a run may do unasked after it has read something from outside.

A page, a mail or a file can contain orders for the model. Nobody can tell from a reply whose order it follows, but the
arguments show it: what the user wants sent, paid or deleted, the user has named. So after the first result from
outside, a call of a tool that its author marked `unsafe` is made unasked only if it is inside the intent of the run
(`intent.py`), or, where none was said, if its arguments are in the user's own words.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from treadle._engine.core.execution import Execution
from treadle._tools.base import Tool, ToolOutcome
from treadle._types.messages import ToolCall, ToolMessage
from treadle._types.provenance import SENT_ALONG, sources_of

if TYPE_CHECKING:
    from treadle._engine.acting.intent import Execute

_MAX_SOURCE = 80
_ADDRESS = "url"
_LINK = re.compile(r"https?://[^\s\"'<>)\]}\\]+")
_PUBLIC, _SERVICES = "treadle._tools.builtin.web", "treadle._tools.builtin.services"
"""Tools that ask somebody elsewhere, who is told what the model writes: what anybody can read, and what not."""


async def objection(run: Execution, tool: Tool, call: ToolCall, execute: Execute) -> str:
    """Why this call must not be made unasked: "after reading example.org". Empty when nothing speaks against it."""
    if run.settings.provenance == "off" or call.id in run.calls.lookups:
        return ""
    around = list(run.around())
    sources = [source for one in around for source in one.state.provenance.sources]
    has_intent = any(one.state.provenance.intent is not None for one in around)
    if not (_acts(tool, has_intent) or sends(tool)) or not (sources or has_intent):
        return ""
    source = next((source for source in sources if source != SENT_ALONG), "") or next(iter(sources), "")
    after = f"after reading {source}" if source else ""
    if has_intent:
        from treadle._engine.acting.intent import inside_intents  # most runs have none

        if await inside_intents(run, tool, call, execute, sends=sends(tool)):
            return ""
        after = f"outside of what was asked for{f', {after}' if after else ''}"
    if not _acts(tool, has_intent):
        # Who sent the history along has it already; what was read since then is another matter.
        silent = all(source == SENT_ALONG for source in sources) or await _says_nothing(run, tool, call)
        carrier = "address" if reads_addresses(tool) else "query"
        return "" if silent else f"after reading {source}, which the {carrier} could carry away"
    if has_intent:
        return after
    from treadle._engine.acting.user_words import in_words  # its patterns cost more than most runs need

    asked_for = await in_words(
        [text for one in around for text in one.state.provenance.words],
        lambda words: words.name_act(tool.all_names[-1]) and words.contain_call(call.args, tool.parameters),
    )
    return "" if asked_for else after


def _acts(tool: Tool, has_intent: bool) -> bool:
    """Return whether a tool acts. Where it is said what a run may do, whatever is not known to read only does."""
    return tool.effect != "pure" if has_intent else tool.marked_unsafe


def reads_addresses(tool: Tool) -> bool:
    """Return whether a call goes to an address that the model writes: reading it is a message to whoever is there."""
    return isinstance(tool.untrusted, str) and f"{{{_ADDRESS}}}" in tool.untrusted


def sends(tool: Tool) -> bool:
    """Return whether a call that only reads leaves the machine with what the model writes: an address, a query."""
    return reads_addresses(tool) or _home(tool).startswith((_PUBLIC, _SERVICES))


async def _says_nothing(run: Execution, tool: Tool, call: ToolCall) -> bool:
    """Return whether a request tells whoever gets it nothing of what was read: a person or the operator wrote exactly
    this one, or nothing but the web was read, where a query says what anybody could have read, and an address is a link
    there, was read before, or is where a page redirects to. Where more was read, which of them it is, and how often,
    could tell it."""
    around = list(run.around())
    fixed = [text for one in around for text in one.state.provenance.words]
    fixed += [one.state.started.system for one in around if one.state.started and one.state.started.origin == "person"]
    only_web = all(map(_read_web_only, around))
    if not reads_addresses(tool):
        from treadle._engine.acting.user_words import in_words  # its patterns cost more than most runs need

        return only_web or await in_words(fixed, lambda words: words.contain_each(call.args, tool.parameters))
    address = str(call.args.get(_ADDRESS, "")).rstrip(".,;:!?")
    if any(address in _links(text) for text in fixed) or (only_web and call.id in run.calls.redirects):
        return True
    steps = [step for one in around for step in one.state.steps]
    return only_web and any(step.args.get(_ADDRESS) == address or address in _links(step.observation) for step in steps)


def _read_web_only(run: Execution) -> bool:
    """Return whether a run has read, itself and in the turns before it, nothing that not anybody could have read."""
    started = run.state.started
    history = started.history if started is not None else ()
    past = [message for message in history if isinstance(message, ToolMessage) and message.source]
    tools = [*(message.name for message in past), *(step.tool for step in run.state.steps)]
    before = started.sources if started is not None and not started.depth else ()
    explained = {SENT_ALONG, *(message.source for message in past)}
    return explained.issuperset(before) and run.state.provenance.brought <= {SENT_ALONG} and all(
        _is_web(run.tools.toolkit.get(name)) for name in tools
    )  # fmt: skip


def _is_web(tool: Tool | None) -> bool:
    """Return whether anybody could have read what it returns."""
    return tool is not None and (reads_addresses(tool) or _home(tool).startswith(_PUBLIC))


def _home(tool: Tool) -> str:
    return getattr(tool.execute, "__module__", "")


def _links(text: str) -> set[str]:
    return {link.rstrip(".,;:!?") for link in _LINK.findall(text)}


def source_of(tool: Tool | None, call: ToolCall, outcome: ToolOutcome) -> str:
    """Where a result comes from, if from outside. A call that was not executed has told nothing."""
    if outcome.source:
        return _shown(outcome.source)
    if tool is None or not tool.untrusted or not outcome.executed:
        return ""
    return _shown(tool.name if tool.untrusted is True else _filled(tool.untrusted, call.args) or tool.name)


def sources_before(run: Execution) -> tuple[str, ...]:
    """Return what was read from outside before a run starts: in its history, and by the runs around it. What a caller
    says that a model or a tool has said may have been read anywhere; a tool that is known to read there is named
    first."""
    history = run.origin.history
    from_tools = [
        tool.name
        for message in history
        if isinstance(message, ToolMessage) and (tool := run.tools.get(message.name)) is not None and tool.untrusted
    ]
    outer = [source for one in run.around() for source in one.state.provenance.sources]
    said = sources_of(history)
    named = [source for source in said if source != SENT_ALONG] or from_tools
    return tuple(dict.fromkeys([*outer, *named, *said]))


def _filled(template: str, args: Mapping[str, Any]) -> str:
    """`{url}` stands for that argument; of an address, its host is named."""

    def value(match: re.Match[str]) -> str:
        text = str(args.get(match[1], ""))
        try:
            return urlsplit(text if "://" in text else f"//{text}").hostname or text if match[1] == "url" else text
        except ValueError:
            return text

    return re.sub(r"\{(\w+)\}", value, template)


def _shown(source: str) -> str:
    text = " ".join("".join(char if char.isprintable() else " " for char in source).split())
    return text if len(text) <= _MAX_SOURCE else text[: _MAX_SOURCE - 1] + "…"
