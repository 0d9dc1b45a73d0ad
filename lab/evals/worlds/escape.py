"""A company with several escape rooms: rooms, sheets, slots, bookings, prices. All data is invented."""
# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

import json
import re

from treadle import Tool, ToolError, tool

# fmt: off
_BRANCHES = ("Harbourside", "Northgate", "Old Mill")

# code: (title, branch, band, minutes, fewest, most, age, difficulty, game master, hints, escape rate, wheelchair, best times)
_ROOMS = {
    "HS1": ("The Drowned Chapel", "Harbourside", "grand", 75, 3, 7, 14, "hard", "Tomasz Wilk", 4, 31, "no",
            [("Salt and Pepper", "68:20"), ("Rusty Keys", "63:44"), ("Low Tide", "70:02")]),
    "HS2": ("Smuggler's Cellar", "Harbourside", "basic", 60, 2, 5, 10, "easy", "Hanneke Bruin", 6, 72, "no",
            [("Low Tide", "38:15"), ("The Parrots", "40:51"), ("Cousins United", "42:09")]),
    "HS3": ("Signal Station Nine", "Harbourside", "plus", 60, 2, 6, 12, "medium", "Priyanka Bose", 5, 54, "yes",
            [("Dot and Dash", "47:30"), ("Salt and Pepper", "49:12"), ("Team Lantern", "46:58")]),
    "NG1": ("The Clockmaker's Attic", "Northgate", "plus", 60, 2, 6, 10, "medium", "Emeka Sule", 5, 58, "no",
            [("Rusty Keys", "44:10"), ("The Odd Socks", "39:52"), ("Team Lantern", "41:36")]),
    "NG2": ("Night Train to Odrava", "Northgate", "grand", 90, 4, 8, 14, "hard", "Lisbet Aune", 3, 27, "yes",
            [("The Conductors", "84:31"), ("Dot and Dash", "86:05"), ("Rusty Keys", "81:47")]),
    "NG3": ("Professor Quill's Laboratory", "Northgate", "basic", 45, 2, 5, 8, "easy", "Emeka Sule", 7, 81, "yes",
            [("Cousins United", "29:40"), ("Class 4B", "33:18"), ("The Parrots", "31:27")]),
    "OM1": ("The Miller's Curse", "Old Mill", "plus", 60, 3, 6, 12, "hard", "Gwen Tarrant", 4, 35, "no",
            [("Flour Power", "55:06"), ("The Odd Socks", "53:49"), ("Low Tide", "57:13")]),
    "OM2": ("Honey and Venom", "Old Mill", "basic", 60, 2, 4, 10, "medium", "Jonas Reiter", 5, 61, "yes",
            [("Beeline", "43:22"), ("Flour Power", "45:08"), ("Two of Us", "48:55")]),
    "OM3": ("Vault of the Magpie", "Old Mill", "grand", 75, 3, 7, 12, "medium", "Gwen Tarrant", 4, 46, "yes",
            [("Salt and Pepper", "59:17"), ("Team Lantern", "61:03"), ("The Conductors", "60:38")]),
}

_PRICES = {
    "basic": {2: 58, 3: 75, 4: 92, 5: 105},
    "plus": {2: 66, 3: 87, 4: 108, 5: 125, 6: 141},
    "grand": {3: 111, 4: 138, 5: 160, 6: 183, 7: 203, 8: 222},
}

# reference: (team, contact, room, day, time, players, deposit)
_BOOKINGS = {
    "HS-5127": ("The Lost Umbrellas", "Dagny Poole", "HS1", "Friday", "18:30", 5, 40.0),
    "HS-5140": ("Cousins United", "Marlon Quist", "HS2", "Sunday", "11:15", 4, 25.0),
    "NG-2046": ("Accounts Receivable", "Yusra Haddad", "NG2", "Saturday", "20:00", 6, 50.0),
    "NG-2051": ("Class 4B", "Mr. Ellery Banks", "NG3", "Tuesday", "10:00", 5, 30.0),
    "OM-3390": ("Beeline", "Kasper Lind", "OM2", "Thursday", "17:00", 3, 22.5),
    "OM-4418": ("The Night Owls", "Rosalind Achebe", "OM3", "Sunday", "19:45", 7, 60.0),
}

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TIMES = {
    "Harbourside": ("11:15", "13:45", "16:15", "18:30", "20:45"),
    "Northgate": ("10:00", "12:15", "15:00", "17:30", "20:00"),
    "Old Mill": ("10:30", "12:30", "15:15", "17:00", "19:45"),
}
# the plan of the days that differ from the usual one: (language, state) of each start
_PLAN = {
    ("OM1", "Sunday"): (("English", "taken"), ("English", "taken"), ("English", "free"), ("English", "taken"), ("English", "free")),
    ("OM3", "Thursday"): (("English", "free"), ("Spanish", "taken"), ("English", "taken"), ("English", "free"), ("Spanish", "free")),
}
# fmt: on


