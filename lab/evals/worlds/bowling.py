"""A bowling alley on two floors: prices by the game and by the lane, lanes, bookings, players, leagues, parties. All data is invented."""
# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

import json
import re

from treadle import Tool, ToolError, tool

# fmt: off
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_WHEN = "daytime (Monday to Friday before 17:00), evening (Monday to Thursday from 17:00) or weekend (Friday from 17:00 to Sunday)"

# player: when: price of one game
_GAMES = {
    "adult": {"daytime": 6.2, "evening": 7.8, "weekend": 8.9},
    "student": {"daytime": 5.1, "evening": 6.4, "weekend": 7.35},
    "child": {"daytime": 4.3, "evening": 5.2, "weekend": 5.7},
    "senior": {"daytime": 4.6, "evening": 6.6, "weekend": 7.9},
}

# when: (price of an hour, deposit)
_HIRE = {"daytime": (26.0, 10.0), "evening": (34.5, 15.0), "weekend": (42.0, 20.0)}

# lane: (state, oil pattern, bumpers, wheelchair ramp, last service)
_LANES = {
    "G-01": ("open", "House Blend", True, True, "3 June"),
    "G-02": ("open", "House Blend", True, True, "3 June"),
    "G-03": ("open", "Slate", True, False, "28 May"),
    "G-04": ("open", "House Blend", True, False, "28 May"),
    "G-05": ("open", "Copperhead", False, False, "19 May"),
    "G-06": ("out of order until 20 June", "Copperhead", False, False, "19 May"),
    "G-07": ("open", "Long Meadow", False, False, "22 May"),
    "G-08": ("open", "Long Meadow", False, False, "26 May"),
    "U-01": ("open", "Slate", True, True, "5 June"),
    "U-02": ("open", "Slate", True, False, "5 June"),
    "U-03": ("open", "Wolverine", False, False, "30 May"),
    "U-04": ("out of order until 17 June", "Wolverine", False, False, "11 April"),
    "U-05": ("open", "Copperhead", False, False, "1 June"),
    "U-06": ("open", "Long Meadow", False, False, "1 June"),
}

# day: (time, lane, name, people, hours, player card of whoever booked)
_BOOKINGS = {
    "Monday": [("18:00", "G-05", "Monday Mixed league", 12, 3, "20417")],
    "Tuesday": [
        ("10:30", "G-01", "Sunnyside Nursery", 9, 1, "20688"),
        ("19:00", "U-06", "Ferreira", 4, 2, "20552"),
    ],
    "Wednesday": [("20:00", "U-02", "Brannigan", 5, 1, "20733")],
    "Thursday": [
        ("17:30", "G-04", "Hollis", 6, 1, "20391"),
        ("19:00", "U-05", "Thursday Open league", 16, 3, "20115"),
        ("19:30", "G-08", "Brannigan", 3, 2, "20733"),
    ],
    "Friday": [
        ("18:00", "G-02", "Pettifer", 7, 2, "20266"),
        ("20:30", "G-07", "Ferreira", 5, 1, "20552"),
        ("20:30", "U-01", "Dockside Dental", 6, 2, "20840"),
    ],
    "Saturday": [
        ("11:00", "G-01", "Amelia's birthday", 8, 2, "20391"),
        ("14:30", "G-03", "Zielinski", 4, 1, "20115"),
        ("16:00", "U-02", "St Brice Scouts", 11, 2, "20688"),
        ("18:30", "G-08", "Okafor", 6, 2, "20604"),
        ("20:00", "U-05", "Hendry's stag night", 9, 3, "20266"),
    ],
    "Sunday": [("15:00", "G-02", "Hollis", 5, 1, "20391")],
}

