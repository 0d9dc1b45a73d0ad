"""Travel: trains, hotels, flights, visas and the weather of a week. All of it is made up.

treadle eval lab/evals/travel.jsonl --tools lab/evals/worlds/travel.py:tools --tools calculator
"""

from __future__ import annotations

from world_kit import row, second_time

from treadle import Tool, tool

TRAINS = {
    "Lyon": {"Turin": ("R-118", "07:50", "11:35", 4), "Bern": ("R-303", "09:10", "12:25", 6)},
    "Turin": {"Lyon": ("R-119", "14:25", "18:10", 2)},
    "Bern": {"Lyon": ("R-302", "13:05", "16:20", 9), "Graz": ("R-205", "10:40", "19:15", 3)},
    "Graz": {"Bern": ("R-204", "06:30", "15:05", 1)},
}
"""From, to: number of the train, when it leaves, when it arrives, platform."""

FARES = {
    "R-118": (39.00, 62.00),
    "R-119": (36.00, 57.00),
    "R-204": (88.00, 131.00),
    "R-205": (92.00, 137.00),
    "R-302": (42.50, 68.00),
    "R-303": (45.00, 71.00),
}
"""Number of the train: euros in second class, euros in first class."""

HOTELS = {
    "Old Mill Inn": ("Graz", 3, "MI-20", "10:00"),
    "Casa Luna": ("Porto", 3, "CL-15", "11:00"),
    "Harbour House": ("Bergen", 4, "HH-07", "10:30"),
    "Grand Meridian": ("Bern", 5, "GM-51", "11:30"),
    "Blue Heron": ("Lyon", 2, "BH-32", "09:30"),
    "Park Villa": ("Turin", 4, "PV-64", "10:00"),
}
"""Name: city, stars, code of the rooms, end of breakfast."""

ROOM_PRICES = {"MI-20": 96.00, "CL-15": 71.50, "HH-07": 128.00, "GM-51": 240.00, "BH-32": 84.00, "PV-64": 112.00}
"""Code of the room: euros a night."""

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

FORECASTS = {
    "Bergen": (("cloudy", 9), ("rain", 11), ("rain", 10), ("cloudy", 12), ("clear", 13), ("windy", 8), ("rain", 7)),
    "Bern": (("cloudy", 12), ("clear", 16), ("clear", 17), ("rain", 13), ("foggy", 14), ("cloudy", 15), ("clear", 18)),
    "Graz": (("rain", 10), ("cloudy", 13), ("clear", 17), ("clear", 19), ("windy", 15), ("rain", 11), ("foggy", 9)),
    "Lyon": (("clear", 20), ("clear", 21), ("cloudy", 18), ("rain", 15), ("cloudy", 17), ("windy", 19), ("clear", 22)),
    "Porto": (("sunny", 23), ("windy", 21), ("cloudy", 20), ("rain", 17), ("clear", 22), ("sunny", 25), ("sunny", 26)),
    "Turin": (("cloudy", 18), ("clear", 22), ("clear", 24), ("windy", 20), ("rain", 16), ("cloudy", 19), ("clear", 23)),
}
"""City: sky and degrees Celsius, Monday to Sunday."""

VISAS = {
    "Japan": "no visa is needed for up to 60 days",
    "Brazil": "no visa is needed for up to 45 days",
    "Morocco": "no visa is needed for up to 75 days",
    "Kenya": "a visa is needed, it costs 50 EUR",
    "India": "a visa is needed, it costs 35 EUR",
}

FLIGHTS = {
    "F-310": "delayed, leaves at 17:40 from gate B6",
    "F-422": "on time, leaves at 12:15 from gate A3",
    "F-518": "cancelled because of fog",
}


@tool(effect="pure")
def train_times(start: str, destination: str) -> str:
    """Look up the direct train between two cities: its number, when it leaves and arrives, and the platform.

    Args:
        start: the city where the train leaves
        destination: the city where it arrives
    """
    number, leaves, arrives, platform = row(row(TRAINS, start, "train from"), destination, f"train from {start} to")
    return f"train {number}, leaves {leaves}, arrives {arrives}, platform {platform}"


@tool(effect="pure")
def train_fare(train: str) -> str:
    """Tell what a ticket for a train costs in euros, in second and in first class.

    Args:
        train: the number of the train, such as "R-205"
    """
    second, first = row(FARES, train, "train")
    return f"second class {second:.2f} EUR, first class {first:.2f} EUR"


@tool(effect="pure")
def hotel_info(name: str) -> str:
    """Look up a hotel: its city, its stars, the code of its rooms and the end of breakfast.

    Args:
        name: the name of the hotel, such as "Blue Heron"
    """
    city, stars, code, breakfast = row(HOTELS, name, "hotel")
    return f"{name.strip()}: city {city}, {stars} stars, room code {code}, breakfast until {breakfast}"


@tool(effect="pure")
def room_price(code: str) -> str:
    """Tell what a hotel room costs for one night.

    Args:
        code: the code of the room, such as "PV-64"
    """
    return f"{row(ROOM_PRICES, code, 'room code'):.2f} EUR a night"


@tool(effect="pure")
def forecast(city: str, day: str) -> str:
    """Tell this week's weather in a city on one day: sky and temperature in degrees Celsius.

    Args:
        city: the name of the city
        day: the day of the week, such as "Wednesday"
    """
    sky, degrees = row(dict(zip(DAYS, row(FORECASTS, city, "city"), strict=True)), day, "day")
    return f"{sky}, {degrees} degrees Celsius"


@tool(effect="pure")
def visa_rule(country: str) -> str:
    """Tell whether travellers need a visa for a country, how long they may stay without one, or what it costs.

    Args:
        country: the country they travel to
    """
    return row(VISAS, country, "country")


def make_flight_status() -> Tool:
    tried: set[str] = set()

    @tool(effect="idempotent")
    def flight_status(flight: str) -> str:
        """Tell the state of a flight, when it leaves and from which gate.

        Args:
            flight: the number of the flight, such as F-422
        """
        return second_time(tried, FLIGHTS, flight, "flight", "the airport does not answer right now")

    return flight_status


def tools() -> list[Tool]:
    return [train_times, train_fare, hotel_info, room_price, forecast, visa_rule, make_flight_status()]
