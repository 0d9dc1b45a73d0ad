"""Functions with parameters of all types: bookings, filters, orders, settings, formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from training.worlds import words as w
from training.worlds.fields import Field, choice, count, day, flag, group, hour, measure, numbers, several, text


class Function(NamedTuple):
    names: tuple[str, ...]
    description: str
    ask: tuple[str, ...]
    """How it is asked for; the words of the fields follow."""
    fields: tuple[Field, ...]
    done: str
    """What is said when it is done; with {result} where the result belongs."""
    compute: Callable[[dict[str, Any]], float] | None = None


def place(r: Any) -> str:
    return r.choice(w.CITIES)


def street(r: Any) -> str:
    return f"{r.choice(w.NOUNS).title()} Street {r.randint(1, 90)}"


TAGS = ("urgent", "north", "review", "billing", "archive", "legal", "pilot", "internal")
TOPPINGS = ("olives", "basil", "onions", "capers", "peppers", "mushrooms", "goat cheese")
ROOMS = ("kitchen", "hall", "study", "attic", "garage", "bedroom")
FUNCTIONS: tuple[Function, ...] = (
    Function(
        ("reserve_table", "book_restaurant_table", "table_reservation"),
        "Reserves a table in a restaurant.",
        ("Reserve a table", "Please get me a table", "I'd like a table"),
        (
            text("restaurant", "at {}", lambda r: w.named(r)),
            day("date"),
            hour("time"),
            count("guests", "for {} people", 2, 12),
            flag("outdoors", "outside", "inside"),
            text(
                "note",
                "with the note '{}'",
                lambda r: r.choice(("window seat", "high chair", "birthday")),
                required=False,
            ),
        ),
        "The table is reserved.",
    ),
    Function(
        ("find_flats", "search_rentals", "apartments_search"),
        "Searches flats to rent.",
        ("Search for flats", "Find me a flat", "Which flats are there"),
        (
            text("city", "in {}", place),
            measure("max_rent", "for at most {} euros a month", 400, 2500, 0),
            count("min_rooms", "with at least {} rooms", 1, 6, required=False),
            flag("furnished", "furnished", "not furnished"),
            flag("pets_allowed", "where pets are allowed"),
        ),
        "I searched for such flats: {result}.",
    ),
    Function(
        ("order_pizza", "place_food_order", "pizza_order"),
        "Orders a pizza.",
        ("Order a pizza", "I want a pizza", "Get me a pizza"),
        (
            choice("size", "in size {}", {"S": "small", "M": "medium", "L": "large"}, described="S, M or L"),
            several("toppings", "with {}", TOPPINGS),
            count("quantity", "times {}", 2, 6, required=False),
            group("address", text("street", "to {}", street), text("city", "in {}", place)),
        ),
        "The pizza is ordered.",
    ),
    Function(
        ("set_lights", "light_control", "adjust_lighting"),
        "Sets the lights of a room.",
        ("Set the lights", "Change the lights"),
        (
            text("room", "in the {}", lambda r: r.choice(ROOMS)),
            count("brightness", "to {} percent", 1, 100),
            choice(
                "colour",
                "in {}",
                {"warm_white": "warm white", "cold_white": "cold white", "red": "red"},
                required=False,
            ),
        ),
        "The lights are set.",
    ),
    Function(
        ("create_task", "add_todo", "new_task"),
        "Creates a task.",
        ("Create a task", "Add a task", "New task, please"),
        (
            text(
                "title", "called '{}'", lambda r: f"{r.choice(('check', 'order', 'clean', 'call'))} {r.choice(w.NOUNS)}"
            ),
            day("due", "due", required=False),
            choice("priority", "with {} priority", {"low": "low", "normal": "normal", "high": "high"}, required=False),
            several("tags", "tagged {}", TAGS, required=False),
            text("assignee", "for {}", w.person, required=False),
        ),
        "The task is created.",
    ),
    Function(
        ("ship_parcel", "create_shipment", "send_package"),
        "Sends a parcel.",
        ("Ship a parcel", "Send a parcel"),
        (
            group("recipient", text("name", "to {}", w.person), text("city", "in {}", place)),
            measure("weight_kg", "of {} kg", 0.5, 30),
            flag("insured", "insured", "without insurance"),
            choice("service", "by {}", {"express": "express", "standard": "standard mail", "pickup": "pickup"}),
        ),
        "The parcel is on its way.",
    ),
    Function(
        ("filter_books", "library_search", "query_catalogue"),
        "Searches the catalogue of a library.",
        ("Search the library", "Look for books", "Which books are there"),
        (
            text("subject", "about {}", lambda r: r.choice(w.NOUNS)),
            count("published_after", "published after {}", 1950, 2024, required=False),
            choice(
                "language", "in {}", {"en": "English", "de": "German", "fr": "French", "es": "Spanish"}, required=False
            ),
            count("limit", "at most {} of them", 3, 20, required=False),
            flag("available_only", "only those that are available"),
        ),
        "I searched the catalogue: {result}.",
    ),
    Function(
        ("rent_vehicle", "car_hire", "hire_car"),
        "Rents a car.",
        ("Rent a car", "I need a rental car"),
        (
            text("pickup_city", "in {}", place),
            day("from_date", "from", years=(2025, 2025)),
            day("to_date", "to", years=(2026, 2026)),
            choice(
                "category", "in the {} class", {"compact": "compact", "van": "van", "luxury": "luxury"}, required=False
            ),
            flag("automatic", "with automatic gears", "with manual gears"),
        ),
        "The car is booked.",
    ),
    Function(
        ("export_report", "make_report", "generate_report"),
        "Makes a report over a period.",
        ("Make a report", "Export a report", "I need the report"),
        (
            choice("topic", "on {}", {"sales": "sales", "costs": "costs", "visits": "visits", "returns": "returns"}),
            group("period", day("start", "from", years=(2024, 2024)), day("end", "until", years=(2025, 2026))),
            choice("format", "as {}", {"pdf": "PDF", "xlsx": "an Excel file", "csv": "CSV"}, required=False),
            several("columns", "with the columns {}", ("region", "amount", "date", "owner", "margin"), required=False),
        ),
        "The report is ready.",
    ),
    Function(
        ("schedule_backup", "plan_backup"),
        "Plans a backup of a machine.",
        ("Plan a backup", "Schedule a backup"),
        (
            text("host", "of {}", lambda r: f"{r.choice(('db', 'web', 'mail'))}-{r.randint(1, 60):02d}"),
            hour("time"),
            choice("every", "every {}", {"day": "day", "week": "week", "month": "month"}),
            count("keep", "keeping {} copies", 2, 12, required=False),
            flag("compress", "compressed", "not compressed"),
        ),
        "The backup is planned.",
    ),
    Function(
        ("tank_volume", "cylinder_content"),
        "The volume of a round tank in cubic metres.",
        ("How much fits into a tank", "What is the volume of a round tank"),
        (measure("radius", "with a radius of {} metres", 1, 9), measure("height", "and a height of {} metres", 1, 20)),
        "The tank holds {result} cubic metres.",
        lambda a: round(3.14159265 * a["radius"] ** 2 * a["height"], 3),
    ),
    Function(
        ("loan_rate", "monthly_instalment"),
        "What a loan costs a month without interest on interest.",
        ("What would I pay a month for a loan", "Monthly cost of a loan"),
        (
            measure("principal", "of {} euros", 500, 90000, 0),
            count("months", "over {} months", 6, 120),
            measure("yearly_percent", "at {} percent a year", 0.5, 9),
        ),
        "It is {result} euros a month.",
        lambda a: round(a["principal"] * (1 + a["yearly_percent"] / 100 * a["months"] / 12) / a["months"], 2),
    ),
    Function(
        ("paint_needed", "litres_of_paint"),
        "How many litres of paint a wall needs.",
        ("How much paint do I need for a wall", "Litres of paint for a wall"),
        (
            measure("width", "{} metres wide", 1, 12),
            measure("height", "and {} metres high", 1, 5),
            count("coats", "with {} coats", 2, 4, required=False),
        ),
        "You need {result} litres of paint.",
        lambda a: round(a["width"] * a["height"] * a.get("coats", 1) / 8, 2),
    ),
    Function(
        ("spread_of", "value_range"),
        "The distance between the largest and the smallest of some numbers.",
        ("What is the spread of", "How far apart are the largest and the smallest of"),
        (numbers("values", "{}"),),
        "The spread is {result}.",
        lambda a: round(max(a["values"]) - min(a["values"]), 6),
    ),
    Function(
        ("fuel_use", "consumption"),
        "The fuel a car uses on 100 km.",
        ("What is the fuel use per 100 km", "How much fuel per 100 km is that"),
        (measure("litres", "with {} litres", 4, 70), measure("distance_km", "for {} km", 50, 900, 0)),
        "That is {result} litres per 100 km.",
        lambda a: round(a["litres"] / a["distance_km"] * 100, 2),
    ),
    Function(
        ("train_finish", "pace_time"),
        "How many minutes a run takes at a pace.",
        ("How long does a run take", "How many minutes is a run"),
        (measure("distance_km", "of {} km", 3, 42), measure("pace_min_per_km", "at {} minutes per km", 3, 9)),
        "It takes {result} minutes.",
        lambda a: round(a["distance_km"] * a["pace_min_per_km"], 2),
    ),
)
