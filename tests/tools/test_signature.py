"""What is read from the signature of a function: context, extras, methods, wrapped functions, local types."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

import pytest

from kit import row
from treadle._tools.base import ToolContext, ToolOutcome
from treadle._tools.function import tool
from treadle._tools.signature import Extra
from treadle._types.errors import ConfigError, SchemaError

if TYPE_CHECKING:
    from decimal import Decimal


Call = Callable[..., ToolOutcome]


@dataclass
class Point:
    x: int
    y: int = 0


class Options(TypedDict, total=False):
    deep: bool


def properties(function: Callable[..., Any]) -> dict[str, Any]:
    return dict(tool(function).parameters["properties"])


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
        def add_to_name(cls, a: int) -> str:
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
    assert tool(Adder(3).add).parameters is tool(adder.add).parameters, "methods are read once, like functions"
    assert call(tool(adder), {"a": 1}).content == "3"
    assert (tool(adder).name, tool(adder).description) == ("Adder", "Adds its own number.")
    assert tool(adder).parameters["properties"]["a"]["description"] == "a number"
    assert call(tool(Adder.add_to_name), {"a": 1}).content == "Adder1"
    assert call(tool(Adder.free), {"a": 1}).content == "1"
    bound = tool(functools.partial(three, b=object))
    assert (bound.name, bound.description, list(bound.parameters["properties"])) == ("three", "Three.", ["a", "c"])


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


def starred(*values: str) -> None: ...


def opaque(a: int, thing: Opaque) -> None: ...


def ambiguous(x: Point | Options) -> None: ...


def unresolved(price: Decimal) -> None: ...


class Class:
    def method(self, a: int) -> None: ...


def test_what_cannot_be_described_is_refused_with_the_fix() -> None:
    for function, expected in (
        (positional, ["'positional'", "'a'", "remove the '/'"]),
        (starred, ["'*values'", "list"]),
        (opaque, ["'opaque'", "'thing'", "Annotated[Opaque, Extra]"]),
        (ambiguous, ["'x'", "pydantic model"]),
        (unresolved, ["'price'", "Decimal", "import the type at run time"]),
        (Class.method, ["'self'", "tool(obj.method)"]),
    ):
        with row(function, expected):
            with pytest.raises(SchemaError) as caught:
                tool(function)
            assert [text for text in expected if text not in str(caught.value)] == []


def test_a_lambda_needs_a_name() -> None:
    with pytest.raises(ConfigError, match="name='lambda'"):
        tool(lambda a: a)
    assert tool(lambda a: a, name="same").name == "same"
