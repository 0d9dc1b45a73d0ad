"""The karaoke bar: songs, private rooms, bookings, queues and the menu. All of it is made up."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from treadle import Tool, ToolError, tool

SONGS = {
    2011: ("Paper Moon Taxi", "Copper Foxes", "English", "3:42", "G major", "solo", 1998),
    2012: ("Sunday Shoes", "Copper Foxes", "English", "4:05", "D major", "solo", 2003),
    2013: ("Left on Alder Street", "Copper Foxes", "English", "3:18", "A minor", "solo", 2001),
    2027: ("Die letzte Laterne", "Anneliese Vogtmann", "German", "3:55", "C minor", "solo", 1979),
    2034: ("Cerca del muelle", "Marisol y Tadeo", "Spanish", "4:21", "E minor", "duet", 1987),
    2040: ("Kites over Kelmarsh", "Ivy Trelawn", "English", "2:58", "F major", "solo", 2015),
    2041: ("Hold the Umbrella", "Ivy Trelawn", "English", "3:33", "B flat major", "duet", 2017),
    2056: ("Midnight Marmalade", "Velvet Tractors", "English", "5:10", "E major", "solo", 1984),
    2057: ("Midnight Ferry", "Lonnie Oakes", "English", "4:47", "D minor", "solo", 1972),
    2063: ("Plastic Tulips", "Sabine Roeland", "Dutch", "3:09", "A major", "solo", 1994),
    2070: ("Ninety-Nine Pigeons", "Brass Pyjamas", "English", "3:27", "C major", "solo", 2008),
    2071: ("Your Mother's Caravan", "Brass Pyjamas", "English", "3:51", "G major", "solo", 2010),
    2082: ("Two Spoons, One Soup", "Nell and Barnaby", "English", "3:26", "F major", "duet", 1966),
    2090: ("Piove sul tram", "Gianni Sorbello", "Italian", "4:12", "B minor", "solo", 1982),
    2101: ("Goodnight, Number Seven", "Lonnie Oakes", "English", "4:30", "E flat major", "solo", 1975),
}
"""Song number: title, artist, language, length, key, solo or duet, year."""

ROOMS = {
    "Lantern": ("on the ground floor", 6, 24, 32, 2, "a disco ball"),
    "Tiger": ("on the ground floor", 10, 36, 46, 3, "a small stage"),
    "Moonlight": ("upstairs", 4, 18, 25, 2, "a sofa"),
    "Velvet": ("upstairs", 8, 30, 39, 3, "a balcony"),
    "Jukebox": ("in the basement", 14, 48, 62, 4, "a smoke machine"),
    "Aquarium": ("in the basement", 20, 66, 84, 5, "its own bar"),
}
"""Room: where, people, price per hour Monday to Thursday, Friday to Sunday, microphones, extra."""

BOOKINGS = {
    "KB4471": ("Petra Aldous", "Tiger", "2026-05-08", 20, 3, 9, 40),
    "KB4472": ("Imran Sheikh", "Lantern", "2026-05-08", 19, 2, 5, 20),
    "KB4475": ("Marbury Rowing Club", "Jukebox", "2026-05-08", 21, 3, 13, 60),
    "KB4478": ("Dolores Quint", "Aquarium", "2026-05-08", 18, 4, 18, 80),
    "KB4480": ("Wim Haverkort", "Velvet", "2026-05-08", 20, 2, 7, 30),
    "KB4483": ("Jess Okafor", "Moonlight", "2026-05-08", 21, 2, 3, 15),
    "KB4490": ("Saskia Thornby", "Velvet", "2026-05-09", 19, 3, 8, 30),
    "KB4492": ("Castle Dental Practice", "Aquarium", "2026-05-09", 20, 4, 16, 80),
    "KB4493": ("Nadia Fournel", "Tiger", "2026-05-09", 18, 2, 10, 40),
    "KB4497": ("Colm Drury", "Moonlight", "2026-05-13", 18, 2, 4, 15),
    "KB4499": ("Yusuf Demirel", "Jukebox", "2026-05-14", 19, 3, 12, 60),
}
"""Reference: name, room, day, first hour, hours, guests, deposit."""

QUEUES: dict[str, list[int]] = {
    "Lantern": [2011, 2057],
    "Tiger": [2082, 2070, 2040],
    "Moonlight": [],
    "Velvet": [2034],
    "Jukebox": [2056, 2013, 2101, 2027],
    "Aquarium": [2071, 2041],
}

MENU = {
    "House Lager": (4.20, 14.80),
    "Plum Soda": (3.40, 11.90),
    "Iced Tea": (3.60, 12.40),
    "Ginger Mule": (8.60, 29.00),
    "Lychee Fizz": (None, 19.50),
    "Crispy Dumplings": (7.80, 21.60),
    "Sweet Potato Fries": (5.50, 13.20),
    "Popcorn": (3.10, 6.90),
}
"""Item: price of a single one, price of a sharing one."""


def _words(text: str) -> str:
    kept = "".join(char if char.isalnum() else " " for char in text.casefold().replace("'", "").replace("\u2019", ""))
    return " ".join(kept.split())


def _room(name: str) -> str:
    words = [word for word in _words(name).split() if word not in ("the", "room")]
    for room in ROOMS:
        if words == [room.casefold()]:
            return room
    raise ToolError(f"There is no room {name!r}. The rooms are {', '.join(ROOMS)}.")


def _song(number: int) -> tuple[str, str, str, str, str, str, int]:
    if number not in SONGS:
        raise ToolError(f"There is no song with the number {number}. search_songs finds the number.")
    return SONGS[number]


def _day(date: str) -> str:
    try:
        return datetime.strptime(date.strip(), "%Y-%m-%d").date().isoformat()
    except ValueError:
        raise ToolError(f"Cannot read the date {date!r}. It has to be YYYY-MM-DD.") from None


@tool(effect="pure")
def search_songs(text: str, by: Literal["title", "artist"] = "title") -> str:
    """Search the song book. Returns number, title and artist of the songs found.

    Args:
        text: what to look for, a part is enough
        by: search in the titles or in the artists' names
    """
    wanted = _words(text)
    column = 0 if by == "title" else 1
    found = [
        f"{number}: {song[0]} - {song[1]}"
        for number, song in SONGS.items()
        if wanted and wanted in _words(song[column])
    ]
    if found:
        return "\n".join(found)
    if by == "title":
        raise ToolError(f"No song title contains {text!r}. If it is the name of an artist, search with by='artist'.")
    if wanted.startswith("the "):
        raise ToolError(f"No artist {text!r}. Artists are listed without 'The': search for {text.strip()[4:]!r}.")
    raise ToolError(f"No artist {text!r}. Try a part of the name.")


@tool(effect="pure")
def song_details(song_number: int) -> str:
    """Everything the song book says about a song: title, artist, language, length, key, solo or duet, year.

    Args:
        song_number: number in the song book
    """
    title, artist, language, length, key, voices, year = _song(song_number)
    return f"{song_number}: {title} - {artist}; {language}; {length} min; {key}; {voices}; {year}"


@tool(effect="pure")
def room_info(room: str) -> str:
    """Describe a private room: where it is, for how many people, price per hour, microphones, extras.

    Args:
        room: name of the room
    """
    name = _room(room)
    place, people, week, weekend, microphones, extra = ROOMS[name]
    return (
        f"{name}: {place}, up to {people} people, {week} EUR per hour Monday to Thursday, "
        f"{weekend} EUR per hour Friday to Sunday, {microphones} microphones, has {extra}"
    )


@tool(effect="pure")
def free_rooms(date: str, time: str) -> str:
    """List the rooms that are not taken at a given moment.

    Args:
        date: YYYY-MM-DD
        time: 24-hour clock, HH:MM
    """
    day = _day(date)
    try:
        moment = datetime.strptime(time.strip(), "%H:%M")
    except ValueError:
        raise ToolError(f"Cannot read the time {time!r}. It has to be HH:MM, as in 18:00.") from None
    hour = moment.hour + moment.minute / 60
    taken = {
        room
        for _, room, booked, start, hours, _, _ in BOOKINGS.values()
        if booked == day and start <= hour < start + hours
    }
    return "free: " + (", ".join(room for room in ROOMS if room not in taken) or "none")


@tool(effect="pure")
def booking_details(reference: str) -> str:
    """Look up a booking: name, room, day and time, number of guests, deposit.

    Args:
        reference: the booking reference
    """
    key = "".join(char for char in reference.upper() if char.isalnum())
    if key.isdigit():
        raise ToolError(f"{reference!r} is not a complete reference. References begin with KB: write KB-{key}.")
    if key not in BOOKINGS:
        raise ToolError(f"There is no booking {reference!r}.")
    name, room, day, start, hours, guests, deposit = BOOKINGS[key]
    weekday = datetime.strptime(day, "%Y-%m-%d").strftime("%A")
    return (
        f"KB-{key[2:]}: {name}, room {room}, {weekday} {day}, {start}:00 to {start + hours}:00, "
        f"{guests} guests, deposit {deposit} EUR"
    )


@tool(effect="pure")
def menu_price(item: str, size: Literal["single", "sharing"] = "single") -> str:
    """Price of a drink or snack.

    Args:
        item: name on the menu
        size: single is a glass or a plate, sharing is a jug or a platter
    """
    wanted = _words(item)
    found = [name for name in MENU if wanted and (wanted in _words(name) or _words(name) in wanted)]
    if not found:
        raise ToolError(f"{item!r} is not on the menu. The menu has {', '.join(MENU)}.")
    single, sharing = MENU[found[0]]
    price = single if size == "single" else sharing
    if price is None:
        raise ToolError(f"{found[0]} is not sold by the glass, only by the jug: ask for size='sharing'.")
    return f"{found[0]} ({size}): {price:.2f} EUR"


@tool(effect="pure")
def room_queue(room: str) -> str:
    """Show the songs waiting to be sung in a room now, the next one first.

    Args:
        room: name of the room
    """
    name = _room(room)
    lines = [f"{place}. {SONGS[number][0]} ({number})" for place, number in enumerate(QUEUES[name], 1)]
    return "\n".join(lines) or f"No songs waiting in {name}."


@tool(effect="idempotent")
def queue_song(room: str, song_number: int) -> str:
    """Put a song at the end of a room's queue.

    Args:
        room: name of the room
        song_number: number in the song book
    """
    name = _room(room)
    title = _song(song_number)[0]
    return f"Added {title} ({song_number}) to the queue of {name} at place {len(QUEUES[name]) + 1}."


def tools() -> list[Tool]:
    return [
        search_songs,
        song_details,
        room_info,
        free_rooms,
        booking_details,
        menu_price,
        room_queue,
        queue_song,
    ]
