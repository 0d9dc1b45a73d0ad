"""The wine estate Kestrel Hill: plots, harvests, tanks, bottlings, orders and the weather log. All of it is made up.

treadle eval lab/evals/later/vineyard.jsonl --tools lab/evals/worlds/vineyard.py:tools --tools calculator
"""

from __future__ import annotations

import re
import unicodedata

from world_kit import row

from treadle import Tool, ToolError, tool

PLOTS = {
    "Magpie": ("Riesling", 1.85, 1994, "slate", "south"),
    "Foxbank": ("Riesling", 2.35, 2012, "slate", "south-west"),
    "Chapel Slope": ("Pinot Noir", 2.40, 2001, "limestone", "south-east"),
    "Roman Wall": ("Pinot Noir", 0.72, 1979, "marl", "south"),
    "Lower Kiln": ("Silvaner", 1.15, 1987, "loam", "east"),
    "Upper Kiln": ("Pinot Blanc", 0.95, 2009, "loam", "east"),
    "Weir Field": ("Scheurebe", 1.60, 2005, "sand", "west"),
}
"""Name: grape, hectares, planted, soil, faces."""

OLD_PLOTS = {"long furrow": "Weir Field"}

HARVESTS = {
    ("Magpie", 2023): ("2023-10-05", 10140, 89, "T-03"),
    ("Magpie", 2024): ("2024-10-09", 8730, 86, "T-03"),
    ("Magpie", 2025): ("2025-09-29", 9460, 94, "T-01"),
    ("Foxbank", 2023): ("2023-10-11", 13220, 84, "T-05"),
    ("Foxbank", 2024): ("2024-10-14", 11890, 82, "T-05"),
    ("Foxbank", 2025): ("2025-10-02", 12650, 88, "T-06"),
    ("Chapel Slope", 2023): ("2023-09-27", 12480, 95, "T-07"),
    ("Chapel Slope", 2024): ("2024-09-30", 9970, 91, "T-07"),
    ("Chapel Slope", 2025): ("2025-09-23", 11310, 98, "T-07"),
    ("Roman Wall", 2023): ("2023-09-28", 2870, 99, "T-08"),
    ("Roman Wall", 2025): ("2025-09-25", 2610, 102, "T-08"),
    ("Lower Kiln", 2023): ("2023-09-25", 8350, 80, "T-02"),
    ("Lower Kiln", 2024): ("2024-09-26", 7640, 79, "T-02"),
    ("Lower Kiln", 2025): ("2025-09-22", 7980, 83, "T-02"),
    ("Upper Kiln", 2023): ("2023-09-21", 6410, 87, "T-04"),
    ("Upper Kiln", 2024): ("2024-09-24", 5890, 85, "T-04"),
    ("Upper Kiln", 2025): ("2025-09-21", 6230, 90, "T-04"),
    ("Weir Field", 2023): ("2023-09-19", 11050, 81, "T-09"),
    ("Weir Field", 2024): ("2024-09-23", 10370, 78, "T-09"),
    ("Weir Field", 2025): ("2025-09-24", 10720, 85, "T-09"),
}
"""Plot and year: picked on, kilograms, degrees Oechsle, tank."""

TANKS = {
    "T-01": ("steel", 7500, 6620, "Riesling 2025", 15.8),
    "T-02": ("steel", 6400, 5480, "Silvaner 2025", 14.9),
    "T-03": ("steel", 7500, 0, None, 12.1),
    "T-04": ("steel", 5000, 4290, "Pinot Blanc 2025", 16.4),
    "T-05": ("oak", 9000, 0, None, 12.6),
    "T-06": ("oak", 9500, 8865, "Riesling 2025", 17.2),
    "T-07": ("oak", 8200, 7350, "Pinot Noir 2025", 21.7),
    "T-08": ("oak", 2500, 1780, "Pinot Noir 2025", 20.9),
    "T-09": ("steel", 8800, 7510, "Scheurebe 2025", 13.7),
}
"""Tank: made of, litres it takes, litres in it, wine, degrees Celsius."""

