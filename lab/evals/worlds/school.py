"""The music school: students, teachers, instruments for rent and fees. All of it is made up.

treadle eval lab/evals/later/school.jsonl --tools lab/evals/worlds/school.py:tools --tools calculator
"""

from __future__ import annotations

import difflib
import re
from typing import Literal

from world_kit import row

from treadle import Tool, ToolError, tool

STUDENTS = {
    "ST-0398": ("Edda Falkner", "piano", "Anselm Rook", "Monday", "15:15", "single", 45, None),
    "ST-0405": ("Ruben Castellan", "trumpet", "Hugo Brandl", "Wednesday", "17:30", "single", 60, "TRP-01"),
    "ST-0412": ("Mila Berghof", "flute", "Carys Penhale", "Tuesday", "14:45", "pair", 30, None),
    "ST-0419": ("Jonas Berghof", "cello", "Viktor Salonen", "Thursday", "16:00", "single", 30, "CEL-01"),
    "ST-0426": ("Tamsin Okonjo", "violin", "Leonie Hartog", "Friday", "15:30", "single", 45, "VLN-03"),
    "ST-0433": ("Bastian Kroll", "guitar", "Matteo Sforzi", "Thursday", "18:15", "group", 60, None),
    "ST-0440": ("Noor Haddadi", "piano", "Dorota Kaminer", "Tuesday", "16:30", "single", 30, None),
    "ST-0447": ("Zoe Okonjo", "saxophone", "Hugo Brandl", "Monday", "17:00", "single", 30, "SAX-02"),
    "ST-0455": ("Livia Marchetti", "violin", "Leonie Hartog", "Wednesday", "14:30", "pair", 45, "VLN-05"),
    "ST-0462": ("Oskar Lindqvist", "guitar", "Matteo Sforzi", "Saturday", "10:00", "pair", 30, None),
    "ST-0469": ("Greta Falkner", "cello", "Viktor Salonen", "Tuesday", "17:45", "single", 45, "CEL-04"),
    "ST-0476": ("Ivo Petrescu", "clarinet", "Carys Penhale", "Friday", "16:20", "group", 45, "CLA-02"),
    "ST-0483": ("Annika Sorel", "flute", "Carys Penhale", "Wednesday", "15:10", "single", 60, None),
    "ST-0490": ("Daniel Castellan", "piano", "Anselm Rook", "Friday", "14:00", "single", 30, None),
}
"""Id: name, instrument, teacher, day, time, form of lesson, minutes, rented instrument."""

TEACHERS = {
    "Anselm Rook": ("piano", 12, "Monday, Friday", "rook@orrinstreet.example"),
    "Carys Penhale": ("flute, clarinet", 5, "Tuesday, Wednesday, Friday", "penhale@orrinstreet.example"),
    "Dorota Kaminer": ("piano", 14, "Tuesday, Saturday", "kaminer@orrinstreet.example"),
    "Hugo Brandl": ("trumpet, saxophone", 2, "Monday, Wednesday", "brandl@orrinstreet.example"),
    "Leonie Hartog": ("violin, viola", 9, "Wednesday, Friday", "hartog@orrinstreet.example"),
    "Matteo Sforzi": ("guitar", 7, "Thursday, Saturday", "sforzi@orrinstreet.example"),
    "Viktor Salonen": ("cello, double bass", 11, "Tuesday, Thursday", "salonen@orrinstreet.example"),
}
"""Name: instruments, room, days, email."""

OLD_NAMES = {"dorota wenzel": "Dorota Kaminer", "wenzel": "Dorota Kaminer"}

INSTRUMENTS = {
    "VLN-01": ("violin", "1/4", True, "Tiefenbach", 2012, 9.50, 420, "2025-10-06"),
    "VLN-02": ("violin", "1/4", False, "Tiefenbach", 2012, 9.50, 420, "2025-10-06"),
    "VLN-03": ("violin", "3/4", False, "Corradi", 2005, 14.00, 980, "2025-09-15"),
    "VLN-04": ("violin", "1/2", True, "Tiefenbach", 2014, 11.50, 560, "2026-01-19"),
    "VLN-05": ("violin", "1/2", False, "Szalay", 1998, 13.00, 710, "2025-11-24"),
    "VLN-06": ("violin", "4/4", False, "Corradi", 2001, 19.50, 1650, "2026-02-02"),
    "VLN-07": ("violin", "4/4", True, "Morgenroth", 1976, 24.50, 2900, "2025-12-08"),
    "CEL-01": ("cello", "3/4", False, "Szalay", 2007, 22.00, 1900, "2025-08-25"),
    "CEL-02": ("cello", "4/4", False, "Morgenroth", 1983, 31.00, 4350, "2026-02-16"),
    "CEL-04": ("cello", "4/4", False, "Corradi", 2010, 28.00, 2600, "2025-09-29"),
    "CEL-06": ("cello", "4/4", True, "Szalay", 2016, 27.50, 2450, "2026-03-02"),
    "TRP-01": ("trumpet", None, False, "Ravel & Stone", 2018, 12.00, 640, "2025-11-10"),
    "TRP-02": ("trumpet", None, True, "Ravel & Stone", 2018, 12.00, 640, "2025-11-10"),
    "SAX-02": ("saxophone", None, False, "Delmotte", 2011, 26.00, 1480, "2025-10-20"),
    "SAX-03": ("saxophone", None, True, "Delmotte", 2013, 26.50, 1520, "2026-01-27"),
    "CLA-01": ("clarinet", None, True, "Hollis", 2009, 15.50, 870, "2025-09-08"),
    "CLA-02": ("clarinet", None, False, "Hollis", 2015, 16.00, 910, "2025-09-08"),
}
"""Tag: instrument, size, free, maker, year, euros a month, insured for, last service."""

