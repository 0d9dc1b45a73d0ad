"""The driving school: learners, lessons, instructors, cars, prices and tests. All of it is made up."""
# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

from datetime import datetime
from typing import Literal

from treadle import Tool, ToolError, tool

LEARNERS = {
    4101: ("Maya Ferrand", "B", "Odile Brask", 14, 2, 1, "passed on 2026-02-11 with 3 mistakes"),
    4102: ("Lucas Ferrand", "B", "Henning Brask", 6, 0, 0, "not taken yet"),
    4103: ("Deepa Narang", "B", "Odile Brask", 21, 4, 2, "passed on 2025-11-26 with 1 mistake"),
    4104: ("Tobias Wexler", "BE", "Ragna Holmdal", 4, 1, 0, "not needed for this class"),
    4105: ("Ingrid Vass", "A", "Curtis Mbeki", 9, 2, 1, "passed on 2026-03-18 with 5 mistakes"),
    4106: ("Joao Pimentel", "B", "Ragna Holmdal", 17, 4, 3, "failed on 2026-04-08 with 12 mistakes"),
    4107: ("Heather Quill", "B", "Henning Brask", 11, 1, 0, "passed on 2026-01-21 with 6 mistakes"),
    4108: ("Katarina Solheim", "C", "Ragna Holmdal", 8, 3, 2, "passed on 2026-03-04 with 2 mistakes"),
    4109: ("Kasper Solheim", "B", "Odile Brask", 2, 0, 0, "not taken yet"),
    4110: ("Emeka Ruddock", "A", "Curtis Mbeki", 5, 0, 0, "passed on 2026-04-22 with 4 mistakes"),
    4111: ("Fiona Marchetti", "B", "Henning Brask", 19, 4, 3, "passed on 2025-12-10 with 0 mistakes"),
}
"""Learner number: name, class, instructor, lessons, motorway hours, night hours, theory test."""

ACCOUNTS = {
    4101: (1102, 1102), 4102: (638, 580), 4103: (1508, 1392), 4104: (412, 412), 4105: (866, 738), 4106: (1276, 1102),
    4107: (928, 754), 4108: (1010, 920), 4109: (406, 290), 4110: (610, 610), 4111: (1392, 1392),
}  # fmt: skip
"""Learner number: charged, paid."""

INSTRUCTORS = {
    "Odile Brask": ("555-0141", "French and English", "B", 2011),
    "Henning Brask": ("555-0142", "Danish and English", "B", 2004),
    "Ragna Holmdal": ("555-0167", "Norwegian, German and English", "B, BE and C", 2016),
    "Curtis Mbeki": ("555-0183", "English and Zulu", "A", 2019),
}
"""Name: phone, languages, classes, with us since."""

CARS = {
    "KD 207": ("Skoda Fabia", "automatic", "petrol", 31870, "2026-09"),
    "KD 342": ("Toyota Yaris", "manual", "hybrid", 48260, "2026-07"),
    "KD 518": ("Volkswagen Polo", "manual", "petrol", 77415, "2026-06"),
    "KD 655": ("Renault Zoe", "automatic", "electric", 22940, "2027-02"),
    "KD 731": ("Mercedes Atego", "manual", "diesel", 118300, "2026-11"),
    "KD 809": ("Honda CB500", "manual", "petrol", 15080, "2027-04"),
}
"""Registration: model, gearbox, fuel, kilometres, next inspection."""

RENAMED = {"KD 118": "KD 655"}

DIARY = {
    ("Odile Brask", "2026-05-20"): [("09:00", 4109, "Central Station", "KD 207"), ("11:30", 4103, "school yard", "KD 207")],
    ("Odile Brask", "2026-05-21"): [("10:15", 4101, "Mill Lane", "KD 207"), ("14:00", 4103, "school yard", "KD 342")],
    ("Henning Brask", "2026-05-20"): [("08:45", 4102, "Park Road", "KD 518"), ("13:15", 4111, "school yard", "KD 518")],
    ("Henning Brask", "2026-05-21"): [("09:30", 4107, "Town Hall", "KD 655")],
    ("Ragna Holmdal", "2026-05-20"): [("10:00", 4108, "truck park", "KD 731"), ("15:45", 4106, "Lime Street", "KD 655")],
    ("Ragna Holmdal", "2026-05-21"): [("12:00", 4104, "school yard", "KD 518")],
    ("Curtis Mbeki", "2026-05-20"): [("16:30", 4110, "school yard", "KD 809")],
    ("Curtis Mbeki", "2026-05-21"): [("17:00", 4105, "swimming pool", "KD 809")],
}  # fmt: skip

PRICES = {
    "A": {"lesson": 64, "registration": 120, "theory_course": 95, "test_fee": 132},
    "B": {"lesson": 58, "registration": 110, "theory_course": 90, "test_fee": 118},
    "BE": {"lesson": 73, "registration": 80, "theory_course": 0, "test_fee": 145},
    "C": {"lesson": 89, "registration": 150, "theory_course": 160, "test_fee": 197},
}

SLOTS = {
    ("theory", "orrevik"): ["2026-06-03 10:00", "2026-06-10 10:00", "2026-06-24 14:30"],
    ("practical", "orrevik"): ["2026-06-17 08:20", "2026-06-19 13:00"],
    ("theory", "sandby"): ["2026-05-28 09:30", "2026-06-11 09:30"],
    ("practical", "sandby"): ["2026-07-02 11:10", "2026-07-06 09:40"],
}
TESTED_IN = {"halden": "Orrevik", "brunmoor": "Orrevik", "kirkvale": "Sandby"}


