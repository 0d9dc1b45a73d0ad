"""The office of a botanical garden: plants, glasshouses, guided tours, tickets. All data is invented."""
# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

import json
import re

from treadle import Tool, ToolError, tool

# fmt: off
# accession: (botanical name, common name, house, state, donor, origin, bench, water days, repotted, height cm, weight kg)
_PLANTS = {
    "1976-0009": ("Phoenix canariensis", "Canary Island date palm", "Palm House", "on display", "town of Orrin", "Spain", 1, 6, 1998, 940, 610.0),
    "1982-0140": ("Jubaea chilensis", "Chilean wine palm", "Palm House", "on display", "Consul A. Reyes", "Chile", 2, 9, 2004, 780, 545.0),
    "1988-0031": ("Dicksonia antarctica", "soft tree fern", "Fern House", "on display", "Tavener Nursery", "Australia", 5, 2, 2013, 265, 118.0),
    "1995-0066": ("Carnegiea gigantea", "saguaro", "Desert House", "on display", "Dr. Peer Lund", "Mexico", 11, 24, 2010, 312, 227.0),
    "1999-0205": ("Cyathea cooperi", "lacy tree fern", "Fern House", "on display", "Tavener Nursery", "Australia", 6, 3, 2017, 231, 94.5),
    "2001-0174": ("Saxifraga oppositifolia", "purple saxifrage", "Alpine House", "on display", "Mrs. Edda Storm", "Norway", 21, 5, 2021, 7, 1.2),
    "2003-0350": ("Phalaenopsis schilleriana", "moth orchid", "Orchid House", "on display", "Orchid Circle Vey", "Philippines", 33, 4, 2020, 58, 2.1),
    "2005-0119": ("Amorphophallus titanum", "titan arum", "Palm House", "on display", "University of Brackwede", "Indonesia", 3, 7, 2022, 163, 86.5),
    "2007-0412": ("Encephalartos horridus", "blue cycad", "Desert House", "on display", "the Marchetti estate", "South Africa", 12, 14, 2015, 88, 71.0),
    "2009-0318": ("Echinocactus grusonii", "golden barrel cactus", "Desert House", "on display", "Ilse Brandau", "Mexico", 13, 21, 2019, 64, 49.0),
    "2011-0088": ("Vanilla planifolia", "flat-leaved vanilla", "Orchid House", "on display", "Orchid Circle Vey", "Guatemala", 35, 3, 2018, 210, 15.5),
    "2012-0271": ("Ravenala madagascariensis", "traveller's tree", "Palm House", "on display", "Tavener Nursery", "Madagascar", 4, 5, 2016, 415, 160.0),
    "2014-0192": ("Gentiana acaulis", "stemless gentian", "Alpine House", "in propagation", "garden's own seed", "Austria", 22, 3, 2023, 9, 0.8),
    "2015-0127": ("Dicksonia squarrosa", "rough tree fern", "Fern House", "in quarantine", "Mr. Hoani Pere", "New Zealand", 7, 2, 2015, 142, 53.0),
    "2016-0233": ("Saxifraga longifolia", "Pyrenean saxifrage", "Alpine House", "on display", "Mrs. Edda Storm", "France", 23, 6, 2019, 14, 1.6),
    "2018-0164": ("Vanilla pompona", "West Indian vanilla", "Orchid House", "in propagation", "Dr. Peer Lund", "Panama", 36, 4, 2018, 95, 6.0),
    "2019-0077": ("Amorphophallus konjac", "devil's tongue", "Palm House", "on display", "garden's own seed", "China", 8, 8, 2023, 71, 9.5),
    "2020-0045": ("Echinocactus grusonii", "golden barrel cactus", "Desert House", "in propagation", "garden's own seed", "Mexico", 15, 18, 2020, 17, 3.5),
}

# house: (what grows there, keeper, extension, opens, closes, closed day, most visitors, day temperature, humidity)
_HOUSES = {
    "Palm House": ("palms, aroids and other tropical plants", "Ottoline Vance", 214, "09:30", "17:30", "Monday", 60, 22, 75),
    "Fern House": ("tree ferns and mosses", "Bram Achterberg", 231, "10:00", "16:00", "Tuesday", 25, 16, 85),
    "Desert House": ("cacti, cycads and succulents", "Ximena Duarte", 208, "09:15", "17:45", "Friday", 40, 24, 20),
    "Orchid House": ("orchids and vanilla", "Lorcan Fitch", 226, "11:00", "15:30", "Thursday", 18, 21, 80),
    "Alpine House": ("plants of the high mountains", "Sunniva Holm", 219, "10:15", "16:30", "Wednesday", 12, 9, 55),
}

# day: (start, title, guide, language, minutes, price, places left)
_TOURS = {
    "Wednesday": [
        ("11:00", "Giants under Glass", "Wim Pauwels", "English", 60, 7.5, 9),
        ("15:30", "Poisons and Potions", "Delia Crane", "English", 75, 9.0, 2),
    ],
    "Friday": [
        ("16:00", "Behind the Potting Shed", "Sunniva Holm", "English", 50, 6.5, 5),
    ],
    "Saturday": [
        ("10:30", "Ferns in the Mist", "Bram Achterberg", "English", 45, 6.0, 11),
        ("12:00", "Giants under Glass", "Wim Pauwels", "German", 60, 7.5, 4),
        ("14:15", "Giants under Glass", "Margaux Thiery", "French", 60, 7.5, 6),
        ("16:45", "Poisons and Potions", "Delia Crane", "English", 75, 9.0, 0),
    ],
    "Sunday": [
        ("10:00", "The Mushroom Walk", "Piet Sorensen", "English", 90, 9.75, 8),
        ("11:45", "Orchids Close Up", "Lorcan Fitch", "English", 40, 8.25, 3),
        ("13:30", "Seeds on the Move", "Delia Crane", "English", 55, 5.5, 12),
        ("15:15", "Giants under Glass", "Margaux Thiery", "French", 60, 7.5, 7),
    ],
}

