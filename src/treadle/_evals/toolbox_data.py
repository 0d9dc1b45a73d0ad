"""What the tools of the task sets know. Made up, so that no model can know it by heart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from treadle._types.errors import ToolError

T = TypeVar("T")


def row(table: Mapping[str, T], key: str, what: str) -> T:
    """A row by name, whatever the case; what is there when it is not."""
    wanted = " ".join(key.casefold().split())
    for name, found in table.items():
        if name.casefold() == wanted:
            return found
    raise ToolError(f"there is no {what} {key!r}; known are: {', '.join(table)}")


def second_time(tried: set[str], table: Mapping[str, T], key: str, what: str, excuse: str) -> T:
    """The same from a desk that refuses the first call for each key."""
    wanted = key.strip().upper()
    if wanted not in tried:
        tried.add(wanted)
        raise ToolError(f"{excuse}: call again with the same arguments")
    return row(table, wanted, what)


PRODUCTS = {
    "kettle": ("K-100", 34.90, 1.2, "blue"),
    "desk lamp": ("L-205", 59.00, 2.5, "black"),
    "office chair": ("C-310", 189.00, 14.0, "grey"),
    "notebook": ("N-012", 4.50, 0.3, "red"),
    "backpack": ("B-077", 79.95, 0.9, "green"),
    "umbrella": ("U-441", 24.00, 0.6, "yellow"),
    "wall clock": ("W-560", 42.00, 1.8, "white"),
    "toaster": ("T-118", 48.50, 1.6, "silver"),
}
"""Name: SKU, price in euros, weight in kilograms, colour."""

STOCK = {"K-100": 17, "L-205": 0, "C-310": 6, "N-012": 240, "B-077": 3, "U-441": 58, "W-560": 11, "T-118": 29}

SHIPPING = {
    "Germany": (4.00, 0.50),
    "France": (6.00, 1.00),
    "Norway": (11.00, 2.00),
    "Japan": (25.00, 5.50),
    "Brazil": (22.00, 6.00),
}
"""Country: fixed part in euros, euros per kilogram."""

EUROS = {"EUR": 1.0, "USD": 0.8, "GBP": 1.25, "JPY": 0.005, "CHF": 1.1, "SEK": 0.08}
"""What one unit is worth in euros."""

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
    "millimetre": "mm", "millimeter": "mm", "centimetre": "cm", "centimeter": "cm", "metre": "m", "meter": "m", "kilometre": "km",
    "kilometer": "km", "in": "inch", "inche": "inch", "ft": "foot", "feet": "foot", "mi": "mile", "gram": "g", "gramme": "g",
    "kilogram": "kg", "kilo": "kg", "oz": "ounce", "lb": "pound", "millilitre": "ml", "milliliter": "ml", "litre": "l", "liter": "l",
    "gal": "gallon", "c": "celsius", "f": "fahrenheit", "degree celsius": "celsius", "degree fahrenheit": "fahrenheit",
    "degrees celsius": "celsius", "degrees fahrenheit": "fahrenheit",
}  # fmt: skip

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

ORDERS = {
    "A-1001": "shipped on 2026-03-02, arrives on 2026-03-06",
    "A-1002": "waiting for payment",
    "A-1003": "delivered on 2026-02-27",
    "A-1004": "in production, ready on 2026-04-10",
    "A-1005": "cancelled by the customer",
}
