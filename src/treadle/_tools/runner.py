"""Runs one call of one tool: checks it, executes it within its limits, and makes an outcome of whatever happens."""

from __future__ import annotations

import asyncio
import difflib
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec

from treadle._tools.base import Limits, Tool, ToolContext, ToolOutcome, ToolResponse
from treadle._tools.clock import Clock
from treadle._tools.nearmiss import near_misses
from treadle._tools.results import NO_OUTPUT, clean, cut, describe_failure, render
from treadle._tools.signature import accepted_names
from treadle._tools.streaming import Stream, pump
from treadle._tools.threads import ToolThreads
from treadle._tools.validation import checker, cut_middle, unknown_arguments
from treadle._types.messages import ToolCall, text_of

if TYPE_CHECKING:
    from treadle._tools.toolkit import Toolkit

_threads = ToolThreads()
_WHOLE = 2.0**53
_ASYNC = inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


class _Refused(Exception):
    """The call is answered without executing anything."""

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
    """Always an outcome, whatever the tool does; only a cancellation of the caller gets out."""
    try:
        ready = _find(tool, call, toolkit)
        args = _prepare(ready, call.args, limits, extras)
    except _Refused as refused:
        return ToolOutcome(cut(clean(str(refused)), limits.max_chars), error=refused.kind, executed=False)
    if ready.context_param:
        args[ready.context_param] = context
    return await _guarded(ready, args, limits, Stream(context))


def _find(tool: Tool | None, call: ToolCall, toolkit: Toolkit) -> Tool:
    if call.problem:
        raise _Refused("invalid_args", f"The call of '{cut_middle(call.name)}' could not be read: {call.problem}")
    if tool is not None:
        return tool
    near = toolkit.nearest(call.name)
    if near:
        hint = f"The nearest are: {', '.join(near)}."
    elif len(toolkit):
        hint = f"There are: {', '.join(toolkit.names[:20])}."
    else:
        hint = "There are none: answer without tools."
    raise _Refused("unknown_tool", f"There is no tool '{cut_middle(call.name)}'. {hint}")


def _prepare(tool: Tool, args: dict[str, Any], limits: Limits, extras: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments the function is called with."""
    try:
        args = _as_logged(args)
        check = checker(tool.parameters)
        if limits.unknown_args != "schema" and (unknown := unknown_arguments(check, args)):
            if limits.unknown_args != "prune":
                raise _Refused("invalid_args", _unknown_text(tool, unknown, sorted(check.known or ())))
            args = {name: value for name, value in args.items() if name in (check.known or ())}
        handed = _handed(tool, extras) if extras else {}
        if problems := check.validate(args, handed):
            raise _Refused("invalid_args", f"Tool '{tool.name}' was not called: {'; '.join(problems)}")
        if tool.convert is not None:
            args = tool.convert({name: value for name, value in args.items() if name not in handed} if handed else args)
        args.update(handed)
    except _Refused:
        raise
    except Exception as error:
        raise _Refused("invalid_args", f"Tool '{tool.name}' was not called: {cut_middle(str(error), 500)}") from None
    if missing := tool.required_extras - args.keys():
        names = ", ".join(sorted(missing))
        text = f"Tool '{tool.name}' was not called: it needs {names} from the result of another tool. Call that tool first."
        raise _Refused("invalid_args", text)
    return args


def _whole_number(text: str) -> int | float:
    """JSON does not tell 5.0 from 5, but `range` does."""
    number = float(text)
    return int(number) if number.is_integer() and abs(number) < _WHOLE else number


_decode = msgspec.json.Decoder(float_hook=_whole_number).decode
_encode = msgspec.json.Encoder().encode


def _as_logged(args: dict[str, Any]) -> dict[str, Any]:
    """A copy that is exactly what the log can hold: a tool that changes its arguments does not change the log."""
    try:
        return _decode(_encode(args))
    except RecursionError:
        raise _Refused("invalid_args", "The arguments are nested too deeply.") from None


def _unknown_text(tool: Tool, unknown: list[str], known: list[str]) -> str:
    near = difflib.get_close_matches(unknown[0][:64], known, 1, 0.6)
    meant = f" (did you mean '{near[0]}'?)" if near else ""
    names = ", ".join(f"'{cut_middle(name)}'" for name in unknown[:5])
    more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
    takes = ", ".join(known) or "no arguments"
    return f"Tool '{tool.name}' was not called: unknown argument {names}{more}{meant}. It takes: {takes}."


def _handed(tool: Tool, extras: Mapping[str, Any]) -> dict[str, Any]:
    """The extras this tool declares."""
    accepted = accepted_names(tool.execute)
    if tool.takes_extras is not None:
        declared = tool.takes_extras | set(tool.parameters.get("properties", ()))
        accepted = declared if accepted is None else declared & accepted
    return {
        name: value
        for name, value in extras.items()
        if (accepted is None or name in accepted) and name != tool.context_param
    }


async def _guarded(tool: Tool, args: dict[str, Any], limits: Limits, stream: Stream) -> ToolOutcome:
    """Execute within the time-out; every failure becomes an outcome, except that we are cancelled ourselves."""
    task = asyncio.current_task()
    assert task is not None
    cancels = task.cancelling()
    seconds = tool.timeout if limits.timeout is None else limits.timeout
    clock = Clock(task, seconds)
    try:
        value = await clock.watch(_execute(tool, args, stream))
        return _outcome(value, stream, limits)
    except GeneratorExit:
        raise
    except BaseException as error:
        # The count alone does not tell: before Python 3.13 a TaskGroup that fails inside the tool leaves it raised.
        if isinstance(error, asyncio.CancelledError) and task.cancelling() > cancels:
            raise
        if clock.expired:
            reason = (
                f"timed out after {seconds:g} s."
                if stream.started
                else f"was not started within {seconds:g} s: too many are at work."
            )
            return _failure(stream, "timeout", f"Tool '{tool.name}' {reason}", limits)
        text = describe_failure(tool.name, error, limits.error_detail)
        hint = near_misses(args, text)
        return _failure(stream, "exception", f"{text.rstrip('. ')}. {hint}" if hint else text, limits)
    finally:
        stream.close()


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
    if code is not None and code.co_flags & _ASYNC:  # nearly always; `inspect` takes ten times as long to say so
        return True
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        return True
    call = getattr(function, "__call__", None)  # noqa: B004 - its kind is asked for, not whether it is there
    return inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call)


def _outcome(value: Any, stream: Stream, limits: Limits) -> ToolOutcome:
    if type(value) is str and not stream.used:
        content, full, _ = render(value, (), limits.max_chars)
        return ToolOutcome(content, elapsed=stream.seconds(), full=full)
    response = stream.response or (value if isinstance(value, ToolResponse) else ToolResponse(value))
    observation = stream.text() or NO_OUTPUT if stream.used else response.observation
    content, full, artifacts = render(observation, tuple(response.artifacts or ()), limits.max_chars)
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
    )


def _failure(stream: Stream, kind: str, text: str, limits: Limits) -> ToolOutcome:
    if stream.used:
        text = f"{text} Output so far:\n{stream.text()}"
    content, full, _ = render(text, (), limits.max_chars)
    return ToolOutcome(text_of(content), error=kind, elapsed=stream.seconds(), full=full, executed=stream.started)