def _learner(number: int) -> tuple[str, str, str, int, int, int, str]:
    if number not in LEARNERS:
        raise ToolError(f"There is no learner {number}. Look the number up with find_learner.")
    return LEARNERS[number]


def _instructor(name: str) -> str:
    wanted = name.casefold().split()
    found = [full for full in INSTRUCTORS if wanted and all(word in full.casefold().split() for word in wanted)]
    if len(found) > 1:
        raise ToolError(f"Several instructors are called {name!r}: {', '.join(found)}. Give the full name.")
    if not found:
        raise ToolError(f"No instructor {name!r}. Our instructors are {', '.join(INSTRUCTORS)}.")
    return found[0]


@tool(effect="pure")
def find_learner(name: str) -> str:
    """Find learners by name. Returns the learner number and full name of everyone who matches.

    Args:
        name: first name, surname or both
    """
    wanted = name.casefold().split()
    found = [
        f"{number}: {learner[0]}"
        for number, learner in LEARNERS.items()
        if wanted and all(word in learner[0].casefold() for word in wanted)
    ]
    if not found:
        raise ToolError(f"No learner is called {name!r}. Try the surname alone.")
    return "\n".join(found)


@tool(effect="pure")
def learner_progress(learner_no: int) -> str:
    """Show how far a learner has got: licence class, instructor, lessons, motorway and night hours, theory test.

    Args:
        learner_no: the learner number
    """
    name, licence, instructor, lessons, motorway, night, theory = _learner(learner_no)
    return (
        f"{name}: class {licence}, instructor {instructor}, {lessons} lessons taken, "
        f"motorway hours: {motorway}, night hours: {night}, theory test: {theory}"
    )


@tool(effect="pure")
def account_balance(learner_no: int) -> str:
    """Get what a learner has been charged, has paid and still has to pay.

    Args:
        learner_no: the learner number
    """
    name = _learner(learner_no)[0]
    charged, paid = ACCOUNTS[learner_no]
    return f"{name}: charged {charged} EUR, paid {paid} EUR, still to pay {charged - paid} EUR"


@tool(effect="pure")
def instructor_profile(name: str) -> str:
    """Look up an instructor: phone number, languages, licence classes taught, since when at the school.

    Args:
        name: name of the instructor
    """
    full = _instructor(name)
    phone, languages, classes, since = INSTRUCTORS[full]
    return f"{full}: phone {phone}, speaks {languages}, teaches class {classes}, with us since {since}"


@tool(effect="pure")
def lesson_diary(instructor: str, date: str) -> str:
    """List the driving lessons an instructor gives on a day: time, learner, pick-up point and vehicle.

    Args:
        instructor: name of the instructor
        date: day as YYYY-MM-DD
    """
    full = _instructor(instructor)
    try:
        day = datetime.strptime(date.strip(), "%Y-%m-%d").date().isoformat()
    except ValueError:
        raise ToolError(f"Cannot read the date {date!r}; use YYYY-MM-DD.") from None
    lessons = DIARY.get((full, day), [])
    lines = [f"{time} {LEARNERS[who][0]} ({who}), {place}, vehicle {car}" for time, who, place, car in lessons]
    return "\n".join(lines) or f"{full} has no lessons on {day}."


@tool(effect="pure")
def vehicle_info(registration: str) -> str:
    """Get the data of one of our vehicles: model, gearbox, fuel, kilometres driven, next inspection.

    Args:
        registration: what is on the number plate
    """
    letters = "".join(char for char in registration.upper() if char.isalnum())
    plate = f"{letters[:2]} {letters[2:]}"
    if plate in RENAMED:
        raise ToolError(f"{plate} has a new number plate. It is now registered as {RENAMED[plate]}; use that.")
    if plate not in CARS:
        raise ToolError(f"No vehicle with the plate {registration!r}. We have {', '.join(CARS)}.")
    model, gearbox, fuel, km, inspection = CARS[plate]
    return f"{plate}: {model}, {gearbox}, {fuel}, {km} km, next inspection {inspection}"


@tool(effect="pure")
def get_price(
    licence_class: Literal["A", "B", "BE", "C"],
    item: Literal["lesson", "registration", "theory_course", "test_fee"],
) -> str:
    """Look up a price in the price list.

    Args:
        licence_class: A motorcycle, B car, BE car with trailer, C truck
        item: lesson is one driving lesson, test_fee is for the practical test
    """
    return f"{PRICES[licence_class][item]} EUR"


@tool(effect="pure")
def free_test_slots(kind: Literal["theory", "practical"], town: str) -> str:
    """List the free dates for driving tests, earliest first.

    Args:
        kind: which test
        town: the town
    """
    place = town.strip().casefold()
    if place in TESTED_IN:
        raise ToolError(
            f"{town} has no test centre. People from {town} take their tests in {TESTED_IN[place]}; ask for that town."
        )
    if (kind, place) not in SLOTS:
        raise ToolError(f"No test centre in {town!r}. The test centres are in Orrevik and Sandby.")
    return "\n".join(SLOTS[kind, place])


def tools() -> list[Tool]:
    return [
        find_learner,
        learner_progress,
        account_balance,
        instructor_profile,
        lesson_diary,
        vehicle_info,
        get_price,
        free_test_slots,
    ]