@tool
def rooms_at(branch: str) -> str:
    """The escape rooms of one branch as a table: code, title, number of players, minimum age, minutes and difficulty.

    Args:
        branch: Harbourside, Northgate or Old Mill.
    """
    wanted = re.sub(r"[^a-z]", "", branch.lower())
    for name in _BRANCHES:
        if wanted == name.replace(" ", "").lower():
            lines = ["| code | title | players | age from | minutes | difficulty |", "|---|---|---|---|---|---|"]
            for code, room in _ROOMS.items():
                if room[1] == name:
                    lines.append(f"| {code} | {room[0]} | {room[4]}-{room[5]} | {room[6]} | {room[3]} | {room[7]} |")
            return "\n".join(lines)
    raise ToolError(f'There is no branch "{branch}". The branches are {", ".join(_BRANCHES)}.')


@tool
def room_sheet(room: str) -> str:
    """The sheet of one escape room: branch, price band, game master, hints, escape rate, wheelchair access and the best times of teams.

    Args:
        room: The room.
    """
    code = room.strip().upper()
    if code not in _ROOMS:
        codes = ", ".join(f"{key} = {data[0]}" for key, data in _ROOMS.items())
        raise ToolError(f'No sheet under "{room}". Sheets are filed by room code: {codes}.')
    title, branch, band, _minutes, _fewest, _most, _age, _level, master, hints, rate, wheels, best = _ROOMS[code]
    lines = [
        f"room: {code} {title}",
        f"branch: {branch}",
        f"price band: {band}",
        f"game master: {master}",
        f"hints per game: {hints}",
        f"teams that get out: {rate} %",
        f"wheelchair access: {wheels}",
        "times of note (min:sec): " + "; ".join(f"{team} {time}" for team, time in best),
    ]
    return "\n".join(lines)


@tool
def free_slots(room_code: str, day: str) -> str:
    """The starting times of a room on one day of the week, each with the language of the game and whether it is free or taken.

    Args:
        room_code: Code of the room, for example HS2.
        day: Day of the week, for example Wednesday.
    """
    code = room_code.strip().upper()
    if code not in _ROOMS:
        raise ToolError(
            f'There is no room code "{room_code}". Codes are {", ".join(_ROOMS)}; rooms_at shows the titles.'
        )
    found = [
        name for name in _DAYS if len(day.strip()) > 2 and name.lower().startswith(day.strip().lower().rstrip("s."))
    ]
    if len(found) != 1:
        raise ToolError(f'"{day}" is not a day of the week. Give one day, Monday to Sunday.')
    times = _TIMES[_ROOMS[code][1]]
    start = list(_ROOMS).index(code) * 3 + _DAYS.index(found[0]) * 2
    usual = tuple(("English", "taken" if (start + n * n) % 3 == 0 else "free") for n in range(len(times)))
    plan = _PLAN.get((code, found[0]), usual)
    slots = [
        {"start": time, "language": language, "state": state}
        for time, (language, state) in zip(times, plan, strict=False)
    ]
    return json.dumps({"room": code, "day": found[0], "slots": slots})


@tool
def booking(reference: str) -> str:
    """What was booked under a reference: team, contact person, room, day, time, players and deposit paid.

    Args:
        reference: Booking reference.
    """
    key = reference.strip().upper().lstrip("#")
    if not re.fullmatch(r"[A-Z]{2}-\d{4}", key):
        raise ToolError(
            f'"{reference}" is not a complete reference. It has the letters of the branch in front of the four digits: '
            "HS- for Harbourside, NG- for Northgate, OM- for Old Mill."
        )
    if key not in _BOOKINGS:
        raise ToolError(f"Nothing is booked under {key}. Please check the branch letters and the digits.")
    team, contact, room, day, time, players, deposit = _BOOKINGS[key]
    return (
        f'{key} is for the team "{team}", booked by {contact}. They play room {room} on {day} at {time} '
        f"with {players} players. A deposit of {deposit:.2f} EUR has been paid."
    )


@tool
def group_price(band: str, players: int) -> str:
    """Full price of one game for a whole team.

    Args:
        band: Price band of the room.
        players: Number of players in the team.
    """
    key = band.strip().lower()
    if key not in _PRICES:
        raise ToolError(
            f'There is no price band "{band}". The bands are basic, plus and grand; grand was called premium until last year.'
        )
    if players not in _PRICES[key]:
        sizes = list(_PRICES[key])
        raise ToolError(f"The {key} band is for teams of {sizes[0]} to {sizes[-1]} players.")
    return f"One game in the {key} band costs {_PRICES[key][players]}.00 EUR for a team of {players}."


def tools() -> list[Tool]:
    return [rooms_at, room_sheet, free_slots, booking, group_price]
