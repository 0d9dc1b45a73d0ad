"""A golf club with three courses of nine holes: holes, tee times, members, lessons, green fees, competitions. All data is invented."""
# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

import json
import re

from treadle import Tool, ToolError, tool

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

# fmt: off
# course: nine holes of (par, stroke index, metres from white, yellow and red tees, main hazard)
_HOLES = {
    "Heron": [
        (4, 9, 352, 336, 298, "pond left of the green"),
        (3, 15, 158, 146, 121, "two deep bunkers in front"),
        (5, 3, 498, 481, 427, "stream across the fairway at 210 m"),
        (4, 7, 371, 355, 312, "out of bounds on the right"),
        (4, 1, 409, 392, 344, "reed bed left of the landing area"),
        (3, 17, 134, 127, 109, "steep bank behind the green"),
        (4, 11, 343, 329, 287, "oak in the middle of the fairway"),
        (5, 5, 507, 489, 436, "ditch at 180 m"),
        (4, 13, 331, 317, 279, "pot bunker at the green"),
    ],
    "Abbey": [
        (4, 6, 366, 349, 305, "old wall on the left"),
        (4, 10, 340, 325, 283, "fairway bunker at 200 m"),
        (3, 18, 141, 132, 113, "graveyard hedge, out of bounds"),
        (5, 12, 484, 468, 411, "orchard on the right"),
        (4, 2, 401, 386, 338, "carp pond before the green"),
        (3, 16, 167, 155, 130, "bunker on both sides"),
        (4, 8, 358, 342, 299, "cart track across the fairway"),
        (4, 14, 327, 311, 272, "yew trees on the left"),
        (5, 4, 513, 495, 441, "double bunker at 230 m"),
    ],
    "Quarry": [
        (4, 5, 374, 357, 316, "gorse on both sides"),
        (3, 13, 172, 161, 137, "drop of 12 m to the green"),
        (4, 7, 349, 334, 294, "rock face on the right"),
        (4, 1, 415, 398, 351, "ravine at 190 m"),
        (5, 9, 476, 459, 403, "waste area along the left"),
        (4, 11, 338, 322, 281, "blind tee shot over the ridge"),
        (3, 17, 129, 120, 102, "lake all the way to the green"),
        (4, 3, 393, 377, 332, "cliff edge behind the green"),
        (5, 15, 491, 474, 419, "gravel pit at 240 m"),
    ],
}

# number: (first name, surname, category, handicap index, home tee, locker, telephone, joined)
_MEMBERS = {
    "F-0019": ("Aldous", "Penhale", "full", 8.2, "white", 12, "01555 20133", 1989),
    "F-0088": ("Winifred", "Oake", "full", 19.7, "red", 63, "01555 20417", 2003),
    "F-0145": ("Rory", "Halloran", "full", 11.3, "white", 91, "01555 20926", 2008),
    "F-0146": ("Maeve", "Halloran", "full", 24.1, "red", 92, "01555 20926", 2008),
    "F-0177": ("Ivo", "Castellane", "full", 27.3, "yellow", 104, "01555 21580", 2019),
    "F-0204": ("Sunil", "Barrowman", "full", 6.9, "white", 28, "01555 20774", 2011),
    "F-0231": ("Corin", "Tye", "full", 14.6, "yellow", 54, "01555 21092", 2016),
    "J-0033": ("Fintan", "Halloran", "junior", 32.5, "red", 140, "01555 20926", 2022),
    "J-0064": ("Liesel", "Barrowman", "junior", 18.0, "red", 143, "01555 20774", 2021),
    "W-0057": ("Tobias", "Quill", "weekday", 30.2, "yellow", 171, "01555 22318", 2020),
    "W-0102": ("Bettina", "Achar", "weekday", 17.4, "red", 166, "01555 21847", 2014),
    "W-0231": ("Gudrun", "Esser", "weekday", 22.8, "red", 189, "01555 22605", 2018),
}

# (course, day): (time, members who are booked, number of visitors booked)
_TEES = {
    ("Heron", "Saturday"): [
        ("08:00", ["F-0204", "F-0019"], 2),
        ("08:30", ["F-0088"], 0),
        ("09:10", [], 4),
    ],
    ("Heron", "Sunday"): [
        ("07:30", ["F-0204", "J-0064"], 0),
        ("07:50", ["F-0019"], 0),
        ("08:20", ["F-0145", "F-0146", "J-0033"], 0),
        ("08:50", ["F-0177"], 0),
        ("09:30", [], 3),
    ],
    ("Abbey", "Saturday"): [
        ("07:40", ["F-0145", "F-0231"], 2),
        ("08:10", ["F-0177", "F-0146"], 1),
        ("08:40", [], 2),
        ("09:20", ["J-0033"], 0),
        ("09:50", [], 0),
        ("10:30", ["F-0088"], 0),
    ],
    ("Abbey", "Wednesday"): [
        ("09:00", ["W-0102", "W-0231", "W-0057"], 0),
        ("10:10", ["F-0088"], 1),
    ],
    ("Quarry", "Friday"): [
        ("13:20", ["W-0231"], 1),
        ("14:00", ["F-0204", "F-0231"], 0),
    ],
    ("Quarry", "Sunday"): [
        ("07:50", ["F-0231"], 0),
        ("10:00", [], 4),
    ],
}

