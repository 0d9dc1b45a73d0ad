"""Python annotations as JSON Schema, and JSON arguments as Python values."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, make_dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pytest

from treadle._tools.base import ToolOutcome
from treadle._tools.function import tool
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import SchemaError

if TYPE_CHECKING:
    pass


Call = Callable[..., ToolOutcome]


class Color(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Tree:
    value: int
    children: list[Tree] = field(default_factory=list)


class Options(TypedDict, total=False):
    deep: bool


class Pair(NamedTuple):
    left: int
    right: str


def properties(function: Callable[..., Any]) -> dict[str, Any]:
    return dict(tool(function).parameters["properties"])


def test_every_kind_of_annotation_is_described() -> None:
    def f(
        a: float,
        b: bool,
        c: list[int],
        d: dict[str, float],
        e: int | None,
        g: Color,
        h: Point,
        i: Options,
        j: Pair,
        k: datetime | None,
        when: date,
        m: Path,
        n: Any,
        o,
        p: Annotated[int, "how many"],
        q: Annotated[int, msgspec.Meta(ge=1, description="at least one")],
        r: tuple[int, ...] = (),
    ) -> None: ...

    schema = properties(f)
    assert schema["a"] == {"type": "number"}
    assert schema["b"] == {"type": "boolean"}
    assert schema["c"] == {"type": "array", "items": {"type": "integer"}}
    assert schema["d"] == {"type": "object", "additionalProperties": {"type": "number"}}
    assert schema["e"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert schema["g"] == {"type": "string", "enum": ["blue", "red"]}
    assert schema["h"] == {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
        "required": ["x"],
    }
    assert schema["i"]["properties"] == {"deep": {"type": "boolean"}}
    assert schema["j"]["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert schema["k"]["anyOf"][0] == {"type": "string", "format": "date-time"}
    assert schema["when"]["format"] == "date"
    assert schema["m"] == {"type": "string"}
    assert schema["n"] == {}
    assert schema["o"] == {}
    assert schema["p"] == {"type": "integer", "description": "how many"}
    assert schema["q"] == {"type": "integer", "minimum": 1, "description": "at least one"}
    assert schema["r"] == {"type": "array", "items": {"type": "integer"}, "default": []}


def test_none_as_default_allows_null() -> None:
    def f(a: int = None, b: Annotated[int | None, "b"] = None) -> None: ...  # noqa: RUF013 # pyright: ignore

    assert properties(f)["a"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert properties(f)["b"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "description": "b"}


def test_references_are_inlined_so_that_the_schema_holds_inside_another() -> None:
    def f(title: Point, default: Point, points: list[Point]) -> None: ...

    schema = tool(f).parameters
    assert "$defs" not in schema
    assert "$ref" not in str(schema)
    assert set(schema["properties"]) == {"title", "default", "points"}


def test_a_recursive_type_keeps_its_definitions(call: Call) -> None:
    @tool
    def total(tree: Tree) -> int:
        def add(node: Tree) -> int:
            return node.value + sum(map(add, node.children))

        return add(tree)

    assert "Tree" in total.parameters["$defs"]
    assert call(total, {"tree": {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]}}).content == "6"
    assert "tree.children[0].value" in str(call(total, {"tree": {"value": 1, "children": [{"value": "x"}]}}).content)


def test_json_is_converted_to_what_the_annotations_ask_for(call: Call) -> None:
    seen: list[Any] = []

    @tool
    def f(
        color: Color,
        point: Point,
        when: datetime,
        paths: list[Path],
        pair: Pair,
        number: float,
        tags: set[str],
        keep: Any = None,
    ) -> None:
        seen.extend([color, point, when, paths, pair, number, tags, keep])

    args: dict[str, Any] = {
        "color": "red",
        "point": {"x": 1.0},
        "when": "2026-01-02T03:04:05Z",
        "paths": ["a"],
        "pair": [1, "b"],
        "number": 2,
        "tags": ["x"],
        "keep": {"a": [1]},
    }
    assert call(f, args).error == ""
    assert seen[:2] == [Color.RED, Point(1, 0)]
    assert seen[2].year == 2026
    assert seen[3:] == [[Path("a")], Pair(1, "b"), 2.0, {"x"}, {"a": [1]}]
    assert isinstance(seen[5], float)


def test_a_value_that_cannot_be_converted_is_the_models_mistake(call: Call) -> None:
    @tool
    def f(when: date) -> str:
        return str(when)

    outcome = call(f, {"when": "tomorrow"})
    assert (outcome.error, outcome.executed) == ("invalid_args", False)
    assert "argument 'when'" in str(outcome.content)


def test_convert_is_only_set_when_needed() -> None:
    def plain(
        a: str, b: int, c: list[str], d: dict[str, Any], e: bool | None = None, f: Literal["x"] = "x"
    ) -> None: ...
    def needs(a: float) -> None: ...

    assert tool(plain).convert is None
    assert tool(needs).convert is not None


def test_pydantic_models(call: Call) -> None:
    pydantic = pytest.importorskip("pydantic")

    class Item(pydantic.BaseModel):
        name: str
        count: int = pydantic.Field(default=1, ge=1)

        @pydantic.field_validator("name")
        @classmethod
        def no_spaces(cls, value: str) -> str:
            if " " in value:
                raise ValueError("no spaces, please")
            return value

    @tool
    def order(
        items: list[Item],
        first: Item | None = None,
        size: Annotated[int, pydantic.Field(le=5, description="the size")] = 1,
    ) -> str:
        return f"{[item.name for item in items]} {type(first).__name__} {size}"

    schema = order.parameters["properties"]
    assert schema["items"]["items"]["properties"]["count"] == {"type": "integer", "default": 1, "minimum": 1}
    assert schema["size"] == {"type": "integer", "maximum": 5, "description": "the size", "default": 1}
    assert "$ref" not in str(schema)
    assert call(order, {"items": [{"name": "a"}], "first": {"name": "b"}}).content == "['a'] Item 1"
    assert "argument 'items[0].name': missing" in str(call(order, {"items": [{}]}).content)
    refused = call(order, {"items": [{"name": "a b"}]})
    assert refused.error == "invalid_args"
    assert "argument 'items.0.name': Value error, no spaces, please" in str(refused.content)


def test_a_dataclass_with_a_pydantic_field_goes_to_pydantic(call: Call) -> None:
    pydantic = pytest.importorskip("pydantic")

    class Inner(pydantic.BaseModel):
        a: int

    Outer = make_dataclass("Outer", [("inner", Inner)])

    @tool
    def f(outer: Outer) -> str:
        return repr(outer.inner.a)

    assert call(f, {"outer": {"inner": {"a": 3}}}).content == "3"


def test_pydantic_is_never_imported_for_others() -> None:
    code = (
        "import sys\nfrom treadle._tools.function import tool\nfrom treadle._tools.toolkit import Toolkit\n"
        "def f(a: int) -> int:\n    return a\n"
        "Toolkit([tool(f)])\n"
        "assert not {'pydantic', 'jsonschema_rs'} & set(sys.modules)\n"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src"), "PATH": ""},
        timeout=60,
    )


def test_a_broken_pattern_is_refused_at_registration() -> None:
    @tool
    def f(a: Annotated[str, msgspec.Meta(extra_json_schema={"pattern": "("})]) -> str:
        return a

    with pytest.raises(SchemaError, match=r"'f'.*properties\.a\.pattern"):
        Toolkit([f])


def test_two_types_of_one_name_are_refused() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Node(pydantic.BaseModel):
        a: int

    one = Node

    class Node(pydantic.BaseModel):  # type: ignore[no-redef]
        b: int

    def f(x: list[one], y: list[Node]) -> None: ...  # pyright: ignore

    with pytest.raises(SchemaError, match="'Node'; rename one"):
        tool(f)
