from __future__ import annotations

import asyncio
import functools
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field, make_dataclass
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypedDict

import msgspec
import pytest

from treadle._tools.base import Tool, ToolContext, ToolOutcome
from treadle._tools.function import tool
from treadle._tools.signature import Extra
from treadle._tools.toolkit import Toolkit
from treadle._types.errors import ConfigError, SchemaError

if TYPE_CHECKING:
    from decimal import Decimal

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


def test_the_signature_and_docstring_give_the_schema() -> None:
    @tool
    async def weather(city: str, unit: Literal["C", "F"] = "C", days: int = 3) -> str:
        """The weather
        to come.

        Not for the model.

        Args:
            city: name of the city
        """
        return city

    assert isinstance(weather, Tool)
    assert (weather.name, weather.description, weather.timeout, weather.effect) == (
        "weather",
        "The weather to come.",
        30.0,
        "unsafe",
    )
    assert weather.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "name of the city"},
            "unit": {"enum": ["C", "F"], "type": "string", "default": "C"},
            "days": {"type": "integer", "default": 3},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_options_set_the_policy_and_the_decorated_function_can_still_be_called() -> None:
    @tool(name="plus", description="Adds.", timeout=1.5, effect="pure", concurrent=False, approval="ask", pinned=True)
    def add(a: int, b: int) -> int:
        return a + b

    assert (add.name, add.description, add.timeout, add.effect) == ("plus", "Adds.", 1.5, "pure")
    assert (add.concurrent, add.approval, add.pinned) == (False, "ask", True)
    assert add(1, b=2) == 3
    assert tool(add.execute, name="sum").name == "sum"


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

    found = properties(f)
    assert found["a"] == {"type": "number"}
    assert found["b"] == {"type": "boolean"}
    assert found["c"] == {"type": "array", "items": {"type": "integer"}}
    assert found["d"] == {"type": "object", "additionalProperties": {"type": "number"}}
    assert found["e"] == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
    assert found["g"] == {"type": "string", "enum": ["blue", "red"]}
    assert found["h"] == {
        "type": "object",
        "properties": {"x": {"type": "integer"}, "y": {"type": "integer", "default": 0}},
        "required": ["x"],
    }
    assert found["i"]["properties"] == {"deep": {"type": "boolean"}}
    assert found["j"]["prefixItems"] == [{"type": "integer"}, {"type": "string"}]
    assert found["k"]["anyOf"][0] == {"type": "string", "format": "date-time"}
    assert found["when"]["format"] == "date"
    assert found["m"] == {"type": "string"}
    assert found["n"] == {}
    assert found["o"] == {}
    assert found["p"] == {"type": "integer", "description": "how many"}
    assert found["q"] == {"type": "integer", "minimum": 1, "description": "at least one"}
    assert found["r"] == {"type": "array", "items": {"type": "integer"}, "default": []}


def test_none_as_default_allows_null() -> None:
    def f(a: int = None, b: Annotated[int | None, "b"] = None) -> None: ...  # noqa: RUF013 # pyright: ignore

    assert properties(f)["a"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None}
    assert properties(f)["b"] == {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None, "description": "b"}


def test_references_are_inlined_so_that_the_schema_holds_inside_another() -> None:
    def f(title: Point, default: Point, points: list[Point]) -> None: ...

    found = tool(f).parameters
    assert "$defs" not in found
    assert "$ref" not in str(found)
    assert set(found["properties"]) == {"title", "default", "points"}


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

    found = order.parameters["properties"]
    assert found["items"]["items"]["properties"]["count"] == {"type": "integer", "default": 1, "minimum": 1}
    assert found["size"] == {"type": "integer", "maximum": 5, "description": "the size", "default": 1}
    assert "$ref" not in str(found)
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


def test_the_context_is_handed_over_and_not_described(call: Call) -> None:
    @tool
    async def f(a: int, context: ToolContext) -> str:
        return f"{a} {context.run_id}"

    @tool
    async def optional(context: ToolContext | None = None) -> str:
        return str(context and context.call_id)

    assert f.context_param == "context"
    assert list(f.parameters["properties"]) == ["a"]
    assert call(f, {"a": 1}).content == "1 run"
    assert call(optional).content == "call"
    assert call(f, {"a": 1, "context": "mine"}).error == "invalid_args"