# card: (first name, surname, team, average, highest game, shoe size, ball in pounds, telephone)
_PLAYERS = {
    "20115": ("Marek", "Zielinski", "Alley Cats", 187, 268, 44, 15, "01632 55108"),
    "20266": ("Joan", "Pettifer", "Spare Parts", 149, 203, 39, 11, "01632 55734"),
    "20391": ("Graham", "Hollis", "Split Happens", 161, 224, 43, 14, "01632 55290"),
    "20417": ("Delphine", "Arkwright", "Pin Pals", 178, 247, 40, 12, "01632 55461"),
    "20552": ("Luis", "Ferreira", "Gutter Gang", 142, 198, 42, 13, "01632 55917"),
    "20604": ("Chidi", "Okafor", "Alley Cats", 172, 239, 46, 16, "01632 55382"),
    "20605": ("Ngozi", "Okafor", "Spare Parts", 155, 211, 38, 10, "01632 55382"),
    "20688": ("Harriet", "Lumley", "Gutter Gang", 133, 176, 37, 9, "01632 55063"),
    "20733": ("Sean", "Brannigan", "Split Happens", 166, 231, 45, 15, "01632 55849"),
    "20840": ("Yasmin", "Dar", "Turkey Club", 158, 219, 36, 10, "01632 55625"),
}

# league: (team, matches played, points, pins, card of the captain)
_LEAGUES = {
    "Monday Mixed": [
        ("Pin Pals", 14, 47, 21904, "20417"),
        ("Spare Parts", 14, 43, 21377, "20266"),
        ("Split Happens", 13, 38, 19965, "20391"),
        ("Gutter Gang", 14, 22, 18840, "20688"),
    ],
    "Thursday Open": [
        ("Alley Cats", 16, 58, 27310, "20115"),
        ("Turkey Club", 16, 51, 26188, "20840"),
        ("Split Happens", 15, 36, 24402, "20733"),
        ("Gutter Gang", 16, 29, 23755, "20552"),
    ],
}

# occasion: (package, fewest people, price per person, minutes, what is included)
_PARTIES = {
    "birthday": [
        ("Little Skittles", 6, 14.5, 90, "one game, juice, cake"),
        ("Strike Stars", 8, 18.0, 120, "two games, pizza, juice"),
        ("Glow Galaxy", 10, 22.5, 150, "two games in black light, pizza, disco"),
    ],
    "company": [
        ("After Work", 8, 24.0, 120, "two games, finger food"),
        ("Full House", 16, 36.5, 180, "three games, buffet, prize for the best team"),
    ],
    "hen or stag": [("Last Frame", 6, 29.0, 165, "two games, burger, one cocktail each")],
}
# fmt: on


def _when(text: str) -> str:
    key = text.strip().lower()
    if key not in _HIRE:
        raise ToolError(f'"{text}" is not a time with a price of its own. Use {_WHEN}.')
    return key


def _player(card: str) -> dict[str, object]:
    first, last, team, average, high, shoe, ball, telephone = _PLAYERS[card]
    return {
        "card": card,
        "name": f"{first} {last}",
        "team": team,
        "average": average,
        "highest_game": high,
        "shoe_size": shoe,
        "ball_lb": ball,
        "telephone": telephone,
    }


@tool
def game_price(player: str, when: str) -> str:
    """Price in GBP of one game for one person, when people pay by the game.

    Args:
        player: adult, student, child (under 14) or senior (65 and over).
        when: daytime (Monday to Friday before 17:00), evening (Monday to Thursday from 17:00) or weekend (Friday from 17:00 to Sunday).
    """
    who, time = player.strip().lower(), _when(when)
    if who not in _GAMES:
        raise ToolError(f'There is no price for "{player}". Use adult, student, child or senior.')
    return json.dumps({"player": who, "when": time, "price_per_game": _GAMES[who][time], "currency": "GBP"})


@tool
def lane_hire(when: str) -> str:
    """Price in GBP of a whole lane for one hour, whatever the number of people and games, and the deposit.

    Args:
        when: daytime (Monday to Friday before 17:00), evening (Monday to Thursday from 17:00) or weekend (Friday from 17:00 to Sunday).
    """
    time = _when(when)
    price, deposit = _HIRE[time]
    return json.dumps({"when": time, "price_per_hour": price, "deposit": deposit, "currency": "GBP"})