FEES = {
    ("single", 30): 68.50,
    ("single", 45): 97.00,
    ("single", 60): 126.50,
    ("pair", 30): 41.00,
    ("pair", 45): 56.50,
    ("pair", 60): 72.00,
    ("group", 45): 33.00,
    ("group", 60): 39.50,
}


@tool(effect="pure")
def find_student(last_name: str) -> str:
    """Find students by family name. Returns id, full name and instrument.

    Args:
        last_name: the family name only
    """
    wanted = last_name.strip().casefold()
    found = [f"{key}: {s[0]}, {s[1]}" for key, s in STUDENTS.items() if s[0].split()[-1].casefold() == wanted]
    if found:
        return "\n".join(found)
    if " " in wanted:
        raise ToolError(f"nobody has the family name {last_name!r}: give the family name only, without the first name")
    names = {s[0].split()[-1].casefold(): s[0].split()[-1] for s in STUDENTS.values()}
    close = difflib.get_close_matches(wanted, names, n=1, cutoff=0.6)
    raise ToolError(
        f"nobody has the family name {last_name!r}" + (f"; did you mean {names[close[0]]}?" if close else "")
    )


@tool(effect="pure")
def student_record(student_id: str) -> str:
    """Open a student's record: instrument, teacher, lesson time, form of lesson, rented instrument.

    Args:
        student_id: the id of the student
    """
    key = student_id.strip().upper()
    if not re.fullmatch(r"ST-\d{4}", key):
        raise ToolError(f"{student_id!r} is not a student id: ids are ST, a hyphen and four digits, such as ST-0123")
    name, instrument, teacher, day, time, form, minutes, rented = row(STUDENTS, key, "student")
    return (
        f"{key} {name}: {instrument} with {teacher}, {day} {time}, {form} lesson of {minutes} minutes, "
        f"rented instrument: {rented or 'none'}"
    )


@tool(effect="pure")
def teacher_profile(name: str) -> str:
    """Returns what a teacher teaches, their room, the days they are at the school, and their email.

    Args:
        name: name of the teacher
    """
    wanted = re.sub(r"^(?:mr|mrs|ms|miss|dr)\.?\s+", "", " ".join(name.casefold().split()))
    if wanted in OLD_NAMES:
        raise ToolError(f"the name {name!r} is no longer used: this teacher is now listed as {OLD_NAMES[wanted]}")
    full = {t.split()[-1].casefold(): t for t in TEACHERS}.get(wanted, wanted)
    subjects, room, days, email = row(TEACHERS, full, "teacher")
    return f"{subjects}; room {room}; at the school on {days}; {email}"


@tool(effect="pure")
def rental_stock(instrument: str, size: str | None = None) -> str:
    """List the school's instruments for rent, with tag and whether they are free.

    Args:
        instrument: kind of instrument, e.g. violin
        size: for violins and cellos: 1/4, 1/2, 3/4 or 4/4 (full size)
    """
    kind = instrument.strip().casefold()
    kinds = {i[0] for i in INSTRUMENTS.values()}
    kind = kind if kind in kinds else kind.removesuffix("s")
    if kind not in kinds:
        raise ToolError(f"no {instrument!r} for rent; kinds: {', '.join(sorted(kinds))}")
    if size is not None and size.strip() and size.strip() not in ("1/4", "1/2", "3/4", "4/4"):
        raise ToolError(f"unknown size {size!r}; sizes are 1/4, 1/2, 3/4, 4/4")
    found = [
        f"{tag}: {i[0]}{' ' + i[1] if i[1] else ''}, {'free' if i[2] else 'rented out'}"
        for tag, i in INSTRUMENTS.items()
        if i[0] == kind and (not size or not size.strip() or i[1] is None or i[1] == size.strip())
    ]
    return "\n".join(found) or "none of that size"


def make_instrument_details() -> Tool:
    locked = {"SAX-03"}

    @tool(effect="idempotent")
    def instrument_details(tag: str) -> str:
        """Details of one rental instrument: maker, year, monthly rent, insured value, last service.

        Args:
            tag: inventory tag, like VLN-01
        """
        key = tag.strip().upper()
        if key in locked:
            locked.discard(key)
            raise ToolError(
                f"the record {key} is locked for a moment by another user, please send the same request again"
            )
        kind, size, _, maker, year, rent, value, service = row(INSTRUMENTS, key, "instrument with the tag")
        return (
            f"{key}: {kind}{' ' + size if size else ''}, made by {maker} in {year}, rent {rent:.2f} EUR a month, "
            f"insured for {value} EUR, last serviced {service}"
        )

    return instrument_details


@tool(effect="pure")
def tuition_fee(lesson_form: Literal["single", "pair", "group"], minutes: int) -> str:
    """Monthly tuition fee per student for weekly lessons.

    Args:
        lesson_form: single = one student, pair = two students, group = three or more
        minutes: length of the lesson: 30, 45 or 60
    """
    if (lesson_form, minutes) not in FEES:
        raise ToolError(f"there are no {lesson_form} lessons of {minutes} minutes")
    return f"{FEES[lesson_form, minutes]:.2f} EUR a month per student"


def tools() -> list[Tool]:
    return [find_student, student_record, teacher_profile, rental_stock, make_instrument_details(), tuition_fee]
