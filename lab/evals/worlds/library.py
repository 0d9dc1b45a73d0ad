"""The public libraries of Corran Vale: books, copies, loans, readers, branches and events. All of it is made up.

treadle eval lab/evals/later/library.jsonl --tools lab/evals/worlds/library.py:tools --tools calculator
"""

from __future__ import annotations

import difflib
import re

from world_kit import row

from treadle import Tool, ToolError, tool

BOOKS = {
    "B-1042": ("The Heron Clock", "Ilse Varnam", 1997, 312, "FIC VAR"),
    "B-1057": ("A Field Guide to Quiet", "Tobias Merrow", 2011, 208, "128 MER"),
    "B-1063": ("Salt Ledger", "Ilse Varnam", 2004, 276, "FIC VAR"),
    "B-1078": ("The Orchard Under Glass", "Priya Sandoval", 2019, 344, "FIC SAN"),
    "B-1085": ("Bread Without Hurry", "Colm Aldous", 2016, 192, "641.8 ALD"),
    "B-1091": ("Nine Bridges to Karsk", "Mirek Dolan", 1988, 421, "FIC DOL"),
    "B-1104": ("The Lamplighter's Arithmetic", "Mirek Dolan", 1993, 388, "FIC DOL"),
    "B-1119": ("Small Boats, Long Winters", "Astrid Keel", 2008, 254, "FIC KEE"),
    "B-1126": ("Mending Clocks at Home", "Harriet Oyelaran", 2020, 160, "681.1 OYE"),
    "B-1133": ("The Glass Ferryman", "Priya Sandoval", 2022, 298, "FIC SAN"),
    "B-1148": ("Moss and Lichen of the Vale", "Astrid Keel", 2014, 226, "579.7 KEE"),
}
"""Id: title, author, year, pages, shelf mark."""

COPIES = {
    "C-20371": ("B-1042", "Central", "on loan"),
    "C-20372": ("B-1042", "Fernhill", "on the shelf"),
    "C-20380": ("B-1057", "Central", "on the shelf"),
    "C-20387": ("B-1063", "Central", "on the shelf"),
    "C-20388": ("B-1063", "Northgate", "in repair"),
    "C-20389": ("B-1063", "Northgate", "on the shelf"),
    "C-20395": ("B-1078", "Saltings", "on loan"),
    "C-20402": ("B-1085", "Fernhill", "on loan"),
    "C-20403": ("B-1085", "Central", "on the shelf"),
    "C-20409": ("B-1091", "Northgate", "on loan"),
    "C-20417": ("B-1104", "Central", "on loan"),
    "C-20424": ("B-1119", "Tannery Yard", "on loan"),
    "C-20425": ("B-1119", "Central", "on loan"),
    "C-20431": ("B-1126", "Tannery Yard", "on the shelf"),
    "C-20438": ("B-1133", "Central", "on loan"),
    "C-20439": ("B-1133", "Saltings", "on the shelf"),
    "C-20440": ("B-1133", "Northgate", "in repair"),
    "C-20446": ("B-1148", "Fernhill", "on the shelf"),
}
"""Barcode: book, branch, state."""

LOANS = {
    "C-20371": ("K-004471", "2026-03-05", "2026-04-23", 1),
    "C-20395": ("K-004498", "2026-03-24", "2026-04-21", 0),
    "C-20402": ("K-004533", "2026-02-18", "2026-04-29", 2),
    "C-20409": ("K-004512", "2026-03-30", "2026-04-27", 0),
    "C-20417": ("K-004471", "2026-03-17", "2026-05-19", 1),
    "C-20424": ("K-004540", "2026-03-26", "2026-04-24", 0),
    "C-20425": ("K-004525", "2026-03-31", "2026-04-28", 0),
    "C-20438": ("K-004498", "2026-04-02", "2026-04-30", 0),
}
"""Barcode: card of the reader, lent on, due on, times renewed."""

READERS = {
    "K-004471": ("Gwendolyn Arkwright", "Central", "2026-11-30", 3.85),
    "K-004498": ("Yusuf Demirel", "Saltings", "2027-01-31", 0.00),
    "K-004512": ("Marta Lindholm", "Northgate", "2026-09-15", 1.20),
    "K-004525": ("Piers Hathersage", "Central", "2027-02-18", 0.00),
    "K-004533": ("Chiara Bonetti", "Fernhill", "2026-08-22", 5.40),
    "K-004540": ("Desmond Quill", "Tannery Yard", "2026-12-14", 0.60),
}
"""Card: name, home branch, valid until, euros owed."""