# topic: (title, coach, day, time, minutes, price, places left)
_LESSONS = {
    "beginners": [
        ("First Swings", "Marit Solberg", "Tuesday", "18:00", 90, 27.0, 4),
        ("First Swings", "Dev Rangan", "Saturday", "11:00", 90, 29.5, 1),
    ],
    "putting": [
        ("Putting Clinic", "Hugh Tarrant", "Monday", "17:15", 60, 24.0, 3),
        ("Reading Greens", "Marit Solberg", "Thursday", "09:45", 75, 30.0, 2),
    ],
    "bunker": [
        ("Out of the Sand", "Dev Rangan", "Friday", "16:30", 50, 32.5, 5),
    ],
    "driving": [
        ("Longer off the Tee", "Hugh Tarrant", "Wednesday", "18:30", 60, 35.0, 0),
    ],
    "juniors": [
        ("Junior Hour", "Marit Solberg", "Saturday", "14:00", 60, 9.0, 6),
    ],
}

# player: when: (nine holes, eighteen holes)
_FEES = {
    "adult": {"weekday": (24.0, 43.5), "weekend": (31.0, 56.0), "twilight": (17.5, 29.0)},
    "junior": {"weekday": (9.5, 16.0), "weekend": (12.5, 21.0), "twilight": (7.0, 11.5)},
    "guest": {"weekday": (18.0, 32.5), "weekend": (23.5, 42.0), "twilight": (14.0, 24.5)},
}

# month: (name, date, course, format, highest handicap, entry fee, entries close, organiser)
_COMPETITIONS = {
    "May": [
        ("Spring Medal", "10 May", "Abbey", "stroke play", 28.0, 8.5, "3 May", "F-0204"),
        ("Veterans' Plate", "21 May", "Heron", "stableford", 36.0, 7.0, "16 May", "F-0019"),
    ],
    "June": [
        ("Captain's Salver", "7 June", "Quarry", "stroke play", 24.0, 12.0, "31 May", "F-0145"),
        ("Foxglove Medal", "14 June", "Heron", "stroke play", 18.0, 9.0, "8 June", "F-0231"),
        ("Long Day Stableford", "21 June", "Abbey", "stableford", 36.0, 8.0, "15 June", "F-0088"),
        ("Gold Tee Challenge", "28 June", "Quarry", "match play", 12.0, 15.0, "20 June", "F-0204"),
    ],
    "July": [
        ("Midsummer Bowl", "5 July", "Heron", "foursomes", 30.0, 16.0, "28 June", "F-0088"),
        ("Quarrymen's Tankard", "19 July", "Quarry", "stroke play", 20.0, 10.0, "12 July", "F-0177"),
    ],
    "September": [
        ("Harvest Fourball", "6 September", "Abbey", "fourball", 36.0, 13.0, "30 August", "F-0145"),
        ("Club Championship", "20 September", "Quarry", "stroke play", 15.0, 18.0, "10 September", "F-0019"),
    ],
    "November": [
        ("Lantern Scramble", "8 November", "Heron", "scramble", 40.0, 11.75, "1 November", "F-0231"),
    ],
}
# fmt: on


def _course(text: str) -> str:
    key = text.lower()
    for name in _HOLES:
        if name.lower() in key:
            return name
    if "lower" in key:
        raise ToolError("There is no Lower Course any more: since 2021 it has been called Heron.")
    raise ToolError(f'There is no course "{text}". The courses are {", ".join(_HOLES)}.')


def _member(number: str) -> dict[str, object]:
    first, last, category, handicap, tee, locker, telephone, joined = _MEMBERS[number]
    return {
        "number": number,
        "name": f"{first} {last}",
        "category": category,
        "handicap_index": handicap,
        "home_tee": tee,
        "locker": locker,
        "telephone": telephone,
        "joined": joined,
    }