def test_extra_parameters_are_not_described() -> None:
    def f(sql: str, connection: Annotated[object, Extra], cursor: Annotated[object, Extra()] = None) -> None: ...
    def everything(sql: str, **extras: Any) -> None: ...

    assert list(properties(f)) == ["sql"]
    assert tool(f).takes_extras == {"connection", "cursor"}
    assert tool(f).required_extras == {"connection"}
    assert tool(everything).takes_extras is None
    assert tool(everything).parameters["additionalProperties"] is False


def test_methods_partials_and_callable_objects(call: Call) -> None:
    class Adder:
        """Adds its own number."""

        def __init__(self, number: int) -> None:
            self.number = number

        def add(self, a: int) -> int:
            """Adds."""
            return a + self.number

        async def __call__(self, a: int) -> int:
            """Called.

            Args:
                a: a number
            """
            return a + self.number

        @classmethod
        def made(cls, a: int) -> str:
            return f"{cls.__name__}{a}"

        @staticmethod
        def free(a: int) -> int:
            return a

    def three(a: int, b: object, c: int = 0) -> str:
        """Three."""
        return f"{a}{b}{c}"

    adder = Adder(2)
    assert call(tool(adder.add), {"a": 1}).content == "3"
    assert tool(adder.add).description == "Adds."
    assert call(tool(adder), {"a": 1}).content == "3"
    assert (tool(adder).name, tool(adder).description) == ("Adder", "Adds its own number.")
    assert tool(adder).parameters["properties"]["a"]["description"] == "a number"
    assert call(tool(Adder.made), {"a": 1}).content == "Adder1"
    assert call(tool(Adder.free), {"a": 1}).content == "1"
    bound = tool(functools.partial(three, b=object))
    assert (bound.name, bound.description, list(bound.parameters["properties"])) == ("three", "Three.", ["a", "c"])


def test_generators_are_tools(call: Call) -> None:
    @tool
    def sync(n: int) -> Iterator[str]:
        yield from map(str, range(n))

    @tool
    async def other(n: int) -> AsyncIterator[str]:
        for i in range(n):
            await asyncio.sleep(0)
            yield str(i)

    assert call(sync, {"n": 3}).content == "012"
    assert call(other, {"n": 3}).content == "012"


def test_wrapped_functions_show_what_they_wrap() -> None:
    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    @tool
    @decorate
    def f(a: int) -> int:
        """Does it."""
        return a

    assert (f.name, f.description, list(f.parameters["properties"])) == ("f", "Does it.", ["a"])


def test_local_types_are_found() -> None:
    @dataclass
    class Local:
        a: int

    @tool
    def f(x: Local) -> int:
        return x.a

    assert f.parameters["properties"]["x"]["required"] == ["a"]


class Opaque:
    pass


def positional(a: int, /) -> None: ...
def starred(*words: str) -> None: ...
def opaque(a: int, thing: Opaque) -> None: ...
def ambiguous(x: Point | Options) -> None: ...
def unresolved(price: Decimal) -> None: ...


class Class:
    def method(self, a: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (positional, ["'positional'", "'a'", "remove the '/'"]),
        (starred, ["'*words'", "list"]),
        (opaque, ["'opaque'", "'thing'", "Annotated[Opaque, Extra]"]),
        (ambiguous, ["'x'", "pydantic model"]),
        (unresolved, ["'price'", "Decimal", "import the type at run time"]),
        (Class.method, ["'self'", "tool(obj.method)"]),
    ],
)
def test_what_cannot_be_described_is_refused_with_the_fix(function: Callable[..., Any], words: list[str]) -> None:
    with pytest.raises(SchemaError) as caught:
        tool(function)
    assert [word for word in words if word not in str(caught.value)] == []


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ConfigError, match="name='lambda'"):
        tool(lambda a: a)
    assert tool(lambda a: a, name="same").name == "same"


@pytest.mark.parametrize("wrong", [3, "text", int])
def test_only_callables_become_tools(wrong: Any) -> None:
    with pytest.raises(TypeError, match="takes a function"):
        tool(wrong)


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
