"""The office: people, calendar, meeting rooms, weather, roads and words.

treadle eval lab/evals/office.jsonl --tools lab/evals/worlds/office.py:tools
"""

from __future__ import annotations

from datetime import date, timedelta

from world_kit import convert_units, make_order_status, row

from treadle import Tool, ToolError, tool

PEOPLE = {
    "Ada Brandt": ("E17", "4417"),
    "Bruno Keller": ("E22", "4422"),
    "Chen Li": ("E31", "4390"),
    "Dora Novak": ("E35", "4351"),
    "Emil Hansen": ("E48", "4480"),
    "Fatima Noor": ("E53", "4532"),
}
"""Name: employee id, extension."""

RECORDS = {
    "E17": ("Finance", "B204", "Fatima Noor", "2019-04-01"),
    "E22": ("Sales", "A110", "Chen Li", "2021-09-15"),
    "E31": ("Sales", "A101", "Fatima Noor", "2015-01-12"),
    "E35": ("Research", "C317", "Emil Hansen", "2023-02-20"),
    "E48": ("Research", "C300", "Fatima Noor", "2012-06-04"),
    "E53": ("Management", "D500", "nobody", "2008-10-01"),
}
"""Employee id: department, office, manager, day of joining."""

ROOMS = {
    "Aurora": {"2026-03-05": "booked by Dora Novak, 09:00 to 11:30", "2026-03-06": "booked by Chen Li, all day"},
    "Borealis": {"2026-03-05": "booked by Emil Hansen, 14:00 to 15:00"},
    "Cirrus": {"2026-04-17": "booked by Ada Brandt, 10:00 to 12:00"},
}

WEATHER = {
    "Oslo": ("snow", -4),
    "Madrid": ("sunny", 27),
    "Lisbon": ("windy", 21),
    "Vienna": ("foggy", 9),
    "Helsinki": ("cloudy", -1),
    "Athens": ("clear", 24),
}

ROADS = (
    ("Oslo", "Helsinki", 1005),
    ("Madrid", "Lisbon", 625),
    ("Vienna", "Athens", 1710),
    ("Madrid", "Vienna", 2390),
    ("Oslo", "Vienna", 1880),
)

WORDS = {
    "Finnish": {"water": "vesi", "bread": "leipä", "house": "talo", "tree": "puu", "bridge": "silta"},
    "Welsh": {"water": "dŵr", "bread": "bara", "house": "tŷ", "tree": "coeden", "bridge": "pont"},
    "Esperanto": {"water": "akvo", "bread": "pano", "house": "domo", "tree": "arbo", "bridge": "ponto"},
}


@tool(effect="pure")
def phone_book(name: str) -> str:
    """Look up a person of the company: employee id and phone extension.

    Args:
        name: first and last name
    """
    employee, extension = row(PEOPLE, name, "person")
    return f"{name.strip()}: employee id {employee}, extension {extension}"


@tool(effect="pure")
def employee_record(employee_id: str) -> str:
    """Look up the record of an employee: department, office, manager and the day they joined.

    Args:
        employee_id: the employee id, such as E17
    """
    department, office, manager, joined = row(RECORDS, employee_id, "employee id")
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
    bookings = row(ROOMS, room, "room")
    return bookings.get(_day(day).isoformat(), "free all day")


@tool(effect="pure")
def weather(city: str) -> str:
    """Tell today's weather in a city: sky and temperature in degrees Celsius.

    Args:
        city: the name of the city
    """
    sky, degrees = row(WEATHER, city, "city")
    return f"{sky}, {degrees} degrees Celsius"


@tool(effect="pure")
def distance(origin: str, destination: str) -> str:
    """Tell the distance by road between two cities in kilometres.

    Args:
        origin: the first city
        destination: the second city
    """
    for name in (origin, destination):
        row(WEATHER, name, "city")
    pair = frozenset((origin.strip().casefold(), destination.strip().casefold()))
    for first, second, kilometres in ROADS:
        if frozenset((first.casefold(), second.casefold())) == pair:
            return f"{kilometres} km"
    raise ToolError(f"no road from {origin} to {destination} is known")


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
    return row(row(WORDS, language, "language"), word, "word")


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text.strip())
    except ValueError:
        raise ToolError(f"{text!r} is not a date: write it as YYYY-MM-DD, such as 2026-03-05") from None


def tools() -> list[Tool]:
    return [
        phone_book,
        employee_record,
        weekday,
        days_between,
        add_days,
        room_bookings,
        weather,
        distance,
        reverse_text,
        count_letter,
        translate,
        convert_units,
        make_order_status(),
    ]