_PRICES = {
    "day": {"adult": 11.8, "child": 5.4, "student": 7.9, "senior": 9.2, "family": 27.5},
    "year": {"adult": 46.0, "child": 19.5, "student": 31.0, "senior": 38.5, "family": 92.0},
}
# fmt: on


def _words(text: str) -> list[str]:
    words = re.findall(r"[a-z]+", text.lower().replace("'s", "s"))
    return [re.sub(r"(?:(?<=cactus)es|s)$", "", re.sub(r"cacti$", "cactus", word)) for word in words]


@tool
def find_plant(name: str) -> str:
    """Search the plant register by botanical or common name. Gives a table of the plants that fit, with accession number, house and state.

    Args:
        name: Botanical or common name, or a part of it.
    """
    wanted = _words(name)
    rows = []
    for number, plant in _PLANTS.items():
        have = _words(plant[0] + " " + plant[1])
        if wanted and all(word in have for word in wanted):
            rows.append(f"{number} | {plant[0]} | {plant[1]} | {plant[2]} | {plant[3]}")
    if not rows:
        raise ToolError(f'No plant in the register fits "{name}". Try a single word of the name, in the singular.')
    return "\n".join(["accession | botanical name | common name | house | state", *rows])


@tool
def accession_record(accession: str) -> str:
    """The full record of one plant: donor, origin, house, bench, watering, last repotting, height and weight.

    Args:
        accession: Accession number of the plant.
    """
    number = accession.strip()
    if not re.fullmatch(r"\d{4}-\d{4}", number):
        raise ToolError(
            f'"{accession}" is not an accession number as the register writes it: four digits for the year received, '
            "a hyphen, four digits for the running number. An old label 31/88 is 1988-0031 in the register."
        )
    if number not in _PLANTS:
        raise ToolError(f"There is no accession {number}. Use find_plant to look up the number.")
    botanical, common, house, state, donor, origin, bench, days, repotted, height, weight = _PLANTS[number]
    return json.dumps(
        {
            "accession": number,
            "botanical_name": botanical,
            "common_name": common,
            "donor": donor,
            "origin": origin,
            "house": house,
            "bench": bench,
            "state": state,
            "water_every_days": days,
            "last_repotted": repotted,
            "height_cm": height,
            "weight_with_pot_kg": weight,
        }
    )


@tool
def house_info(house: str) -> str:
    """About one glasshouse: what grows there, climate, opening hours, closed day, visitor limit, the keeper and the keeper's telephone extension.

    Args:
        house: Name of the glasshouse.
    """
    key = re.sub(r"\b(the|glass|green)\b|house|glasshouse", "", house.lower()).strip()
    for name, (what, keeper, ext, opens, closes, closed, most, temp, humid) in _HOUSES.items():
        if key == name.split()[0].lower():
            return (
                f"The {name} holds {what}. It is kept at {temp} degrees by day with {humid} % humidity. "
                f"Visitors may enter from {opens} to {closes}, every day except {closed}, and no more than {most} "
                f"at a time. The keeper is {keeper}, telephone extension {ext}."
            )
    names = "; ".join(f"{name} ({data[0]})" for name, data in _HOUSES.items())
    raise ToolError(f'There is no glasshouse named "{house}". The glasshouses are: {names}.')


@tool
def tours_on(day: str) -> str:
    """The guided tours of one day of the week, with start, title, guide, language, length, price per person and places left.

    Args:
        day: Day of the week, for example Wednesday.
    """
    days = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    found = [
        name for name in days if len(day.strip()) > 2 and name.lower().startswith(day.strip().lower().rstrip("s.")[:9])
    ]
    if len(found) != 1:
        raise ToolError(f'"{day}" is not a day of the week. Give one day, Monday to Sunday.')
    tours = _TOURS.get(found[0], [])
    if not tours:
        return f"There are no guided tours on {found[0]}s."
    return "\n".join(
        f"- {start} {title}, with {guide}, in {language}, {minutes} min, {price:.2f} EUR per person, "
        + (f"{left} places left" if left else "fully booked")
        for start, title, guide, language, minutes, price, left in tours
    )


@tool
def ticket_price(visitor: str, ticket: str) -> str:
    """Admission price of the garden (not of guided tours).

    Args:
        visitor: One of adult, child, student, senior, family.
        ticket: day for a single visit, year for an annual pass.
    """
    kind, who = ticket.strip().lower(), visitor.strip().lower()
    if kind not in _PRICES:
        raise ToolError(f'There is no ticket "{ticket}". Use day or year.')
    if who not in _PRICES[kind]:
        raise ToolError(f'There is no price for "{visitor}". Use adult, child, student, senior or family.')
    return json.dumps({"ticket": kind, "visitor": who, "price": f"{_PRICES[kind][who]:.2f}", "currency": "EUR"})


def tools() -> list[Tool]:
    return [find_plant, accession_record, house_info, tours_on, ticket_price]
