"""The harbour: vessels, port calls, berths, tides and the tariff. All of it is made up.

treadle eval lab/evals/later/harbour.jsonl --tools lab/evals/worlds/harbour.py:tools --tools calculator
"""

from __future__ import annotations

import difflib
import re
from datetime import date as Date
from typing import Literal

from world_kit import row

from treadle import Tool, ToolError, tool

VESSELS = {
    "V-3026": ("Sea Thistle", "tug", "Ireland", 28.4, 3.9, 342, 2011, "Carrow", "Selmer Towage"),
    "V-3033": ("Corwen Belle", "passenger ferry", "Portugal", 97.2, 4.4, 5130, 2003, "Lysport", "Brightwater Lines"),
    "V-3048": ("Bonny Farrow", "coaster", "Malta", 61.3, 4.7, 1190, 1998, "Valletta", "Dunmore & Pell"),
    "V-3055": ("Osprey Trader", "container ship", "Cyprus", 141.0, 8.1, 9960, 2014, "Limassol", "Hartwig Shipping"),
    "V-3057": ("Grey Plover", "general cargo", "Denmark", 88.9, 5.2, 2780, 2001, "Esbjerg", "Nordkap Agency"),
    "V-3058": ("Grey Plover II", "general cargo", "Denmark", 94.6, 5.85, 3240, 2017, "Esbjerg", "Nordkap Agency"),
    "V-3062": ("Sea Thistle", "trawler", "United Kingdom", 34.7, 4.2, 410, 1995, "Peterhead", "Quayside Fish Co-op"),
    "V-3071": ("Halvard Star", "general cargo", "Norway", 112.5, 6.4, 4870, 2008, "Bergen", "Tolliver Marine"),
    "V-3083": ("Lady Isolde", "sail training ship", "Netherlands", 52.8, 3.6, 530, 1987, "Harlingen", "Dunmore & Pell"),
    "V-3090": ("Rannoch", "bulk carrier", "Liberia", 158.3, 9.2, 14200, 2012, "Monrovia", "Hartwig Shipping"),
    "V-3095": ("Tern Island", "tanker", "Sweden", 119.7, 7.1, 6350, 2015, "Gothenburg", "Tolliver Marine"),
    "V-3104": ("Kittiwake Bay", "dredger", "Belgium", 86.4, 5.6, 3515, 2006, "Ostend", "Marlow Dredging"),
    "V-3112": ("Amber Quay", "general cargo", "Latvia", 107.1, 6.0, 4120, 2009, "Riga", "Nordkap Agency"),
    "V-3119": ("Puffin Sound", "research ship", "Iceland", 43.5, 3.8, 690, 2019, "Akureyri", "Brightwater Lines"),
}
"""Id: name, type, flag, length (m), draught (m), gross tonnage, year built, home port, agent."""

CALLS = [
    ("C-0811", "V-3071", 3, "2026-04-08 06:00", "2026-04-09 17:30", "departed", "1,840 t sawn timber"),
    ("C-0815", "V-3055", 1, "2026-04-14 03:20", "2026-04-14 21:00", "departed", "212 containers"),
    ("C-0819", "V-3090", 8, "2026-04-20 11:00", "2026-04-23 09:45", "departed", "11,300 t road salt"),
    ("C-0824", "V-3071", 3, "2026-04-27 07:15", "2026-04-28 12:00", "departed", "1,610 t sawn timber"),
    ("C-0829", "V-3112", 7, "2026-05-02 13:30", "2026-05-03 18:10", "departed", "2,050 t steel coils"),
    ("C-0833", "V-3057", 4, "2026-05-06 05:40", "2026-05-07 15:00", "departed", "1,275 t fertiliser"),
    ("C-0837", "V-3104", 6, "2026-05-09 08:00", "2026-05-20 17:00", "in_port", "no cargo"),
    ("C-0838", "V-3062", 5, "2026-05-11 04:10", "2026-05-12 16:30", "in_port", "18 t haddock"),
    ("C-0840", "V-3055", 1, "2026-05-12 02:50", "2026-05-12 22:30", "planned", "187 containers"),
    ("C-0841", "V-3048", 2, "2026-05-12 09:20", "2026-05-13 18:40", "planned", "930 t barley"),
    ("C-0842", "V-3083", 5, "2026-05-13 08:00", "2026-05-13 19:30", "planned", "no cargo"),
    ("C-0844", "V-3095", 2, "2026-05-14 06:45", "2026-05-14 20:15", "planned", "5,400 t diesel oil"),
    ("C-0845", "V-3112", 7, "2026-05-14 22:00", "2026-05-16 04:00", "planned", "1,980 t steel coils"),
    ("C-0846", "V-3119", 5, "2026-05-15 10:30", "2026-05-17 07:00", "planned", "no cargo"),
    ("C-0848", "V-3058", 4, "2026-05-16 12:15", "2026-05-17 20:45", "planned", "1,460 t cement"),
    ("C-0850", "V-3090", 8, "2026-05-17 01:30", "2026-05-20 14:00", "planned", "12,750 t wood pellets"),
    ("C-0851", "V-3071", 3, "2026-05-18 05:30", "2026-05-19 16:00", "planned", "1,920 t sawn timber"),
    ("C-0853", "V-3033", 1, "2026-05-19 07:50", "2026-05-19 09:10", "planned", "no cargo"),
]
"""Call number, vessel, berth, arrival, departure, status, cargo."""

