"""Tools without a body: the run pauses at a call, and whoever called executes it and gives the result.

What comes back was made where nobody of ours looks: it is bounded, held to the tool's `returns` where it has one, cut
like any other result, and counts as read from outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import msgspec

from treadle._tools.base import UNMARKED, Approval, Effect, Limits, Tool, ToolOutcome
from treadle._tools.results import clean, render, to_text
from treadle._tools.validation import Checker, check_name, check_schema
from treadle._types.errors import ConfigError, SchemaError
from treadle._types.events import ToolAnswered
from treadle._types.messages import Content, MediaPart, Part, TextPart, text_of

MAX_RESULT_CHARS = 1_000_000
"""What a result may have, before it is cut to what the model is shown."""
MAX_MEDIA_CHARS = 30_000_000
NO_PARAMETERS: Mapping[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}


def external_tool(
    name: str,
    description: str = "",
    parameters: Mapping[str, Any] | None = None,
    *,
    returns: Mapping[str, Any] | None = None,
    effect: Effect = UNMARKED,
    approval: Approval = "allow",
    untrusted: bool | str = True,
    pinned: bool = False,
    defaults: Mapping[str, Any] = {},
) -> Tool:
    """A tool without a body: a run that calls it pauses until whoever called gives the result.

        ask_crm = external_tool("ask_crm", "Looks a customer up.", {"type": "object", "properties": {...}})
        result = agent.run_sync("Who is customer 7?")
        waiting = result.pending[0]
        result = agent.resume_sync(result.run_id, results={waiting.call_id: {"name": "Ann"}})

    `parameters` is the JSON Schema of its arguments, `returns` that of its results: both are checked.
    """
    check_name(name)
    schema = NO_PARAMETERS if parameters is None else parameters
    check_schema(schema, name)
    if returns is not None:
        try:
            Checker(_wrapped(returns)).compile()
        except ValueError as error:
            raise SchemaError(f"tool {name!r}: `returns` is not a valid JSON Schema: {str(error)[:300]}") from None
    return Tool(
        name, description, schema, timeout=None, effect=effect, approval=approval, untrusted=untrusted, pinned=pinned,
        defaults=defaults, returns=returns,
    )  # fmt: skip


def client_tool(name: str, description: str = "", parameters: Mapping[str, Any] | None = None) -> Tool:
    """A tool that the caller brought for one run: always offered, since the caller asked for it."""
    return external_tool(name, description, parameters, pinned=True)


def answer_for(tool: Tool | None, call_id: str, name: str, value: Any, by: str = "") -> ToolAnswered:
    """The record of a result: text, content parts, any JSON value, or an exception for a call that failed.

    `ConfigError` when it is too large or not what the tool returns; `tool` is None where it is not known here.
    """
    where = f"the result of {name} ({call_id})"
    if isinstance(value, ToolAnswered):
        content, failed, by = value.content, value.error, value.by or by
    else:
        failed = isinstance(value, BaseException)
        content = clean(str(value) or type(value).__name__) if failed else _content(value)
    text = text_of(content)
    media = 0 if isinstance(content, str) else sum(len(p.data) for p in content if isinstance(p, MediaPart))
    if len(text) > MAX_RESULT_CHARS or media > MAX_MEDIA_CHARS:
        raise ConfigError(f"{where} has {len(text) + media} characters: at most {MAX_RESULT_CHARS} are taken")
    if not failed and tool is not None and (problem := _problem(tool, content)):
        raise ConfigError(f"{where} is not what the tool returns: {problem}")
    return ToolAnswered(call_id, content, failed, by, name)


def _content(value: Any) -> Content:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, TextPart | MediaPart):
        return (cast("Part", value),)
    if isinstance(value, list | tuple) and value:
        items = tuple(cast("list[Any]", value))
        if all(isinstance(item, TextPart | MediaPart) for item in items):
            return items
    return clean(to_text(value))


def _wrapped(returns: Mapping[str, Any]) -> dict[str, Any]:
    inner = dict(returns)
    defs = {key: inner.pop(key) for key in ("$defs", "definitions") if key in inner}
    return {"type": "object", "properties": {"result": inner}, "required": ["result"], **defs}


def _problem(tool: Tool, content: Content) -> str:
    """Describe why a result does not fit; text is taken as it is where the schema allows it, else decoded as JSON."""
    if tool.returns is None:
        return ""
    check, text = Checker(_wrapped(tool.returns)), text_of(content)
    problems = check.validate({"result": text})
    if problems:
        with suppress(msgspec.DecodeError, RecursionError):
            problems = check.validate({"result": msgspec.json.decode(text)})
    return "; ".join(problems)


def outcome_of_answer(tool: Tool, answer: ToolAnswered, limits: Limits) -> ToolOutcome:
    """The outcome of a call whose result is in the log. It is checked again: another process may have put it there."""
    if not answer.error and (problem := _problem(tool, answer.content)):
        text = f"Tool '{tool.name}' gave a result that is not what it returns: {problem}"
        return ToolOutcome(render(text, (), limits.max_chars)[0], error="exception")
    observation: Any = answer.content if isinstance(answer.content, str) else list(answer.content)
    content, full, _ = render(observation, (), limits.max_chars)
    return ToolOutcome(content, error="exception" if answer.error else "", full=full)