@tool
def hole_info(course: str, hole: int) -> str:
    """One hole of a course: par, stroke index, length in metres from each tee and the main hazard.

    Args:
        course: Name of the course.
        hole: Number of the hole.
    """
    name = _course(course)
    number = int(hole)
    if not 1 <= number <= 9:
        raise ToolError(
            f"The {name} course has no hole {number}: every course has holes 1 to 9. On a round of eighteen over two "
            "courses, holes 10 to 18 are holes 1 to 9 of the second course (the 10th is hole 1, the 18th is hole 9)."
        )
    par, index, white, yellow, red, hazard = _HOLES[name][number - 1]
    metres = {"white": white, "yellow": yellow, "red": red}
    return json.dumps(
        {"course": name, "hole": number, "par": par, "stroke_index": index, "metres": metres, "main_hazard": hazard}
    )


@tool
def tee_sheet(course: str, day: str) -> str:
    """The tee times of a course on one day of this week. For each time: the numbers of the members who are booked, how many visitors are booked, and how many of the four places are free.

    Args:
        course: Name of the course.
        day: Day of the week, for example Tuesday.
    """
    name = _course(course)
    short = day.strip().lower().rstrip(".")
    found = [full for full in _DAYS if len(short) > 2 and (full.lower().startswith(short) or full.lower() in short)]
    if len(found) != 1:
        raise ToolError(
            f'"{day}" is not a day of the week. Give one day, Monday to Sunday; the sheet covers this week.'
        )
    times = [
        {"time": time, "members": members, "visitors": visitors, "free": 4 - len(members) - visitors}
        for time, members, visitors in _TEES.get((name, found[0]), [])
    ]
    answer: dict[str, object] = {"course": name, "day": found[0], "times": times}
    if not times:
        answer["note"] = "nothing booked, all times free"
    return json.dumps(answer)


@tool
def member_lookup(member: str) -> str:
    """Find members by surname or member number: name, category, handicap index, home tee, locker, telephone and year of joining.

    Args:
        member: Surname or member number.
    """
    key = member.strip()
    if re.search(r"\d", key):
        number = key.upper()
        if not re.fullmatch(r"[FWJ]-\d{4}", number):
            raise ToolError(
                f'"{member}" is not a complete member number. It is the letter of the category (F full, W weekday, '
                "J junior), a hyphen and four digits: junior member 64 is J-0064."
            )
        if number not in _MEMBERS:
            raise ToolError(f"There is no member {number}. You can also search by surname.")
        return json.dumps(_member(number))
    words = re.findall(r"[a-z]+", key.lower())
    found = [_member(number) for number, data in _MEMBERS.items() if data[1].lower() in words]
    if not found:
        raise ToolError(
            f'No member has the surname "{member}". Give the surname as written on the card, or the number.'
        )
    return json.dumps(found)


@tool
def lessons(topic: str) -> str:
    """Group lessons on one topic, with coach, day, time, minutes, price per person and places left.

    Args:
        topic: One of beginners, putting, bunker, driving, juniors.
    """
    key = topic.strip().lower().rstrip("s")
    for name, rows in _LESSONS.items():
        if len(key) > 2 and (name.rstrip("s") in key or name.startswith(key)):
            keys = ("title", "coach", "day", "time", "minutes", "price_gbp", "places_left")
            return json.dumps([dict(zip(keys, row, strict=True)) for row in rows])
    raise ToolError(f'There are no lessons on "{topic}". The topics are {", ".join(_LESSONS)}.')


@tool
def green_fee(player: str, when: str) -> str:
    """Green fees in GBP for people who are not members, for nine and for eighteen holes.

    Args:
        player: adult, junior (under 18) or guest (adult who plays together with a member).
        when: weekday, weekend or twilight (any day after 17:00).
    """
    who, time = player.strip().lower(), when.strip().lower()
    if who not in _FEES:
        raise ToolError(f'There is no green fee for "{player}". Use adult, junior or guest.')
    if time not in _FEES[who]:
        raise ToolError(f'"{when}" is not a time with a fee of its own. Use weekday, weekend or twilight.')
    nine, eighteen = _FEES[who][time]
    return json.dumps({"player": who, "when": time, "nine_holes": nine, "eighteen_holes": eighteen, "currency": "GBP"})


@tool
def competitions(month: str) -> str:
    """The competitions of one month: date, course, format, highest handicap index allowed, entry fee in GBP, last day for entries and the organiser's member number.

    Args:
        month: Name of the month, for example March.
    """
    short = month.strip().lower().rstrip(".")
    found = [name for name in _MONTHS if len(short) > 2 and (name.lower().startswith(short) or name.lower() in short)]
    if len(found) != 1:
        raise ToolError(f'"{month}" is not the name of a month. Write it out, January to December.')
    keys = ("name", "date", "course", "format", "max_handicap", "entry_fee", "entries_close", "organiser")
    rows = [dict(zip(keys, row, strict=True)) for row in _COMPETITIONS.get(found[0], [])]
    return json.dumps({"month": found[0], "competitions": rows})


def tools() -> list[Tool]:
    return [hole_info, tee_sheet, member_lookup, lessons, green_fee, competitions]