TARIFF = {
    "mooring_day": "1.85 EUR per metre of length and day",
    "mooring_month": "31.20 EUR per metre of length and month",
    "pilotage": "412.00 EUR per movement",
    "tug_hour": "638.50 EUR per tug and hour",
    "fresh_water": "4.35 EUR per cubic metre",
    "shore_power": "0.37 EUR per kWh",
    "waste": "96.00 EUR per cubic metre",
}

TIDES = {
    "12.05.2026": (("01:24", 3.9, "13:51", 4.0), ("07:36", 0.9, "19:58", 0.8)),
    "13.05.2026": (("02:17", 4.1, "14:42", 4.2), ("08:28", 0.7, "20:49", 0.6)),
    "14.05.2026": (("03:06", 4.3, "15:33", 4.4), ("09:17", 0.5, "21:38", 0.5)),
    "15.05.2026": (("03:55", 4.4, "16:21", 4.5), ("10:05", 0.4, "22:26", 0.4)),
    "16.05.2026": (("04:43", 4.4, "17:10", 4.4), ("10:53", 0.4, "23:14", 0.5)),
    "17.05.2026": (("05:32", 4.2, "17:59", 4.2), ("11:41", 0.6, "23:58", 0.7)),
}
"""Day: high waters and low waters."""


@tool(effect="pure")
def find_vessel(name: str) -> str:
    """Search the register by ship name. Returns vessel id, type and flag of every match.

    Args:
        name: name of the ship
    """
    wanted = re.sub(r"^(?:the|m/?v|ms)\s+", "", " ".join(name.casefold().split()))
    hits = [f"{key}: {v[0]}, {v[1]}, flag {v[2]}" for key, v in VESSELS.items() if wanted and wanted in v[0].casefold()]
    if hits:
        return "\n".join(hits)
    names = {v[0].casefold(): v[0] for v in VESSELS.values()}
    close = difflib.get_close_matches(wanted, names, n=1, cutoff=0.6)
    hint = f"did you mean {names[close[0]]!r}?" if close else "check the spelling"
    raise ToolError(f"no vessel named {name!r} in the register; {hint}")


def _vessel(vessel_id: str) -> str:
    key = vessel_id.strip().upper()
    if key not in VESSELS:
        raise ToolError(f"unknown vessel id {vessel_id!r}; ids look like V-3001, find_vessel gives the id for a name")
    return key


@tool(effect="pure")
def vessel_details(vessel_id: str) -> str:
    """Technical data of a vessel (length, draught, tonnage, year built), its home port and its agent.

    Args:
        vessel_id: vessel id, e.g. V-3001
    """
    key = _vessel(vessel_id)
    name, kind, _, length, draught, tonnage, built, home, agent = VESSELS[key]
    return (
        f"{key} {name} ({kind}): length {length:.1f} m, draught {draught:g} m, gross tonnage {tonnage}, "
        f"built {built}, home port {home}, agent {agent}"
    )


@tool(effect="pure")
def vessel_calls(vessel_id: str, status: Literal["planned", "in_port", "departed"] | None = None) -> str:
    """List the port calls of one vessel: berth, arrival, departure, cargo.

    Args:
        vessel_id: vessel id, e.g. V-3001
        status: only calls in this state (leave out for all)
    """
    key = _vessel(vessel_id)
    found = [
        f"{no}: berth {berth}, arrival {start}, departure {end}, {state}, cargo: {cargo}"
        for no, vessel, berth, start, end, state, cargo in CALLS
        if vessel == key and status in (None, state)
    ]
    return "\n".join(found) or "no such calls"


@tool(effect="pure")
def berth_plan(berth: int, date: str) -> str:
    """Show which vessels lie at a berth on a given day.

    Args:
        berth: berth number, 1 to 8
        date: the day, YYYY-MM-DD
    """
    if not 1 <= berth <= 8:
        raise ToolError("there are berths 1 to 8")
    try:
        day = Date.fromisoformat(date.strip()).isoformat()
    except ValueError:
        raise ToolError(f"bad date {date!r}, expected YYYY-MM-DD") from None
    found = [
        f"{VESSELS[vessel][0]} ({vessel}), from {start} to {end}"
        for _, vessel, number, start, end, _, _ in CALLS
        if number == berth and start[:10] <= day <= end[:10]
    ]
    return "\n".join(found) or f"berth {berth} is free on {day}"


@tool(effect="pure")
def tide_table(date: str, kind: Literal["high", "low"]) -> str:
    """Times and heights of high or low water at the harbour entrance.

    Args:
        date: the day
        kind: high or low water
    """
    found = re.fullmatch(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", date.strip())
    if not found:
        raise ToolError(f"cannot read date {date!r}: write it as DD.MM.YYYY, for example 03.05.2026")
    key = f"{int(found[1]):02}.{int(found[2]):02}.{found[3]}"
    if key not in TIDES:
        raise ToolError(f"no tides for {key}: the table runs from 12.05.2026 to 17.05.2026")
    one, height, two, height_two = TIDES[key][0 if kind == "high" else 1]
    return f"{kind} water on {key}: {one} ({height} m) and {two} ({height_two} m)"


@tool(effect="pure")
def get_tariff(
    item: Literal["mooring_day", "mooring_month", "pilotage", "tug_hour", "fresh_water", "shore_power", "waste"],
) -> str:
    """Get the current harbour price for a service.

    Args:
        item: tariff item
    """
    return f"{item}: {row(TARIFF, item, 'tariff item')}"


def tools() -> list[Tool]:
    return [find_vessel, vessel_details, vessel_calls, berth_plan, tide_table, get_tariff]
