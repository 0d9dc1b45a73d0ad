"""The film archive: films, prints, inspections, vaults and screenings. All of it is made up.

treadle eval lab/evals/later/archive.jsonl --tools lab/evals/worlds/archive.py:tools --tools calculator
"""

from __future__ import annotations

import difflib
import re
from datetime import datetime
from typing import Literal

from world_kit import as_id, second_time

from treadle import Tool, ToolError, tool

FILMS = {
    "F-1001": ("The Salt Road", "Aldous Wrenfield", 1937, 81, "United Kingdom", "black and white, sound"),
    "F-1002": ("Harbour Lights, Harbour Rain", "Signe Malmqvist", 1948, 92, "Sweden", "black and white, sound"),
    "F-1003": ("Brannoch Weir", "Duncan Ferrislaw", 1952, 76, "United Kingdom", "black and white, sound"),
    "F-1004": ("The Paper Lighthouse", "Josune Etxaburu", 1968, 97, "Spain", "colour, sound"),
    "F-1005": ("A Coat for Emmerich", "Traudl Osterkamp", 1931, 69, "Germany", "black and white, sound"),
    "F-1006": ("Night Ferry to Aldersund", "Hjalmar Brekkestad", 1934, 73, "Norway", "black and white, sound"),
    "F-1007": ("The Quiet Mill", "Wenzel Pohorsky", 1925, 62, "Czechoslovakia", "black and white, silent"),
    "F-1008": ("The Quiet Hour", "Maud Kettleby", 1956, 88, "United Kingdom", "black and white, sound"),
    "F-1009": ("Orchids on Platform Nine", "Renzo Calvaglia", 1963, 104, "Italy", "colour, sound"),
    "F-1010": ("Tinker, Baker, Widow", "Maud Kettleby", 1951, 85, "United Kingdom", "black and white, sound"),
    "F-1011": ("Snowblind Valley", "Urs Kammeregg", 1929, 71, "Switzerland", "black and white, silent"),
    "F-1012": ("The Glass Orchard", "Liesbeth van Roosdaal", 1959, 90, "Netherlands", "colour, sound"),
    "F-1013": ("Seven Wells", "Farid Benmoussara", 1971, 94, "Algeria", "colour, sound"),
    "F-1014": ("My Brother's Accordion", "Oskari Hautaniemi", 1955, 79, "Finland", "black and white, sound"),
    "F-1015": ("Saltmarsh Waltz", "Ilka Tormund", 1974, 101, "Denmark", "colour, sound"),
    "F-1016": ("Marten's Bridge", "Pieter Oldekamp", 1946, 83, "Netherlands", "black and white, sound"),
    "F-1017": ("The Clockmender of Vrana", "Zdenka Horalova", 1966, 87, "Czechoslovakia", "black and white, sound"),
    "F-1018": ("A Field Without Crows", "Lorcan Dunmaher", 1979, 118, "Ireland", "colour, sound"),
    "F-1019": ("The Last Tram Conductor", "Graca Montelobo", 1964, 80, "Portugal", "black and white, sound"),
    "F-1020": ("Copper and Thyme", "Nikos Farandatos", 1958, 95, "Greece", "black and white, sound"),
    "F-1021": ("Lowland Letters", "Liesbeth van Roosdaal", 1962, 77, "Netherlands", "black and white, sound"),
    "F-1022": ("Night Ferry to Aldersund", "Torunn Skavhaug", 1961, 99, "Norway", "colour, sound"),
    "F-1023": ("Nobody Waters the Geraniums", "Renzo Calvaglia", 1970, 108, "Italy", "colour, sound"),
    "F-1024": ("The Beet Harvest", "unknown", 1922, 14, "Belgium", "black and white, silent"),
}
"""Film id: title, director, year, minutes, country, colour and sound."""

PRINTS = {
    "PR-0102": ("F-1001", "35mm", 5, 3),
    "PR-0117": ("F-1002", "35mm", 6, 3),
    "PR-0118": ("F-1002", "16mm", 3, 2),
    "PR-0140": ("F-1003", "35mm", 4, 3),
    "PR-0166": ("F-1004", "35mm", 6, 5),
    "PR-0171": ("F-1005", "35mm", 4, 1),
    "PR-0172": ("F-1005", "16mm", 2, 2),
    "PR-0190": ("F-1006", "35mm", 4, 1),
    "PR-0204": ("F-1007", "35mm", 4, 1),
    "PR-0215": ("F-1008", "16mm", 3, 2),
    "PR-0231": ("F-1009", "35mm", 7, 5),
    "PR-0232": ("F-1009", "16mm", 3, 6),
    "PR-0248": ("F-1010", "35mm", 5, 3),
    "PR-0263": ("F-1011", "35mm", 4, 1),
    "PR-0264": ("F-1011", "8mm", 2, 6),
    "PR-0280": ("F-1012", "35mm", 6, 5),
    "PR-0281": ("F-1012", "16mm", 3, 6),
    "PR-0299": ("F-1013", "35mm", 6, 5),
    "PR-0310": ("F-1014", "16mm", 2, 2),
    "PR-0322": ("F-1015", "35mm", 6, 5),
    "PR-0335": ("F-1016", "35mm", 5, 5),
    "PR-0336": ("F-1016", "16mm", 3, 2),
    "PR-0351": ("F-1017", "35mm", 5, 4),
    "PR-0364": ("F-1018", "35mm", 8, 5),
    "PR-0377": ("F-1019", "35mm", 5, 4),
    "PR-0390": ("F-1020", "35mm", 6, 4),
    "PR-0402": ("F-1021", "16mm", 3, 2),
    "PR-0418": ("F-1022", "35mm", 6, 5),
    "PR-0419": ("F-1022", "16mm", 3, 6),
    "PR-0433": ("F-1023", "35mm", 7, 5),
    "PR-0440": ("F-1024", "35mm", 1, 1),
}
"""Print id: film id, gauge, reels, vault."""

