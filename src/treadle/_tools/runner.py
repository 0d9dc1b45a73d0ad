"""Runs one tool call: validates it, executes it within its limits, and turns whatever happens into an outcome."""

from __future__ import annotations

import asyncio
import difflib
import functools
import inspect
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any, cast

import msgspec

from treadle._dialects.reading.coerce import whole_numbers
from treadle._safety.logs import get_logger
from treadle._tools.base import Limits, Tool, ToolContext, ToolOutcome, ToolResponse
from treadle._tools.deadline import Deadline
from treadle._tools.results import NO_OUTPUT, SO_FAR, clean, cut, describe_failure, render
from treadle._tools.signature import accepted_names
from treadle._tools.streaming import Stream, pump
from treadle._tools.threads import ToolThreads
from treadle._tools.validation import checker, cut_middle, unknown_arguments
from treadle._types.messages import ToolCall, text_of

if TYPE_CHECKING:
    from treadle._tools.toolkit import Toolkit


logger = get_logger()
_threads = ToolThreads()
BLOCKED_SECONDS = 1.0
"""How long an async tool may keep the event loop from everything else before its author is told."""
_ASYNC_FLAGS = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class _Refused(Exception):
    """Nothing is executed: the text is the result of the call."""

    def __init__(self, kind: str, text: str) -> None:
        super().__init__(text)
        self.kind = kind


async def run_call(
    tool: Tool | None,
    call: ToolCall,
    *,
    limits: Limits,
    toolkit: Toolkit,
    extras: Mapping[str, Any],
    context: ToolContext,
) -> ToolOutcome:
    """The outcome of the call. Nothing is raised, whatever the tool does, except when the caller is cancelled."""
    try:
        tool = _require_tool(tool, call, toolkit)
        arguments = {**tool.defaults, **call.args} if tool.defaults else call.args
        args = _prepare(tool, arguments, limits, extras)
    except _Refused as refused:
        return ToolOutcome(cut(clean(str(refused)), limits.max_chars), error=refused.kind, executed=False)
    if tool.context_param:
        args[tool.context_param] = context
    outcome = await _run_within_limits(tool, args, limits, Stream(context))
    for repetition in range(tool.retries):
        if outcome.error not in ("exception", "timeout") or outcome.waiting:
            break
        await asyncio.sleep(tool.retry_wait * 2**repetition)
        again = _prepare(tool, arguments, limits, extras)  # the first attempt may have changed its values
        if tool.context_param:
            again[tool.context_param] = context
        outcome = await _run_within_limits(tool, again, limits, Stream(context))
    return outcome


def wrong_arguments(tool: Tool, call: ToolCall, limits: Limits, extras: Mapping[str, Any]) -> ToolOutcome | None:
    """Check a call before a person is asked to approve or answer it: the outcome for the model, None if it is valid."""
    try:
        _prepare(_require_tool(tool, call, None), {**tool.defaults, **call.args}, limits, extras)
    except _Refused as refused:
        return ToolOutcome(cut(clean(str(refused)), limits.max_chars), error=refused.kind, executed=False)
    return None


def _require_tool(tool: Tool | None, call: ToolCall, toolkit: Toolkit | None) -> Tool:
    if call.problem:
        raise _Refused("invalid_args", f"The call of '{cut_middle(call.name)}' could not be read: {call.problem}")
    if tool is not None:
        return tool
    near = toolkit.nearest(call.name) if toolkit is not None else []
    if near:
        hint = f"Did you mean: {', '.join(near)}?"
    elif toolkit:
        hint = f"Expected one of: {', '.join(toolkit.names[:20])}."
    else:
        hint = "No tools are available: answer without tools."
    raise _Refused("unknown_tool", f"There is no tool '{cut_middle(call.name)}'. {hint}")