@tool
def lane_info(lane: str) -> str:
    """One lane: whether it is open, its oil pattern, bumpers, wheelchair ramp and the day of its last service.

    Args:
        lane: The lane.
    """
    key = lane.upper().replace("LANE", "").strip()
    if not re.fullmatch(r"[A-Z]-\d\d", key):
        raise ToolError(
            f'"{lane}" is not a complete lane. It is the letter of the floor (G ground floor, U upstairs), a hyphen and '
            "two digits: lane 2 on the ground floor is G-02."
        )
    if key not in _LANES:
        raise ToolError(f"There is no lane {key}. The lanes are G-01 to G-08 and U-01 to U-06.")
    state, oil, bumpers, ramp, service = _LANES[key]
    return json.dumps(
        {
            "lane": key,
            "state": state,
            "oil_pattern": oil,
            "bumpers": bumpers,
            "wheelchair_ramp": ramp,
            "last_service": service,
        }
    )


@tool
def bookings(day: str) -> str:
    """The bookings of one day of this week: time, lane, name, number of people, hours, and the player card of whoever booked.

    Args:
        day: The day.
    """
    key = day.strip().lower().rstrip(".")
    found = [name for name in _DAYS if len(key) > 2 and (name.lower().startswith(key) or name.lower() in key)]
    if len(found) != 1:
        dates = ", ".join(f"{name} is {number} June" for number, name in enumerate(_DAYS, 9))
        raise ToolError(f'"{day}" is not a day of the week. Give the name of one day of this week: {dates}.')
    keys = ("time", "lane", "name", "people", "hours", "booked_by_card")
    return json.dumps({"day": found[0], "bookings": [dict(zip(keys, row, strict=True)) for row in _BOOKINGS[found[0]]]})


@tool
def player_lookup(player: str) -> str:
    """Find players by surname or by the number of their player card: name, team, average, highest game, shoe size, weight of the ball in pounds, telephone.

    Args:
        player: Surname or card number.
    """
    key = player.strip()
    digits = re.search(r"\d+", key)
    if digits:
        if digits.group() not in _PLAYERS:
            raise ToolError(f'There is no player card "{player}". A card number has five digits.')
        return json.dumps(_player(digits.group()))
    words = re.findall(r"[a-z]+", key.lower())
    found = [_player(card) for card, data in _PLAYERS.items() if data[1].lower() in words]
    if not found:
        raise ToolError(f'No player has the surname "{player}". Give the surname or the card number.')
    return json.dumps(found)


@tool
def league_table(league: str) -> str:
    """The table of a league, best team first: matches played, points, pins, and the player card of the captain.

    Args:
        league: Monday Mixed or Thursday Open.
    """
    key = league.strip().lower()
    for name, rows in _LEAGUES.items():
        if len(key) > 3 and any(word in key for word in name.lower().split()):
            keys = ("team", "played", "points", "pins", "captain_card")
            table = [{"place": place, **dict(zip(keys, row, strict=True))} for place, row in enumerate(rows, 1)]
            return json.dumps({"league": name, "table": table})
    raise ToolError(f'There is no league "{league}". The leagues are {" and ".join(_LEAGUES)}.')


@tool
def party_packages(occasion: str) -> str:
    """Packages for parties: fewest people, price per person in GBP, minutes and what is included.

    Args:
        occasion: birthday, company, or hen or stag.
    """
    key = occasion.strip().lower()
    for name, rows in _PARTIES.items():
        if any(re.search(rf"\b{word}\b", key) for word in name.split() if word != "or"):
            keys = ("package", "fewest_people", "price_per_person", "minutes", "included")
            return json.dumps({"occasion": name, "packages": [dict(zip(keys, row, strict=True)) for row in rows]})
    raise ToolError(f'There are no packages for "{occasion}". Use birthday, company, or hen or stag.')


def tools() -> list[Tool]:
    return [game_price, lane_hire, lane_info, bookings, player_lookup, league_table, party_packages]