BOTTLINGS = {
    ("Magpie Riesling", 2022): ("2023-05-16", 6200, 418, 15.20, 12.0, "Magpie"),
    ("Magpie Riesling", 2023): ("2024-05-14", 6850, 2930, 14.60, 11.5, "Magpie"),
    ("Foxbank Riesling", 2023): ("2024-06-04", 8900, 3760, 11.40, 11.5, "Foxbank"),
    ("Chapel Slope Pinot Noir", 2021): ("2023-08-22", 7400, 960, 18.50, 13.0, "Chapel Slope"),
    ("Chapel Slope Pinot Noir", 2022): ("2024-08-27", 7950, 4280, 17.90, 13.5, "Chapel Slope"),
    ("Roman Wall Pinot Noir", 2021): ("2023-09-05", 1850, 240, 32.80, 13.5, "Roman Wall"),
    ("Kiln Silvaner", 2023): ("2024-04-17", 5600, 1375, 9.30, 12.0, "Lower Kiln"),
    ("Kiln Silvaner", 2024): ("2025-04-15", 5150, 3890, 9.70, 11.5, "Lower Kiln"),
    ("Kiln Pinot Blanc", 2024): ("2025-04-23", 3980, 2640, 10.80, 12.5, "Upper Kiln"),
    ("Weir Scheurebe", 2024): ("2025-03-26", 7100, 5020, 8.90, 11.0, "Weir Field"),
    ("Estate Rosé", 2023): ("2024-03-19", 3400, 1126, 8.40, 11.5, "Chapel Slope"),
    ("Estate Rosé", 2024): ("2025-03-18", 3650, 2285, 8.60, 12.0, "Chapel Slope"),
}
"""Wine and vintage: bottled on, bottles filled, bottles left, euros a bottle, alcohol, plot."""

GRAPE_NAMES = {
    "spatburgunder": "Pinot Noir", "blauburgunder": "Pinot Noir", "weissburgunder": "Pinot Blanc",
    "sylvaner": "Silvaner",
}  # fmt: skip

ORDERS = {
    "O-7714": ("Harbour Bistro", "Weir Scheurebe", 2024, 60, "delivered", "2026-02-06"),
    "O-7719": ("Lindqvist & Sons", "Magpie Riesling", 2023, 48, "being packed", None),
    "O-7722": ("Hotel Belvoir", "Chapel Slope Pinot Noir", 2022, 36, "waiting for payment", None),
    "O-7726": ("Vera Castellane", "Kiln Silvaner", 2023, 18, "shipped", "2026-02-13"),
    "O-7731": ("Old Mint Restaurant", "Foxbank Riesling", 2023, 72, "shipped", "2026-02-17"),
    "O-7735": ("Tomas Reuther", "Roman Wall Pinot Noir", 2021, 6, "cancelled", None),
    "O-7740": ("Harbour Bistro", "Estate Rosé", 2024, 90, "being packed", None),
}
"""Order: customer, wine, vintage, bottles, state, on."""

WEATHER = {
    "Cellar": {
        "2025-04-21": (3.4, 14.2, 0.0, 14), "2025-04-22": (2.9, 11.6, 6.7, 22), "2025-04-23": (1.5, 10.8, 1.1, 19),
        "2025-04-24": (0.6, 13.3, 0.0, 9), "2025-09-21": (9.8, 21.5, 0.0, 12), "2025-09-22": (10.4, 22.3, 0.0, 10),
        "2025-09-23": (11.9, 18.7, 2.8, 26), "2025-09-24": (10.7, 17.4, 5.3, 31), "2025-09-25": (8.3, 19.6, 0.0, 15),
    },
    "Chapel Hill": {
        "2025-04-21": (1.7, 12.5, 0.0, 21), "2025-04-22": (0.9, 9.8, 7.4, 33), "2025-04-23": (-0.4, 8.9, 1.6, 28),
        "2025-04-24": (-2.3, 11.7, 0.0, 13), "2025-09-21": (8.6, 19.9, 0.0, 18), "2025-09-22": (9.1, 20.8, 0.0, 16),
        "2025-09-23": (10.2, 16.9, 4.6, 38), "2025-09-24": (9.5, 15.8, 6.2, 44), "2025-09-25": (7.1, 18.4, 0.2, 23),
    },
    "Weir": {
        "2025-04-21": (2.2, 14.9, 0.0, 8), "2025-04-24": (-1.1, 13.8, 0.0, 5), "2025-09-21": (8.9, 22.4, 0.0, 7),
        "2025-09-22": (9.6, 23.1, 0.0, 6), "2025-09-23": (11.3, 19.2, 3.1, 17), "2025-09-24": (10.1, 18.1, 5.9, 20),
        "2025-09-25": (7.8, 20.3, 0.0, 9),
    },
}  # fmt: skip
"""Station and date: lowest, highest, rain in millimetres, strongest wind in kilometres an hour."""


def folded(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.casefold())
    return " ".join("".join(char for char in plain if not unicodedata.combining(char)).split())


def full_plot(plot: str) -> str:
    wanted = re.sub(r"^the\s+|\s+(?:plot|vineyard)$", "", folded(plot))
    if wanted in OLD_PLOTS:
        raise ToolError(f"{plot!r} is an old name: this plot is called {OLD_PLOTS[wanted]} now")
    row(PLOTS, wanted, "plot")
    return next(name for name in PLOTS if name.casefold() == wanted)


@tool(effect="pure")
def plot_info(plot: str) -> str:
    """What is known of a plot: grape, area, year the vines were planted, soil, which way it faces.

    Args:
        plot: name of the plot
    """
    name = full_plot(plot)
    grape, area, planted, soil, faces = PLOTS[name]
    return f"{name}: {grape}, {area:.2f} hectares, planted in {planted}, soil {soil}, faces {faces}"