BRANCHES = {
    "Central": (
        "3 Almoner Square",
        "01632 440 118",
        80,
        ("09:00-18:00", "09:00-18:00", "09:00-18:00", "09:00-20:00", "09:00-18:00", "10:00-16:00"),
    ),
    "Fernhill": (
        "41 Fernhill Road",
        "01632 440 275",
        24,
        ("14:00-18:00", "closed", "10:00-17:00", "13:00-19:30", "10:00-16:30", "10:00-13:00"),
    ),
    "Northgate": (
        "7 Barbican Street",
        "01632 440 306",
        35,
        ("10:00-17:30", "10:00-17:30", "closed", "12:00-19:00", "10:00-17:30", "10:00-14:00"),
    ),
    "Saltings": (
        "18 Cooper's Row",
        "01632 440 592",
        30,
        ("closed", "10:00-18:00", "10:00-18:00", "closed", "13:00-18:30", "09:30-13:30"),
    ),
    "Tannery Yard": (
        "2 Tannery Yard",
        "01632 440 739",
        46,
        ("11:00-18:00", "11:00-18:00", "11:00-18:00", "11:00-20:00", "closed", "10:00-15:00"),
    ),
}
"""Name: address, telephone, seats in the meeting room, hours from Monday to Saturday."""

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

OLD_BRANCHES = {"mill lane": "Tannery Yard", "docks": "Saltings"}

EVENTS = (
    ("Central", "2026-04-16", "19:00", "Poetry evening", 6.50, 22),
    ("Central", "2026-05-07", "18:30", "Chess for beginners", 0.00, 9),
    ("Central", "2026-05-21", "19:00", "Talk: maps of the old harbour", 4.00, 41),
    ("Fernhill", "2026-05-09", "10:30", "Bookbinding workshop", 12.00, 13),
    ("Fernhill", "2026-05-16", "10:15", "Picture book morning", 0.00, 17),
    ("Fernhill", "2026-06-13", "10:30", "Bookbinding workshop", 12.00, 5),
    ("Northgate", "2026-05-14", "17:00", "Homework club", 0.00, 11),
    ("Northgate", "2026-06-11", "18:00", "Family history for beginners", 5.50, 8),
    ("Saltings", "2026-05-15", "17:30", "Knitting circle", 0.00, 6),
    ("Saltings", "2026-06-19", "18:00", "Sea shanty night", 7.25, 28),
    ("Saltings", "2026-06-26", "17:30", "Knitting circle", 0.00, 4),
    ("Tannery Yard", "2026-05-28", "19:00", "Film: The Weaver's Daughter", 5.00, 33),
    ("Tannery Yard", "2026-06-18", "18:30", "Poetry evening", 4.50, 19),
)
"""Branch, date, time, title, euros a person, free places."""


def full_branch(branch: str) -> str:
    wanted = re.sub(r"^the\s+|\s+(?:branch|library|branch library)$", "", " ".join(branch.casefold().split()))
    if wanted in OLD_BRANCHES:
        raise ToolError(
            f"{branch!r} is an old name: this branch is called {OLD_BRANCHES[wanted]} now, ask again under that name"
        )
    row(BRANCHES, wanted, "branch")
    return next(name for name in BRANCHES if name.casefold() == wanted)


@tool(effect="pure")
def find_books(title: str | None = None, author: str | None = None) -> str:
    """Search the catalogue by title, by author or by both. Returns id, title, author, year, pages and shelf mark.

    Args:
        title: the title or words from it
        author: name of the author
    """
    words = re.findall(r"\w+", (title or "").casefold())
    names = re.findall(r"\w+", (author or "").casefold())
    if not words and not names:
        raise ToolError("give a title, an author or both")
    found = [
        f"{key}: {book[0]}, by {book[1]}, {book[2]}, {book[3]} pages, shelf mark {book[4]}"
        for key, book in BOOKS.items()
        if set(words) <= set(re.findall(r"\w+", book[0].casefold()))
        and set(names) <= set(re.findall(r"\w+", book[1].casefold()))
    ]
    if found:
        return "\n".join(found)
    known = {book[0].casefold(): book[0] for book in BOOKS.values()}
    known |= {book[1].casefold(): book[1] for book in BOOKS.values()}
    wanted = (title or author or "").casefold()
    if wanted in known:
        raise ToolError(
            f"nothing found: {known[wanted]} is {'an author' if title else 'a title'}, or the two do not fit"
        )
    close = difflib.get_close_matches(wanted, known, n=1, cutoff=0.6)
    raise ToolError("nothing in the catalogue fits" + (f"; did you mean {known[close[0]]}?" if close else ""))