INSPECTIONS = {
    "PR-0102": ("2024-11-05", "B", 0.6, "light scratches on reel 2"),
    "PR-0117": ("2025-02-18", "A", 0.3, "clean"),
    "PR-0118": ("2025-02-18", "C", 0.9, "torn perforations on reel 1"),
    "PR-0140": ("2023-06-22", "B", 0.7, "splices renewed"),
    "PR-0166": ("2025-04-09", "A", 0.2, "clean"),
    "PR-0171": ("2024-03-14", "D", 1.6, "do not project"),
    "PR-0172": ("2024-03-14", "B", 0.5, "clean"),
    "PR-0190": ("2025-01-27", "C", 1.1, "rain marks throughout"),
    "PR-0204": ("2025-10-02", "D", 1.8, "first signs of vinegar smell"),
    "PR-0215": ("2024-08-19", "A", 0.4, "clean"),
    "PR-0231": ("2025-05-13", "B", 0.5, "colour a little faded"),
    "PR-0232": ("2025-05-13", "C", 0.8, "colour faded to red"),
    "PR-0248": ("2024-12-11", "A", 0.3, "clean"),
    "PR-0263": ("2025-07-30", "C", 1.2, "leader missing on reel 4"),
    "PR-0264": ("2025-07-30", "B", 0.6, "clean"),
    "PR-0280": ("2025-09-16", "A", 0.2, "clean"),
    "PR-0281": ("2025-09-17", "C", 1.0, "scratches, colour faded"),
    "PR-0299": ("2024-05-28", "B", 0.4, "subtitles burnt in"),
    "PR-0310": ("2023-11-08", "B", 0.7, "clean"),
    "PR-0322": ("2025-11-20", "A", 0.1, "clean"),
    "PR-0335": ("2024-09-03", "B", 0.6, "splices renewed"),
    "PR-0336": ("2024-09-03", "D", 1.5, "do not project"),
    "PR-0351": ("2025-03-25", "A", 0.3, "clean"),
    "PR-0364": ("2025-06-12", "A", 0.2, "clean"),
    "PR-0377": ("2025-08-21", "C", 0.9, "torn perforations on reel 5"),
    "PR-0390": ("2024-10-15", "B", 0.5, "light scratches"),
    "PR-0402": ("2024-02-06", "A", 0.4, "clean"),
    "PR-0418": ("2025-12-04", "A", 0.1, "clean"),
    "PR-0419": ("2025-12-04", "B", 0.6, "clean"),
    "PR-0433": ("2025-01-15", "B", 0.4, "colour a little faded"),
    "PR-0440": ("2022-12-01", "D", 2.1, "nitrate, keep cold, do not project"),
}
"""Print id: day of the last inspection, grade, shrinkage in percent, remark."""

VAULTS = {
    1: (2.1, 33),
    2: (11.8, 41),
    3: (8.6, 36),
    4: (9.3, 35),
    5: (5.7, 31),
    6: (12.9, 44),
}
"""Vault: degrees Celsius, percent relative humidity."""

SCREENINGS = {
    "2026-03-06": [("19:00", "Small Hall", "F-1008"), ("20:45", "Large Hall", "F-1020")],
    "2026-03-07": [("15:00", "Large Hall", "F-1014"), ("20:15", "Large Hall", "F-1009")],
    "2026-03-08": [("11:15", "Small Hall", "F-1024"), ("16:00", "Large Hall", "F-1002")],
    "2026-03-13": [("20:30", "Large Hall", "F-1013")],
    "2026-03-14": [("18:40", "Small Hall", "F-1019")],
    "2026-03-15": [("11:15", "Small Hall", "F-1007"), ("17:30", "Large Hall", "F-1023")],
    "2026-03-20": [("19:00", "Small Hall", "F-1021"), ("21:00", "Large Hall", "F-1018")],
    "2026-03-21": [("16:30", "Small Hall", "F-1017"), ("20:00", "Large Hall", "F-1015")],
    "2026-03-22": [("11:15", "Small Hall", "F-1011"), ("18:00", "Large Hall", "F-1001")],
    "2026-03-27": [("20:30", "Large Hall", "F-1022")],
    "2026-03-28": [("17:00", "Small Hall", "F-1010"), ("20:00", "Large Hall", "F-1004")],
}