@tool(effect="pure")
def harvest_record(plot: str, year: int) -> str:
    """The harvest of a plot in a year: day of picking, weight, ripeness in degrees Oechsle, tank the must went into.

    Args:
        plot: name of the plot
        year: year of the harvest
    """
    name = full_plot(plot)
    if (name, year) not in HARVESTS:
        years = ", ".join(str(when) for where, when in HARVESTS if where == name)
        raise ToolError(f"no harvest of {name} in {year} on record; there are those of {years}")
    day, weight, ripeness, tank = HARVESTS[name, year]
    return f"{name} {year}: picked on {day}, {weight} kg of grapes, {ripeness} degrees Oechsle, into tank {tank}"


def make_tank_status() -> Tool:
    silent = {"T-07"}

    @tool(effect="idempotent")
    def tank_status(tank: str) -> str:
        """What is in a tank now: litres, wine and temperature, and how much the tank takes when full.

        Args:
            tank: number of the tank, like T-01
        """
        key = tank.strip().upper()
        _, capacity, content, wine, warm = row(TANKS, key, "tank")
        if key in silent:
            silent.discard(key)
            raise ToolError(f"the sensor of tank {key} did not answer in time, please ask once more in the same way")
        inside = f"{content} litres of {wine} in it" if wine else "empty"
        return f"{key}: {TANKS[key][0]}, takes {capacity} litres, {inside}, temperature {warm} C"

    return tank_status


@tool(effect="pure")
def bottlings(wine: str, vintage: int | None = None) -> str:
    """Our bottled wines: day of bottling, bottles filled, bottles left in stock, price, alcohol, plot of the grapes.

    Args:
        wine: name of the wine or a part of it, without the year
        vintage: year of the grapes; without it, all vintages
    """
    words = folded(wine.replace("ß", "ss")).split()
    for word in words:
        if word in GRAPE_NAMES:
            raise ToolError(f"no wine is listed as {wine!r}: our labels call this grape {GRAPE_NAMES[word]}")
    if any(re.fullmatch(r"(?:19|20)\d\d", word) for word in words):
        raise ToolError("leave the year out of the name of the wine and give it as vintage")
    named = {key: value for key, value in BOTTLINGS.items() if words and set(words) <= set(folded(key[0]).split())}
    if not named:
        raise ToolError(
            f"no wine is listed as {wine!r}; there are: {', '.join(dict.fromkeys(k[0] for k in BOTTLINGS))}"
        )
    found = [
        f"{name} {year}: bottled on {day}, {filled} bottles filled, {left} left, {price:.2f} EUR a bottle, "
        f"{alcohol} % alcohol, grapes from {plot}"
        for (name, year), (day, filled, left, price, alcohol, plot) in named.items()
        if vintage in (None, year)
    ]
    if not found:
        raise ToolError(f"no {wine} of the vintage {vintage}; there are: {', '.join(f'{n} {y}' for n, y in named)}")
    return "\n".join(found)


@tool(effect="pure")
def order_details(order_number: str) -> str:
    """A customer's order: who ordered, which wine and vintage, how many bottles, state of the order. Has no prices.

    Args:
        order_number: number of the order, like O-7701
    """
    key = order_number.strip().upper()
    if not re.fullmatch(r"O-\d{4}", key):
        raise ToolError(f"{order_number!r} is not an order number: these are the letter O, a hyphen and four digits")
    customer, wine, vintage, amount, state, day = row(ORDERS, key, "order")
    return f"{key} {customer}: {amount} bottles of {wine} {vintage}, {state}{f' on {day}' if day else ''}"


@tool(effect="pure")
def weather_log(station: str, date: str) -> str:
    """The log of one of our weather stations for one day: lowest and highest temperature, rain, strongest wind.

    Args:
        station: Cellar, Chapel Hill or Weir
        date: the day as YYYY-MM-DD
    """
    day = date.strip()
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", day):
        raise ToolError(f"{date!r} is not a date as YYYY-MM-DD, such as 2025-01-31")
    wanted = re.sub(r"^the\s+|\s+station$", "", folded(station))
    log = row(WEATHER, wanted, "station")
    if wanted == "weir" and day in ("2025-04-22", "2025-04-23"):
        raise ToolError(
            "the station Weir was out of order on 22 and 23 April 2025; "
            "the station Cellar stood in for it on these days"
        )
    if day not in log:
        raise ToolError(f"no entry for {day}: the log has 21 to 24 April 2025 and 21 to 25 September 2025")
    low, high, rain, wind = log[day]
    return f"{day}: lowest {low} C, highest {high} C, rain {rain} mm, strongest wind {wind} km/h"


def tools() -> list[Tool]:
    return [plot_info, harvest_record, make_tank_status(), bottlings, order_details, weather_log]
