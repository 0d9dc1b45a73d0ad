"""What the worlds share: table look-up, units of measure, and the order desk. All of it is made up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from treadle import Tool, ToolError, tool

T = TypeVar("T")

UNITS = {
    "mm": ("length", 0.001, 0.0),
    "cm": ("length", 0.01, 0.0),
    "m": ("length", 1.0, 0.0),
    "km": ("length", 1000.0, 0.0),
    "inch": ("length", 0.0254, 0.0),
    "foot": ("length", 0.3048, 0.0),
    "mile": ("length", 1609.344, 0.0),
    "g": ("weight", 0.001, 0.0),
    "kg": ("weight", 1.0, 0.0),
    "ounce": ("weight", 0.028349523125, 0.0),
    "pound": ("weight", 0.45359237, 0.0),
    "ml": ("volume", 0.001, 0.0),
    "l": ("volume", 1.0, 0.0),
    "gallon": ("volume", 3.785411784, 0.0),
    "celsius": ("temperature", 1.0, 0.0),
    "fahrenheit": ("temperature", 5 / 9, -160 / 9),
}
"""Unit: what it measures, and factor and offset to the unit all of its kind go through."""

UNIT_NAMES = {
    "millimetre": "mm", "millimeter": "mm", "centimetre": "cm", "centimeter": "cm", "metre": "m",
    "meter": "m", "kilometre": "km", "kilometer": "km", "in": "inch", "inche": "inch", "ft": "foot",
    "feet": "foot", "mi": "mile", "gram": "g", "gramme": "g", "kilogram": "kg", "kilo": "kg", "oz": "ounce",
    "lb": "pound", "millilitre": "ml", "milliliter": "ml", "litre": "l", "liter": "l", "gal": "gallon",
    "c": "celsius", "f": "fahrenheit", "degree celsius": "celsius", "degree fahrenheit": "fahrenheit",
    "degrees celsius": "celsius", "degrees fahrenheit": "fahrenheit",
}  # fmt: skip

ORDERS = {
    "A-1001": "shipped on 2026-03-02, arrives on 2026-03-06",
    "A-1002": "waiting for payment",
    "A-1003": "delivered on 2026-02-27",
    "A-1004": "in production, ready on 2026-04-10",
    "A-1005": "cancelled by the customer",
}


def row(table: Mapping[str, T], key: str, what: str) -> T:
    """The row with this name, in upper or lower case; else an error that lists the names there are."""
    wanted = " ".join(key.casefold().split())
    for name, value in table.items():
        if name.casefold() == wanted:
            return value
    # Published results were measured with these words: they stay.
    raise ToolError(f"there is no {what} {key!r}; known are: {', '.join(table)}")


def second_time(tried: set[str], table: Mapping[str, T], key: str, what: str, excuse: str) -> T:
    """The row with this name, from a service that fails on the first call for each name."""
    wanted = key.strip().upper()
    if wanted not in tried:
        tried.add(wanted)
        raise ToolError(f"{excuse}: call again with the same arguments")
    return row(table, wanted, what)


def number(value: float) -> str:
    return f"{round(value, 4):.4f}".rstrip("0").rstrip(".")


@tool(effect="pure")
def convert_units(value: float, from_unit: str, to_unit: str) -> str:
    """Convert a length, weight, volume or temperature from one unit to another.

    Args:
        value: the number to convert
        from_unit: its unit: mm, cm, m, km, inch, foot, mile, g, kg, ounce, pound, ml, l, gallon, celsius or fahrenheit
        to_unit: the unit wanted
    """
    source, target = _unit(from_unit), _unit(to_unit)
    (kind, factor, zero), (other, divisor, other_zero) = UNITS[source], UNITS[target]
    if kind != other:
        raise ToolError(f"{source} is a {kind} and {target} a {other}: they cannot be converted")
    return f"{number(value)} {source} = {number((value * factor + zero - other_zero) / divisor)} {target}"


def _unit(name: str) -> str:
    plain = name.strip().casefold().lstrip("°")
    plain = UNIT_NAMES.get(plain, plain)
    for form in (plain, plain.removesuffix("s"), plain.removesuffix("es")):
        if (unit := UNIT_NAMES.get(form, form)) in UNITS:
            return unit
    raise ToolError(f"{name!r} is no unit; known are: {', '.join(UNITS)}")


def make_order_status() -> Tool:
    tried: set[str] = set()

    @tool(effect="idempotent")
    def order_status(order_id: str) -> str:
        """Tell the state of a customer's order.

        Args:
            order_id: the number of the order, such as A-1001
        """
        return second_time(tried, ORDERS, order_id, "order", "the order desk is busy right now")

    return order_status


def as_id(given: str) -> str:
    return given.strip().upper()
