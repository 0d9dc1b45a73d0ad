"""The decorator `tool`: the schema it makes, its options, and what it accepts."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import pytest

from kit import row
from treadle._tools.base import Tool, ToolOutcome
from treadle._tools.function import tool
from treadle._types.errors import ConfigError, SchemaError

if TYPE_CHECKING:
    pass


Call = Callable[..., ToolOutcome]


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


def test_only_callables_become_tools() -> None:
    for wrong in (3, "text", int):
        with row(wrong), pytest.raises(TypeError, match="takes a function"):
            tool(wrong)


def test_typical_mistakes_name_their_fix(caplog: pytest.LogCaptureFixture):
    def untyped(city, days: int = 1) -> str:
        """The weather."""
        return city

    def undocumented(city: str) -> str:
        return city

    class Shop:
        def price(item: str) -> str:
            """The price."""
            return item

    for _ in range(2):  # said once, however often a tool is made of it
        tool(untyped)
        tool(undocumented)
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "tool 'untyped' does not say what city may be, so a model can only guess: annotate it (city: str)",
        "tool 'undocumented' has no description, so a model can only guess what it is for: write a docstring, or pass "
        "description=",
    ]
    with pytest.raises(ConfigError, match=r"a lambda has no name.*write a function with def"):
        tool(lambda city: city)
    with pytest.raises(SchemaError, match=r"method 'price' has no self.*write def price\(self, item"):
        tool(Shop().price)


def test_a_tool_shows_the_signature_of_its_function():
    @tool
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    assert str(inspect.signature(add)) == str(inspect.signature(add.execute))
    assert add(1, b=2) == 3
