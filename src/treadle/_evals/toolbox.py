"""The tools of the task sets: small, offline, the same answer every time. Task files name them; they bring no code of their own.

A tool that remembers something (the order desk, the airport, the laboratory) is made anew for every run, so that runs cannot disturb
each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date, timedelta

from treadle._evals import toolbox_clinic as clinic
from treadle._evals import toolbox_data as data
from treadle._evals import toolbox_travel as travel
from treadle._tools.base import Tool
from treadle._tools.builtin.calculator import calculator
from treadle._tools.function import tool
from treadle._types.errors import ConfigError, ToolError


def make_tools(names: Iterable[str]) -> list[Tool]:
    """Fresh tools by name, in this order."""
    found: list[Tool] = []
    for name in names:
        if name not in TOOLS:
            from difflib import get_close_matches

            near = get_close_matches(name, TOOLS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are: {', '.join(TOOLS)}"
            raise ConfigError(f"the toolbox has no tool {name!r}; {hint}")
        found.append(TOOLS[name]())
    return found


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ToolError(f"{text!r} is not a date: write it as YYYY-MM-DD, such as 2026-03-05") from None


def _number(value: float) -> str:
    return f"{round(value, 4):.4f}".rstrip("0").rstrip(".")


# ---- the shop


@tool(effect="pure")
def product_info(name: str) -> str:
    """Look up a product of the shop: its number (SKU), price in euros, weight in kilograms and colour.

    Args:
        name: the name of the product, such as "desk lamp"
    """
    sku, price, weight, colour = data.row(data.PRODUCTS, name, "product")
    return f"{name.strip().lower()}: SKU {sku}, price {price:.2f} EUR, weight {weight:g} kg, colour {colour}"


@tool(effect="pure")
def stock_level(sku: str) -> str:
    """Tell how many pieces of a product are in stock.

    Args:
        sku: the product number, such as "K-100"
    """
    return f"{data.row(data.STOCK, sku, 'SKU')} pieces of {sku.strip().upper()} in stock"


@tool(effect="pure")
def shipping_cost(weight_kg: float, country: str) -> str:
    """Tell what it costs in euros to ship a parcel.

    Args:
        weight_kg: the weight of the parcel in kilograms
        country: the country it goes to
    """
    base, per_kg = data.row(data.SHIPPING, country, "country")
    if not 0 < weight_kg <= 30:
        raise ToolError("a parcel weighs more than 0 and at most 30 kg")
    return f"{base + per_kg * weight_kg:.2f} EUR"


@tool(effect="pure")
def exchange_rate(source: str, target: str) -> str:
    """Tell how much one unit of a currency is worth in another.

    Args:
        source: code of the currency to change from, such as EUR
        target: code of the currency to change into, such as USD
    """
    worth = data.row(data.EUROS, source, "currency") / data.row(data.EUROS, target, "currency")
    return f"1 {source.strip().upper()} = {_number(worth)} {target.strip().upper()}"


@tool(effect="pure")
def convert_units(value: float, from_unit: str, to_unit: str) -> str:
    """Convert a length, weight, volume or temperature from one unit to another.

    Args:
        value: the number to convert
        from_unit: its unit: mm, cm, m, km, inch, foot, mile, g, kg, ounce, pound, ml, l, gallon, celsius or fahrenheit
        to_unit: the unit wanted
    """
    source, target = _unit(from_unit), _unit(to_unit)
    (kind, factor, zero), (other, divisor, other_zero) = data.UNITS[source], data.UNITS[target]
    if kind != other:
        raise ToolError(f"{source} is a {kind} and {target} a {other}: they cannot be converted")
    return f"{_number(value)} {source} = {_number((value * factor + zero - other_zero) / divisor)} {target}"


def _unit(name: str) -> str:
    plain = name.strip().casefold().lstrip("°")
    plain = data.UNIT_NAMES.get(plain, plain)
    for form in (plain, plain.removesuffix("s"), plain.removesuffix("es")):
        if (found := data.UNIT_NAMES.get(form, form)) in data.UNITS:
            return found
    raise ToolError(f"{name!r} is no unit; known are: {', '.join(data.UNITS)}")


# ---- the office


@tool(effect="pure")
def phone_book(name: str) -> str:
    """Look up a person of the company: employee id and phone extension.

    Args:
        name: first and last name
    """
    employee, extension = data.row(data.PEOPLE, name, "person")
    return f"{name.strip()}: employee id {employee}, extension {extension}"


@tool(effect="pure")
def employee_record(employee_id: str) -> str:
    """Look up the record of an employee: department, office, manager and the day they joined.

    Args:
        employee_id: the employee id, such as E17
    """
    department, office, manager, joined = data.row(data.RECORDS, employee_id, "employee id")
    return (
        f"{employee_id.strip().upper()}: department {department}, office {office}, manager {manager}, joined {joined}"
    )


@tool(effect="pure")
def weekday(day: str) -> str:
    """Tell which day of the week a date is.

    Args:
        day: the date as YYYY-MM-DD
    """
    return f"{_day(day):%A}"


@tool(effect="pure")
def days_between(start: str, end: str) -> str:
    """Count the days from one date to another.

    Args:
        start: the first date as YYYY-MM-DD
        end: the second date as YYYY-MM-DD
    """
    return f"{(_day(end) - _day(start)).days} days"


@tool(effect="pure")
def add_days(day: str, days: int) -> str:
    """Tell which date is so many days after another (before it, if negative).

    Args:
        day: the date as YYYY-MM-DD
        days: how many days to add
    """
    try:
        return (_day(day) + timedelta(days=days)).isoformat()
    except OverflowError:
        raise ToolError("that is too far away for a calendar") from None


@tool(effect="pure")
def room_bookings(room: str, day: str) -> str:
    """Tell who has booked a meeting room on a day.

    Args:
        room: the name of the room
        day: the date as YYYY-MM-DD
    """
    bookings = data.row(data.ROOMS, room, "room")
    return bookings.get(_day(day).isoformat(), "free all day")


@tool(effect="pure")
def weather(city: str) -> str:
    """Tell today's weather in a city: sky and temperature in degrees Celsius.

    Args:
        city: the name of the city
    """
    sky, degrees = data.row(data.WEATHER, city, "city")
    return f"{sky}, {degrees} degrees Celsius"


@tool(effect="pure")
def distance(origin: str, destination: str) -> str:
    """Tell the distance by road between two cities in kilometres.

    Args:
        origin: the first city
        destination: the second city
    """
    for name in (origin, destination):
        data.row(data.WEATHER, name, "city")
    pair = frozenset((origin.strip().casefold(), destination.strip().casefold()))
    for first, second, kilometres in data.ROADS:
        if frozenset((first.casefold(), second.casefold())) == pair:
            return f"{kilometres} km"
    raise ToolError(f"no road from {origin} to {destination} is known")


# ---- words


@tool(effect="pure")
def reverse_text(text: str) -> str:
    """Write a text backwards.

    Args:
        text: the text
    """
    return text[::-1]


@tool(effect="pure")
def count_letter(text: str, letter: str) -> str:
    """Count how often a letter occurs in a text.

    Args:
        text: the text to search
        letter: the letter to count
    """
    if len(letter.strip()) != 1:
        raise ToolError("letter must be exactly one letter")
    return f"{text.casefold().count(letter.strip().casefold())} times"


@tool(effect="pure")
def translate(word: str, language: str) -> str:
    """Translate an English word with a small dictionary.

    Args:
        word: one English word
        language: Finnish, Welsh or Esperanto
    """
    return data.row(data.row(data.WORDS, language, "language"), word, "word")


# ---- tools that fail, and how


def _order_status() -> Tool:
    tried: set[str] = set()

    @tool(effect="idempotent")
    def order_status(order_id: str) -> str:
        """Tell the state of a customer's order.

        Args:
            order_id: the number of the order, such as A-1001
        """
        return data.second_time(tried, data.ORDERS, order_id, "order", "the order desk is busy right now")

    return order_status


@tool(effect="pure")
def old_price_list(name: str) -> str:
    """Tell the price of a product.

    Args:
        name: the name of the product
    """
    raise ToolError("the old price list was switched off: use product_info instead")


TOOLS: dict[str, Callable[[], Tool]] = {
    "calculator": calculator,
    "order_status": _order_status,
    "flight_status": travel.make_flight_status,
    "lab_result": clinic.make_lab_result,
    **{
        made.name: lambda made=made: made
        for made in (
            product_info, stock_level, shipping_cost, exchange_rate, convert_units, phone_book, employee_record, weekday, days_between,
            add_days, room_bookings, weather, distance, reverse_text, count_letter, translate, old_price_list,
            travel.train_times, travel.train_fare, travel.hotel_info, travel.room_price, travel.forecast, travel.visa_rule,
            clinic.patient_record, clinic.owner_contact, clinic.next_appointment, clinic.doctor_info, clinic.medicine_info,
            clinic.opening_hours,
        )
    },
}  # fmt: skip