def _words(text: str) -> str:
    return " ".join(re.sub(r"[^\w\s]", "", text.casefold().replace("\u2019", "'")).split())


@tool(effect="pure")
def find_film(title: str, year: int | None = None) -> str:
    """Search the archive's films by title. Returns the id, title and year of each match.

    Args:
        title: the title or a part of it
        year: only films from this year
    """
    wanted = _words(title)
    found = [(key, film) for key, film in FILMS.items() if wanted and wanted in _words(film[0])]
    if not found:
        names = {_words(film[0]): film[0] for film in FILMS.values()}
        near = difflib.get_close_matches(wanted, names, n=1, cutoff=0.5)
        hint = f" Did you mean {names[near[0]]!r}?" if near else " Try one word of the title."
        raise ToolError(f"No film with the title {title!r}.{hint}")
    if year:
        dated = [(key, film) for key, film in found if film[2] == year]
        if not dated:
            raise ToolError(f"Nothing from {year}; leave out the year to see films of that title from other years.")
        found = dated
    return "\n".join(f"{key}: {film[0]} ({film[2]})" for key, film in found)


@tool(effect="pure")
def film_details(film_id: str) -> str:
    """Get the catalogue entry of a film: director, year, country, running time, colour and sound.

    Args:
        film_id: e.g. F-1005
    """
    if as_id(film_id) not in FILMS:
        raise ToolError(f"Unknown film id {film_id!r}. Use find_film to get the id.")
    title, director, year, minutes, country, look = FILMS[as_id(film_id)]
    return f"{title}, directed by {director}, {country} {year}, {minutes} min, {look}"


@tool(effect="pure")
def list_prints(film_id: str, gauge: Literal["all", "35mm", "16mm", "8mm"] = "all") -> str:
    """List the prints (physical copies) we hold of a film, with gauge, number of reels and vault.

    Args:
        film_id: id of the film
        gauge: only prints of this gauge
    """
    if as_id(film_id) not in FILMS:
        raise ToolError(f"Unknown film id {film_id!r}. Use find_film to get the id.")
    lines = [
        f"{key}: {width}, {reels} reel{'s' if reels > 1 else ''}, vault {vault}"
        for key, (film, width, reels, vault) in PRINTS.items()
        if film == as_id(film_id) and gauge in ("all", width)
    ]
    return "\n".join(lines) or f"No {gauge} print of {as_id(film_id)}."


@tool(effect="pure")
def inspection_report(print_id: str) -> str:
    """Read the report of the last inspection of a print: date, grade (A best, D worst), shrinkage, remarks.

    Args:
        print_id: id of the print
    """
    if as_id(print_id) not in INSPECTIONS:
        raise ToolError(f"Unknown print {print_id!r}. Print ids look like PR-0000; list_prints gives them.")
    day, grade, shrinkage, remark = INSPECTIONS[as_id(print_id)]
    return f"inspected {day}; grade {grade}; shrinkage {shrinkage}%; remarks: {remark}"


def make_vault_climate() -> Tool:
    asked: set[str] = set()

    @tool(effect="idempotent")
    def vault_climate(vault: int, quantity: Literal["temperature", "humidity"]) -> str:
        """Current sensor value of a film vault.

        Args:
            vault: vault number, 1 to 6
            quantity: what to read
        """
        if vault not in VAULTS:
            raise ToolError(f"There is no vault {vault}, only 1 to 6.")
        celsius, percent = VAULTS[vault]
        value = f"{celsius} °C" if quantity == "temperature" else f"{percent} % relative humidity"
        if vault == 4:  # this gateway is slow to wake up
            return second_time(asked, {"4": value}, str(vault), "vault", "sensor gateway timed out")
        return value

    return vault_climate


@tool(effect="pure")
def get_screenings(date: str) -> str:
    """Get the programme of the archive's cinema for one day.

    Args:
        date: the day
    """
    try:
        day = datetime.strptime(date.strip(), "%d.%m.%Y").date().isoformat()
    except ValueError:
        raise ToolError(f"Cannot read the date {date!r}. Write it as DD.MM.YYYY.") from None
    shows = SCREENINGS.get(day, [])
    lines = [f"{time} {hall}: {FILMS[film][0]} ({film})" for time, hall, film in shows]
    return "\n".join(lines) or "No screenings on this day."


def tools() -> list[Tool]:
    return [find_film, film_details, list_prints, inspection_report, make_vault_climate(), get_screenings]
