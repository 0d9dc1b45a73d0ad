"""A person's decision about a call that waits: in which forms it is given, and what becomes of it in the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union, cast

import msgspec

from treadle._tools.base import Tool
from treadle._tools.external import answer_for
from treadle._types.errors import ConfigError
from treadle._types.events import Approved, ToolAnswered
from treadle._types.messages import ToolCall
from treadle._types.state import waiting_calls as waiting_calls

Answer = Union[bool, Mapping[str, Any]]  # noqa: UP007 - it is read at run time
"""`True`, `False`, or `{"allow": True, "args": {...}, "always": True, "by": "...", "note": "..."}`."""
_FIELDS = ("allow", "args", "always", "by", "note")


def decision_of(call_id: str, answer: Answer) -> Approved:
    """The decision an answer amounts to. Only a plain `True` allows: anything else refuses, and so do changed arguments
    that are none, since whoever wrote them did not allow the model's."""
    if not isinstance(answer, Mapping):
        return Approved(call_id, answer is True)
    args: Any = answer.get("args")
    by, note = str(answer.get("by") or ""), str(answer.get("note") or "")
    if args is not None and not isinstance(args, dict):
        return Approved(call_id, False, by, note or "the changed arguments are not a mapping of names to values")
    named = cast("dict[str, Any] | None", args)
    return Approved(call_id, answer.get("allow") is True, by, note, named, answer.get("always") is True)


def results_for(
    waiting: Sequence[ToolCall], results: Mapping[str, Any], tool_of: Callable[[str], Tool | None], by: str = ""
) -> list[ToolAnswered]:
    """Return what `results=` says about the calls that wait for a result: text, JSON, content parts or an exception by
    call id. An id that waits for no result is an error that names those that do."""
    if not isinstance(cast("object", results), Mapping):
        raise ConfigError(f"results is {results!r}, and it must be a mapping of call ids to results")
    by_id = {call.id: call for call in waiting if call.external}
    for call_id in results:
        if call_id not in by_id:
            names = ", ".join(f"{call.id} ({call.name})" for call in by_id.values()) or "none"
            raise ConfigError(f"results: no call {call_id!r} waits for a result; waiting: {names}")
    answers: list[ToolAnswered] = []
    for call_id, value in results.items():
        name = by_id[call_id].name
        tool = None if ":" in call_id else tool_of(name)  # that of a run inside this one is not known here
        answers.append(answer_for(tool, call_id, name, value, by))
    return answers


def read_result(payload: Mapping[str, object]) -> ToolAnswered:
    """The result in an item of a run's inbox; one that cannot be read is a call that failed."""
    try:
        return msgspec.convert({"type": "tool_answered", **payload}, ToolAnswered)
    except msgspec.ValidationError as error:
        return ToolAnswered(str(payload.get("call_id", "")), f"the result could not be read: {error}", True)


def decisions_about(waiting: Sequence[ToolCall], approve: bool | Mapping[str, Answer]) -> list[Approved]:
    """Return what `approve=` says about the calls that wait: one answer for all (`True`, `False`, or under the key
    "all"), or one by call id. An id nobody waits for is an error that names those that wait. A call that waits for a
    result can be refused; allowing it decides nothing."""
    if not isinstance(cast("object", approve), bool | Mapping):
        raise ConfigError(f"approve is {approve!r}, and it must be True, False or a mapping of call ids to answers")
    by_id = {call.id: call for call in waiting}
    answers: Mapping[str, Answer] = dict.fromkeys(by_id, approve) if isinstance(approve, bool) else approve
    if "all" in by_id and "all" in answers and not isinstance(approve, bool):
        raise ConfigError(
            "approve: a call has the id 'all', so it is not clear what is meant; use approve=True or False"
        )
    chosen: dict[str, Answer] = {}
    for call_id, answer in answers.items():
        _check(call_id, answer)
        if call_id == "all":
            chosen = {**dict.fromkeys(by_id, answer), **chosen}
        elif call_id in by_id:
            if by_id[call_id].external and _allows(answer):
                raise _needs_result(by_id[call_id])
            chosen[call_id] = answer
        else:
            names = ", ".join(f"{call.id} ({call.name})" for call in waiting) or "none"
            raise ConfigError(f"approve: no call {call_id!r} waits for a decision; waiting: {names}")
    decided = {call_id: said for call_id, said in chosen.items() if not (by_id[call_id].external and _allows(said))}
    if chosen and not decided:
        raise _needs_result(by_id[next(iter(chosen))])
    return [
        msgspec.structs.replace(decision_of(call_id, answer), tool=by_id[call_id].name)
        for call_id, answer in decided.items()
    ]


def _allows(answer: Answer) -> bool:
    return answer is True or (isinstance(answer, Mapping) and answer.get("allow") is True)


def _needs_result(call: ToolCall) -> ConfigError:
    return ConfigError(
        f"the call {call.id} ({call.name}) waits for its result, not for approval: give it with "
        f"results={{{call.id!r}: ...}}, or refuse the call"
    )


def _check(call_id: str, answer: object) -> None:
    if isinstance(answer, bool):
        return
    kind = type(answer).__name__
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", answer) if isinstance(answer, Mapping) else {}
    if not isinstance(fields.get("allow"), bool):
        raise ConfigError(f"approve[{call_id!r}] must be True, False or a mapping with 'allow', not {kind}")
    if not isinstance(fields.get("args"), dict | None):
        raise ConfigError(f"approve[{call_id!r}]['args'] must be a mapping of argument names to values")
    if unknown := set(fields) - set(_FIELDS):
        raise ConfigError(f"approve[{call_id!r}] has {sorted(unknown)[0]!r}; expected one of: {', '.join(_FIELDS)}")