def _prepare(tool: Tool, args: dict[str, Any], limits: Limits, extras: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments for the function: validated, converted, with the extras."""
    try:
        args = _as_logged(args, tool.parameters)
        check = checker(tool.parameters)
        if limits.unknown_args != "schema" and (unknown := unknown_arguments(check, args)):
            if limits.unknown_args != "prune":
                raise _Refused("invalid_args", _unknown_arguments_text(tool, unknown, sorted(check.names or ())))
            args = {name: value for name, value in args.items() if name in (check.names or ())}
        accepted = _accepted_extras(tool, extras) if extras else {}
        if problems := check.validate(args, accepted):
            raise _Refused("invalid_args", f"Tool '{tool.name}' was not called: {'; '.join(problems)}")
        if tool.convert is not None:
            own = {name: value for name, value in args.items() if name not in accepted} if accepted else args
            args = tool.convert(own)
        args.update(accepted)
    except _Refused:
        raise
    except Exception as error:
        raise _Refused("invalid_args", f"Tool '{tool.name}' was not called: {cut_middle(str(error), 500)}") from None
    if missing := tool.required_extras - args.keys():
        names = ", ".join(sorted(missing))
        needs = f"it needs {names} from the result of another tool. Call that tool first."
        raise _Refused("invalid_args", f"Tool '{tool.name}' was not called: {needs}")
    return args


_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def _as_logged(args: dict[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that has gone through JSON, as in the log: a tool that changes its arguments does not change the log."""
    try:
        copy = _decode(_encode(args))
        for value in copy.values():
            if isinstance(value, (float, list, dict)):  # most arguments are none of these
                return whole_numbers(copy, schema, schema)
        return copy
    except RecursionError:
        raise _Refused("invalid_args", "The arguments are nested too deeply.") from None


def _unknown_arguments_text(tool: Tool, unknown: list[str], expected: list[str]) -> str:
    near = difflib.get_close_matches(unknown[0][:64], expected, 1, 0.6)
    hint = f" (did you mean '{near[0]}'?)" if near else ""
    names = ", ".join(f"'{cut_middle(name)}'" for name in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    takes = ", ".join(expected) or "no arguments"
    return f"Tool '{tool.name}' was not called: unknown argument {names}{more}{hint}. It takes: {takes}."


def _accepted_extras(tool: Tool, extras: Mapping[str, Any]) -> dict[str, Any]:
    """The extras that this tool takes."""
    accepted = accepted_names(tool.execute)
    if tool.takes_extras is not None:
        declared = tool.takes_extras | set(tool.parameters.get("properties", ()))
        accepted = declared if accepted is None else declared & accepted
    return {
        name: value
        for name, value in extras.items()
        if (accepted is None or name in accepted) and name != tool.context_param
    }


async def _run_within_limits(tool: Tool, args: dict[str, Any], limits: Limits, stream: Stream) -> ToolOutcome:
    """Execute within the time-out; every failure becomes an outcome, except that the caller is cancelled."""
    task = asyncio.current_task()
    assert task is not None
    cancels_before = task.cancelling()
    seconds = tool.timeout if limits.timeout is None else limits.timeout
    deadline = Deadline(task, seconds)
    try:
        value = await deadline.run(_execute(tool, args, stream))
        # What runs in a thread blocks nothing: then the loop was held up by something else.
        if deadline.blocked > BLOCKED_SECONDS and _is_async(tool.execute):
            _warn_blocked(tool, deadline.blocked)
        return _judged(tool, value, _outcome(value, stream, limits))
    except GeneratorExit:
        raise
    except BaseException as error:
        # A count above 0 is not enough: before Python 3.13 a TaskGroup that fails inside the tool leaves it raised.
        if isinstance(error, asyncio.CancelledError) and task.cancelling() > cancels_before:
            raise
        if deadline.expired:
            reason = (
                f"timed out after {seconds:g} s."
                if stream.started
                else f"was not started within {seconds:g} s: too many tools are running."
            )
            return _failure(stream, "timeout", f"Tool '{tool.name}' {reason}", limits)
        text = describe_failure(tool.name, error, limits.error_detail)
        hint = did_you_mean(args, text)
        text = f"{text.rstrip('. ')}. {hint}" if hint else text
        return msgspec.structs.replace(_failure(stream, "exception", text, limits), exception=error)
    finally:
        stream.close()


def _warn_blocked(tool: Tool, seconds: float) -> None:
    logger.warning(
        "tool %r blocked the event loop for %.1f s: it is async, but waits without await. Write it as a plain def, "
        "which runs in a thread, or call what waits with await asyncio.to_thread(...)",
        tool.name,
        seconds,
    )


async def _execute(tool: Tool, args: dict[str, Any], stream: Stream) -> Any:
    function = tool.execute
    if _is_async(function):
        stream.started = True
        value = function(**args)
    else:
        value = await _in_thread(functools.partial(function, **args), stream)
    if inspect.isawaitable(value):
        value = await value
    if isinstance(value, str):
        return value
    source: Any = value.observation if isinstance(value, ToolResponse) else value
    stream.final = isinstance(value, ToolResponse) and value.final_answer
    if isinstance(source, AsyncIterator):
        await stream.drain(cast(AsyncIterator[Any], source))
    elif isinstance(source, Iterator) and not stream.used:
        await _in_thread(lambda: cast(Iterator[Any], source), stream)
    return value


async def _in_thread(function: Callable[[], Any], stream: Stream) -> Any:
    stream.open_for_thread()
    return await _threads.run(functools.partial(pump, function, stream))


def _is_async(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    if code is not None and code.co_flags & _ASYNC_FLAGS:  # nearly always true, and ten times faster than `inspect`
        return True
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return True
    call = getattr(function, "__call__", None)  # noqa: B004 - the question is whether it is async
    return inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)


def _outcome(value: Any, stream: Stream, limits: Limits) -> ToolOutcome:
    if type(value) is str and not stream.used:
        content, full, _ = render(value, (), limits.max_chars)
        return ToolOutcome(content, elapsed=stream.seconds(), full=full)
    response = stream.response or (value if isinstance(value, ToolResponse) else ToolResponse(value))
    observation = stream.text() or NO_OUTPUT if stream.used else response.observation
    content, full, artifacts = render(observation, tuple(response.artifacts or ()), limits.max_chars)
    if response.final_answer and artifacts:  # what the model is told of them is no part of the answer
        content, full, _ = render(observation, (), limits.max_chars)
    return ToolOutcome(
        content,
        error="exception" if response.error else "",
        elapsed=stream.seconds(),
        full=full,
        artifacts=artifacts,
        final=response.final_answer,
        extras=dict(response.extras or {}),
        usage=response.usage,
        waiting=response.waiting,
        source=response.source,
        why=response.why,
        task_successful=response.task_successful,
        ledger=response.ledger,
        instead=response.instead,
    )


def _judged(tool: Tool, value: Any, outcome: ToolOutcome) -> ToolOutcome:
    """The outcome, as a failure where the tool declares that a result like this one is a failure."""
    if tool.fails_when is None or outcome.error:
        return outcome
    text = outcome.full if outcome.full is not None else text_of(outcome.content)
    reason = tool.failure(value.observation if isinstance(value, ToolResponse) else value, text)
    if not reason:
        return outcome
    shown = outcome.content if reason == text else f"{reason}\n{text}"
    return msgspec.structs.replace(outcome, content=shown, error="exception", final=False)


def _failure(stream: Stream, kind: str, text: str, limits: Limits) -> ToolOutcome:
    if stream.used:
        text = f"{text}{SO_FAR}{stream.text()}"
    content, full, _ = render(text, (), limits.max_chars)
    return ToolOutcome(text_of(content), error=kind, elapsed=stream.seconds(), full=full, executed=stream.started)


_MAX_VALUE_CHARS = 80
_MAX_MESSAGE_CHARS = 4_000
_MAX_HINTS = 3
_MAX_ARGUMENTS = 8
"""Comparing takes time, and both the arguments and the message come from outside."""
_MIN_SIMILARITY = 0.75
_SEPARATOR = re.compile(r"[,;:|\"'`()\[\]{}\n]|\.(?:\s|$)|\b(?:or|and)\b")


def did_you_mean(args: Mapping[str, Any], message: str) -> str:
    """`Did you mean destination = "Lisbon"?` when the message names "Lisbon" and the call said "Lisboa"; else "".

    Many models do not see on their own that a value in the error message is the one they meant.
    """
    values = {
        name: value
        for name, value in args.items()
        if isinstance(value, str) and 2 < len(value.strip()) <= _MAX_VALUE_CHARS
    }
    if not values or "did you mean" in message.casefold():
        return ""
    candidates = {
        text.casefold(): text
        for part in _SEPARATOR.split(message[:_MAX_MESSAGE_CHARS])
        if 2 < len(text := part.strip()) <= _MAX_VALUE_CHARS
    }
    hints: list[str] = []
    for name, value in islice(values.items(), _MAX_ARGUMENTS):
        argument = value.strip().casefold()
        own = {argument, *map(str.strip, _SEPARATOR.split(argument))}  # an address is quoted in pieces
        others = [one for one in candidates if one not in own and not _echo(candidates, one, argument)]
        if matches := difflib.get_close_matches(argument, others, 1, _MIN_SIMILARITY):
            hints.append(f'{name} = "{candidates[matches[0]]}"')
    return f"Did you mean {', '.join(hints[:_MAX_HINTS])}?" if hints else ""


def _echo(candidates: Mapping[str, str], candidate: str, argument: str) -> bool:
    """Tell whether a candidate only repeats the refused value after other words: "no file or folder notes.txt"."""
    before = candidates[candidate][: -len(argument)]
    return candidate.endswith(f" {argument}") and before.islower() and argument not in candidates
