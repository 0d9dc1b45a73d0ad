"""One tool call from the model's arguments to its outcome."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from kit import row
from tools.calls import called
from treadle._tools.base import Tool, ToolOutcome, ToolResponse
from treadle._tools.function import tool
from treadle._tools.signature import Extra
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ToolError
from treadle._types.messages import ToolCall

Call = Callable[..., ToolOutcome]


@tool
async def add(a: int, b: int = 0) -> int:
    """Adds."""
    return a + b


NUMBER = {"type": "number"}


def raw(execute: Callable[..., Any], parameters: dict[str, Any] | None = None, **rest: Any) -> Tool:
    return Tool("raw", "", parameters or {"type": "object", "properties": {"a": {"type": "integer"}}}, execute, **rest)


def test_a_call_gives_an_outcome(call: Call) -> None:
    outcome = call(add, {"a": 1, "b": 2})
    assert (outcome.content, outcome.error, outcome.executed, outcome.final) == ("3", "", True, False)
    assert outcome.elapsed > 0


def test_an_unreadable_call_is_answered_with_its_problem() -> None:
    bad = ToolCall("c", "add", problem="arguments end in the middle", raw='{"a":')
    outcome = asyncio.run(called(Toolkit([add]), bad))
    assert (outcome.error, outcome.executed) == ("invalid_args", False)
    assert "arguments end in the middle" in str(outcome.content)


def test_an_unknown_tool_lists_the_nearest_names() -> None:
    for tools, name, expected in (
        ([add], "Add_", "Did you mean: add?"),
        ([add], "zzz", "Expected one of: add."),
        ([], "add", "No tools are available"),
        ([add], "x" * 100_000, "characters)"),
    ):
        with row(tools, name, expected):
            outcome = asyncio.run(called(Toolkit(tools), ToolCall("c", name)))
            assert (outcome.error, outcome.executed) == ("unknown_tool", False)
            assert expected in str(outcome.content)
            assert len(str(outcome.content)) < 300


def test_invalid_arguments_are_never_executed(call: Call) -> None:
    outcome = call(add, {"a": True})
    assert (outcome.error, outcome.executed) == ("invalid_args", False)
    assert outcome.content == "Tool 'add' was not called: argument 'a': expected integer, got boolean true"


def test_unknown_arguments(call: Call) -> None:
    args = {"a": 1, "bb": 2, "x": 3}
    assert call(add, args, unknown_args="prune").content == "1"
    for policy in ("reject", "repair"):
        outcome = call(add, args, unknown_args=policy)
        assert (outcome.error, outcome.executed) == ("invalid_args", False)
        assert (
            outcome.content
            == "Tool 'add' was not called: unknown argument 'bb', 'x' (did you mean 'b'?). It takes: a, b."
        )
    assert call(add, args, unknown_args="schema").content == "Tool 'add' was not called: argument 'bb', 'x': unknown"


def test_a_schema_that_allows_more_arguments_is_heeded(call: Call) -> None:
    async def execute(**kwargs: Any) -> str:
        return ",".join(sorted(kwargs))

    open_ended = raw(execute, {"type": "object", "properties": {"a": {}}, "additionalProperties": True})
    silent = raw(execute, {"type": "object", "properties": {"a": {}}})
    shapeless = raw(execute, {"type": "object"})
    for policy in ("prune", "reject", "schema"):
        assert call(open_ended, {"a": 1, "z": 2}, unknown_args=policy).content == "a,z"
        assert call(shapeless, {"z": 2}, unknown_args=policy).content == "z"
    assert call(silent, {"a": 1, "z": 2}, unknown_args="prune").content == "a"
    assert call(silent, {"a": 1, "z": 2}, unknown_args="reject").error == "invalid_args"
    assert call(silent, {"a": 1, "z": 2}, unknown_args="schema").content == "a,z"


@pytest.mark.parametrize(
    ("schema", "value", "seen"),
    [
        (NUMBER, 5.0, "5.0"),
        (NUMBER, 5, "5"),
        ({"type": "integer"}, 5.0, "5"),
        ({"type": ["integer", "null"]}, 5.0, "5"),
        ({"type": ["integer", "number"]}, 5.0, "5.0"),
        ({"anyOf": [NUMBER, {"type": "null"}]}, 5.0, "5.0"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5.0, "5"),
        ({"enum": [1.0, 2.0]}, 1.0, "1.0"),
        ({"$ref": "#/$defs/share"}, 5.0, "5.0"),
        ({"$ref": "#/$defs/count"}, 5.0, "5"),
        ({}, [5.0, 1e300, 2**70, -2.5], f"[5.0, 1e+300, {2**70}, -2.5]"),
        ({"type": "array", "items": NUMBER}, [5.0, 5], "[5.0, 5]"),
        ({"anyOf": [{"type": "array", "items": {"type": "integer"}}, {"type": "null"}]}, [5.0, 5], "[5, 5]"),
        ({"type": "object", "properties": {"b": NUMBER}}, {"b": 5.0, "c": 5.0}, "{'b': 5.0, 'c': 5.0}"),
        ({"type": "object", "additionalProperties": NUMBER}, {"b": 5.0}, "{'b': 5.0}"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, {"b": 5.0}, "{'b': 5}"),
    ],
)
def test_a_whole_number_is_an_integer_where_the_schema_asks_for_one(
    call: Call, schema: dict[str, Any], value: Any, seen: str
) -> None:
    async def execute(a: Any) -> str:
        return repr(a)

    definitions = {"share": NUMBER, "count": {"type": "integer"}}
    parameters = {"type": "object", "properties": {"a": schema}, "$defs": definitions}
    assert call(raw(execute, parameters), {"a": value}).content == seen


def test_extras_reach_declared_parameters_and_win(call: Call) -> None:
    @tool
    def query(sql: str, connection: Annotated[object, Extra] = None) -> str:
        return f"{sql} {connection}"

    @tool
    def everything(sql: str, **extras: Any) -> str:
        return f"{sql} {sorted(extras)}"

    marker = object()
    assert call(query, {"sql": "q"}, extras={"connection": marker, "other": 1}).content == f"q {marker}"
    assert call(query, {"sql": "q"}, extras={"sql": "mine"}).content == "mine None"
    assert call(query, {}, extras={"sql": marker}).content == f"{marker} None"
    assert call(query, {"sql": 3}, extras={"sql": "mine"}).content == "mine None"
    assert call(query, {}, extras={"other": 1}).error == "invalid_args"
    assert call(everything, {"sql": "q"}, extras={"x": marker, "y": 1}).content == "q ['x', 'y']"
    assert call(add, {"a": 1}, extras={"x": marker}).content == "1"


def test_extras_and_tools_written_by_hand(call: Call) -> None:
    async def narrow(a: int) -> str:
        return f"{a}"

    async def declares(a: int, thing: object = None) -> str:
        return f"{a} {thing}"

    async def wide(**kwargs: Any) -> str:
        return f"{sorted(kwargs)}"

    extras = {"thing": 1, "other": 2}
    assert call(raw(narrow), {"a": 1}, extras=extras).content == "1"
    assert call(raw(declares), {"a": 1}, extras=extras).content == "1 1"
    assert call(raw(wide), {"a": 1}, extras=extras).content == "['a', 'other', 'thing']"
    assert call(raw(wide, takes_extras=frozenset()), {"a": 1}, extras=extras).content == "['a']"
    assert call(raw(wide, takes_extras=frozenset({"thing"})), {"a": 1}, extras=extras).content == "['a', 'thing']"
    assert call(raw(wide, context_param="context"), {"a": 1}, extras={"context": 1}).content == "['a', 'context']"


def test_extras_that_are_gone_are_an_error_observation(call: Call) -> None:
    @tool
    def query(sql: str, connection: Annotated[object, Extra]) -> str:
        return sql

    outcome = call(query, {"sql": "q"})
    assert (outcome.error, outcome.executed) == ("invalid_args", False)
    assert "it needs connection from the result of another tool" in str(outcome.content)


def test_a_response_carries_more_than_text(call: Call) -> None:
    @tool
    async def finish() -> ToolResponse:
        return ToolResponse({"done": True}, final_answer=True, extras={"x": iter})

    @tool
    async def fail() -> ToolResponse:
        return ToolResponse("no luck", error=True)

    outcome = call(finish)
    assert (outcome.content, outcome.final, outcome.extras, outcome.error) == ('{"done":true}', True, {"x": iter}, "")
    assert (call(fail).content, call(fail).error) == ("no luck", "exception")


def test_every_kind_of_callable_is_executed(call: Call) -> None:
    async def coroutine(a: int) -> int:
        return a + 1

    def returns_coroutine(a: int) -> Any:
        return coroutine(a)

    class Object:
        async def __call__(self, a: int) -> int:
            return a + 1

    for function in (
        coroutine,
        returns_coroutine,
        Object(),
        functools.partial(coroutine),
        lambda a: coroutine(a),
        lambda a: a + 1,
    ):
        assert call(raw(function), {"a": 1}).content == "2", function


def fails() -> None:
    raise ValueError("the key is hunter2")


@pytest.mark.parametrize("kind", ["sync", "async"])
def test_error_detail(call: Call, kind: str) -> None:
    def sync() -> None:
        fails()

    async def other() -> None:
        fails()

    failing = tool(sync if kind == "sync" else other, name="x")
    assert call(failing).content == "Tool 'x' failed: ValueError"
    assert call(failing, error_detail="message").content == "Tool 'x' failed: ValueError: the key is hunter2"
    full = str(call(failing, error_detail="full").content)
    assert full.startswith("Tool 'x' failed: ValueError: the key is hunter2\n")
    assert "test_runner.py:" in full
    assert "in fails: raise ValueError" in full
    assert "/" not in full
    assert "runner.py:" not in full.replace("test_runner.py:", "")
    assert (call(failing).error, call(failing).executed) == ("exception", True)


def test_a_tool_error_is_always_shown(call: Call) -> None:
    class Mine(ToolError):
        pass

    @tool
    def failing(kind: int) -> None:
        if kind == 1:
            raise ToolError("ask for a smaller page")
        if kind == 2:
            raise Mine
        raise ExceptionGroup("several", [ToolError("one"), ValueError("two")])

    assert call(failing, {"kind": 1}).content == "Tool 'failing' failed: ask for a smaller page"
    assert call(failing, {"kind": 2}).content == "Tool 'failing' failed: Mine"
    assert call(failing, {"kind": 3}).content == "Tool 'failing' failed: one"


def test_groups_show_what_is_in_them(call: Call) -> None:
    @tool
    async def failing() -> None:
        async def fail(error: Exception) -> None:
            raise error

        async with asyncio.TaskGroup() as group:
            group.create_task(fail(ValueError("a")))
            group.create_task(fail(KeyError("b")))

    assert call(failing).content == "Tool 'failing' failed: ValueError, KeyError"
    assert call(failing, error_detail="message").content == "Tool 'failing' failed: ValueError: a; KeyError: 'b'"


def test_observations_are_cut_and_kept_whole_beside(call: Call) -> None:
    @tool
    async def long() -> str:
        return "x" * 1000

    @tool
    async def fails_long() -> None:
        raise ToolError("y" * 1000)

    outcome = call(long, max_chars=200)
    assert 195 <= len(outcome.content) <= 200
    assert outcome.full == "x" * 1000
    assert 195 <= len(call(fails_long, max_chars=200).content) <= 200