@tool(effect="pure")
def book_copies(book_id: str, branch: str | None = None) -> str:
    """List the copies we own of a book: barcode, branch, and whether each is on the shelf, on loan or in repair.

    Args:
        book_id: catalogue id of the book, like B-1001
        branch: only the copies of this branch; without it, those of all branches
    """
    key = book_id.strip().upper()
    if not re.fullmatch(r"B-\d{4}", key):
        raise ToolError(f"{book_id!r} is not a book id: ids look like B-1001, find_books tells them")
    title = row(BOOKS, key, "book")[0]
    only = full_branch(branch) if branch and branch.strip() else None
    found = [
        f"{code}: {place}, {state}"
        for code, (book, place, state) in COPIES.items()
        if book == key and only in (None, place)
    ]
    return f"{title}:\n" + ("\n".join(found) or f"no copy{f' at {only}' if only else ''}")


@tool(effect="pure")
def loan_record(barcode: str) -> str:
    """The running loan of one copy: card of the reader who has it, the day it was lent, the day it is due, renewals.

    Args:
        barcode: barcode of the copy, like C-20001
    """
    key = barcode.strip().upper()
    if not re.fullmatch(r"C-\d{5}", key):
        raise ToolError(f"{barcode!r} is not a barcode: barcodes look like C-20001, book_copies tells them")
    book, _, state = row(COPIES, key, "copy")
    if key not in LOANS:
        raise ToolError(f"the copy {key} is not on loan: it is {state}")
    card, lent, due, renewed = LOANS[key]
    return (
        f"{key} {BOOKS[book][0]}: lent to card {card} on {lent}, due back {due}, renewed {renewed} of at most 3 times"
    )


@tool(effect="pure")
def reader_card(card_number: str) -> str:
    """A reader's card: name, home branch, how long the card is valid, fees owed, barcodes of the copies on loan.

    Args:
        card_number: number of the card
    """
    key = card_number.strip().upper()
    if re.fullmatch(r"\d{1,6}", key):
        raise ToolError(
            f"{card_number!r} is a number in the old style: write K- and fill up with zeros in front to six digits, "
            "so that 17 becomes K-000017"
        )
    if not re.fullmatch(r"K-\d{6}", key):
        raise ToolError(f"{card_number!r} is not a card number: these are K, a hyphen and six digits, like K-000017")
    if key not in READERS:
        raise ToolError(f"there is no card {key}")
    name, branch, valid, owed = READERS[key]
    loans = ", ".join(code for code, loan in LOANS.items() if loan[0] == key)
    return (
        f"{key} {name}, home branch {branch}, card valid until {valid}, fees owed {owed:.2f} EUR, "
        f"on loan: {loans or 'nothing'}"
    )


@tool(effect="pure")
def branch_info(branch: str) -> str:
    """Address, telephone, opening hours and size of the meeting room of a branch.

    Args:
        branch: name of the branch, like Central
    """
    name = full_branch(branch)
    address, phone, seats, hours = BRANCHES[name]
    week = ", ".join(f"{day} {time}" for day, time in zip(DAYS, hours, strict=True))
    return f"{name}: {address}, telephone {phone}, meeting room with {seats} seats. {week}, Sunday closed"


@tool(effect="pure")
def list_events(branch: str, month: int) -> str:
    """Events at a branch in one month of 2026: date, time, title, price a person, free places.

    Args:
        branch: name of the branch, like Central
        month: number of the month, 1 to 12
    """
    name = full_branch(branch)
    if not 1 <= month <= 12:
        raise ToolError(f"{month} is no month: give a number from 1 to 12")
    found = [
        f"{date} {time} {title}, {f'{price:.2f} EUR a person' if price else 'free of charge'}, {places} places free"
        for place, date, time, title, price, places in EVENTS
        if place == name and int(date[5:7]) == month
    ]
    if not found:
        others = sorted({int(event[1][5:7]) for event in EVENTS if event[0] == name})
        return f"no events at {name} in that month; there are some in month {', '.join(map(str, others))}"
    return "\n".join(found)


def tools() -> list[Tool]:
    return [find_books, book_copies, loan_record, reader_card, branch_info, list_events]
