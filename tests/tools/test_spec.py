from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from kit import row
from treadle._tools.base import ToolContext, ToolOutcome, ToolResponse
from treadle._tools.spec import BaseTool, ToolParam, ToolReturn, ToolSpec
from treadle._types.errors import ConfigError, SchemaError, ToolError

Call = Callable[..., ToolOutcome]


def test_types_may_be_python_types_or_names() -> None:
    names = ["string", "str", "integer", "int", "float", "number", "bool", "array", "list", "object", "dict", "any"]
    kinds = [
        "string",
        "string",
        "integer",
        "integer",
        "number",
        "number",
        "boolean",
        "array",
        "array",
        "object",
        "object",
        None,
    ]
    spec = ToolSpec("t", "T.", inputs=[ToolParam(f"p{i}", name) for i, name in enumerate(names)])
    assert [schema.get("type") for schema in spec.json_schema()["properties"].values()] == kinds
    python = ToolSpec(
        "t",
        "T.",
        inputs=[ToolParam(f"p{i}", kind) for i, kind in enumerate([str, int, float, bool, list, dict, Any, list[int]])],
    )
    kinds = [schema.get("type") for schema in python.json_schema()["properties"].values()]
    assert kinds == ["string", "integer", "number", "boolean", "array", "object", None, "array"]


def test_the_schema_of_a_spec() -> None:
    spec = ToolSpec(
        "t",
        "T.",
        inputs=[
            ToolParam("path", str, description="a path"),
            ToolParam("flag", bool, required=False),
            ToolParam("limit", int, default=10),
            ToolParam("connection", object, llm=False),
        ],
    )
    assert spec.json_schema() == {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "a path"},
            "flag": {"type": "boolean"},
            "limit": {"type": "integer", "default": 10},
        },
        "required": ["path"],
        "additionalProperties": False,
    }
    assert spec.json_schema() is spec.json_schema()


def test_check_inputs_checks_fills_defaults_and_leaves_other_names_out() -> None:
    class Connection: ...

    spec = ToolSpec(
        "t",
        "T.",
        inputs=[
            ToolParam("path", str),
            ToolParam("limit", int, default=10),
            ToolParam("connection", Connection, llm=False),
        ],
    )
    connection = Connection()
    assert spec.check_inputs({"path": "a", "connection": connection, "else": 1}) == {
        "path": "a",
        "limit": 10,
        "connection": connection,
    }
    with pytest.raises(ToolError) as caught:
        spec.check_inputs({"path": 3, "connection": "no"})
    assert "argument 'path': expected string, got integer 3" in str(caught.value)
    assert "argument 'connection': expected Connection, got str" in str(caught.value)
    with pytest.raises(ToolError, match=r"'connection': missing.*'path': missing"):
        spec.check_inputs({})
    with pytest.raises(ToolError, match="'path': expected str, got Connection"):
        spec.check_inputs({"path": connection, "connection": connection})


def test_check_inputs_takes_converted_values_as_well_as_json() -> None:
    spec = ToolSpec(
        "t", "T.", inputs=[ToolParam("day", date), ToolParam("path", Path), ToolParam("any", "any", required=False)]
    )
    expected = {"day": date(2026, 1, 2), "path": Path("x"), "any": iter}
    assert spec.check_inputs({"day": "2026-01-02", "path": "x", "any": iter}) == expected
    assert spec.check_inputs(expected) == expected


def test_a_spec_that_cannot_be_described_is_refused() -> None:
    for inputs, expected in (
        ([ToolParam("a", "strin")], ["'t'", "'a'", "'strin'", "string"]),
        ([ToolParam("a", str), ToolParam("a", int)], ["'t'", "'a'"]),
        ([ToolParam("a", type("Odd", (), {}))], ["'t'", "'a'", "Odd"]),
    ):
        with row(inputs, expected):
            with pytest.raises(SchemaError) as caught:
                ToolSpec("t", "T.", inputs=inputs).json_schema()
            assert [text for text in expected if text not in str(caught.value)] == []


class MyTool(BaseTool):
    name = "my_tool"
    description = "One-line purpose."
    timeout = 5.0
    effect = "pure"
    spec = ToolSpec(
        name=name,
        description=description,
        inputs=[ToolParam(name="path", ptype=str), ToolParam(name="flag", ptype=bool, required=False)],
        returns=ToolReturn(rtype=str, description="What was found."),
    )

    def __call__(self, **kwargs: Any) -> ToolResponse:
        params = self.spec.check_inputs(kwargs)
        return ToolResponse(observation=f"{sorted(kwargs)} {params}", final_answer=True, extras={"key": object})


def test_a_class_is_a_tool(call: Call) -> None:
    converted = MyTool().as_tool()
    assert (converted.name, converted.description, converted.timeout, converted.effect) == (
        "my_tool",
        "One-line purpose.\nReturns: What was found.",
        5.0,
        "pure",
    )
    outcome = call(MyTool(), {"path": "a"}, extras={"some_key": object()})
    assert outcome.content == "['path', 'some_key'] {'path': 'a'}"
    assert outcome.final
    assert outcome.extras == {"key": object}
    assert call(MyTool(), {"path": 1}).error == "invalid_args"


def test_call_may_be_async_or_a_generator_or_take_the_context(call: Call, context: Any) -> None:
    class Async(BaseTool):
        spec = ToolSpec("a", inputs=[ToolParam("x", float)])

        async def __call__(self, x: float) -> str:  # type: ignore[override]
            return f"{x}"

    class Pieces(BaseTool):
        spec = ToolSpec("p")

        def __call__(self) -> Iterator[str]:  # type: ignore[override]
            yield "a"
            yield "b"

    class AsyncPieces(BaseTool):
        spec = ToolSpec("ap")

        async def __call__(self) -> AsyncIterator[str]:  # type: ignore[override]
            yield "c"

    assert call(Async(), {"x": 1}).content == "1.0"
    assert call(Pieces()).content == "ab"
    assert call(AsyncPieces()).content == "c"
    assert context.pieces == ["a", "b", "c"]


def test_a_param_for_extras_only(call: Call) -> None:
    class Query(BaseTool):
        spec = ToolSpec("query", inputs=[ToolParam("sql", str), ToolParam("connection", object, llm=False)])

        def __call__(self, sql: str, connection: object) -> str:  # type: ignore[override]
            return f"{sql} on {connection}"

    assert call(Query(), {"sql": "x"}, extras={"connection": "db", "other": 1}).content == "x on db"
    without = call(Query(), {"sql": "x"})
    assert (without.error, without.executed) == ("invalid_args", False)
    assert "connection" in str(without.content)
    assert call(Query(), {"sql": "x", "connection": "mine"}).error == "invalid_args"


def test_unfinished_classes_say_what_is_missing(call: Call) -> None:
    class NoSpec(BaseTool):
        pass

    class NoCall(BaseTool):
        spec = ToolSpec("no_call")

    with pytest.raises(ConfigError, match="NoSpec has no spec"):
        NoSpec().as_tool()
    assert "NoCall needs a `__call__`" in str(call(NoCall(), error_detail="message").content)


def test_the_context_reaches_a_class(call: Call) -> None:
    class Who(BaseTool):
        spec = ToolSpec("who")

        async def __call__(self, context: ToolContext) -> str:  # type: ignore[override]
            return context.run_id

    assert call(Who()).content == "run"
