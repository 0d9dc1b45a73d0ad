"""A beekeeper with ten hives on four sites: hives, sites, batches of honey, prices by the jar and by the case, market stalls, shops. All data is invented."""
# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

import json
import re

from treadle import Tool, ToolError, tool

# fmt: off
# hive: (year of the queen, her mark, race, frames of brood, supers, temper, last opened)
_HIVES = {
    "OR-1": (2024, "green", "Carniolan", 7, 2, "calm", "6 June"),
    "OR-2": (2023, "red", "Buckfast", 5, 1, "nervous", "6 June"),
    "OR-3": (2025, "blue", "Carniolan", 4, 1, "calm", "9 June"),
    "HE-1": (2024, "green", "Buckfast", 8, 3, "calm", "11 June"),
    "HE-2": (2022, "yellow", "Dark bee", 6, 2, "aggressive", "11 June"),
    "HE-3": (2023, "red", "Buckfast", 9, 3, "calm", "2 June"),
    "RI-1": (2025, "blue", "Carniolan", 3, 0, "calm", "29 May"),
    "RI-2": (2024, "green", "Italian", 8, 2, "nervous", "29 May"),
    "CH-1": (2023, "red", "Carniolan", 6, 2, "calm", "13 June"),
    "CH-2": (2022, "yellow", "Carniolan", 5, 1, "nervous", "13 June"),
}

# site: (letters, owner of the land, village, what flowers there, rent in jars a year, hive on the scale)
_SITES = {
    "Orchard": ("OR", "Bettina Krall", "Untermoos", "apple and cherry", 12, "OR-1"),
    "Heath": ("HE", "Gregor Stadler", "Lindach", "heather and spruce", 8, "HE-3"),
    "Riverside": ("RI", "Konrad Aichinger", "Fischau", "willow, dandelion and linden", 10, "RI-2"),
    "Chapel": ("CH", "Philippa Brandt", "Moosbach", "acacia", 6, "CH-1"),
}

# batch: (honey, site, extracted on, kilograms, percent of water, jars of 500 g, jars of 250 g)
_BATCHES = {
    "25-01": ("blossom", "Orchard", "24 May", 86, 17.2, 120, 96),
    "25-02": ("dandelion", "Riverside", "31 May", 41, 17.9, 60, 40),
    "25-03": ("acacia", "Chapel", "14 June", 58, 16.8, 84, 60),
    "25-04": ("linden", "Riverside", "5 July", 73, 17.5, 110, 70),
    "25-05": ("forest", "Heath", "26 July", 95, 16.1, 150, 80),
    "25-06": ("heather", "Heath", "30 August", 37, 19.4, 30, 84),
}

# honey: grams: price of a jar
_JARS = {
    "blossom": {250: 4.2, 500: 7.4, 1000: 13.6},
    "dandelion": {250: 4.9, 500: 8.7},
    "acacia": {250: 5.1, 500: 9.3, 1000: 17.2},
    "linden": {250: 4.8, 500: 8.5, 1000: 15.7},
    "forest": {250: 5.4, 500: 9.9, 1000: 18.4},
    "heather": {250: 7.2, 500: 13.1},
}

# honey: grams: price of a case of twelve jars
_CASES = {
    "blossom": {250: 38.4, 500: 69.6},
    "dandelion": {250: 45.6, 500: 82.8},
    "acacia": {250: 46.8, 500: 87.6},
    "linden": {250: 44.4, 500: 79.2},
    "forest": {250: 49.2, 500: 93.6},
    "heather": {250: 68.4, 500: 124.8},
}

# part of the year: (date, town, market, fee for the pitch, hours, who stands there)
_STALLS = {
    "spring": [
        ("26 April", "Steinbruck", "Spring Fair", 35.0, "09:00-16:00", "Ottilie"),
        ("17 May", "Lindach", "Farmers' Market", 18.0, "08:00-13:00", "Veit"),
    ],
    "summer": [
        ("21 June", "Untermoos", "Midsummer Fair", 28.0, "14:00-21:00", "Ottilie"),
        ("12 July", "Lindach", "Farmers' Market", 18.0, "08:00-13:00", "Veit"),
        ("16 August", "Steinbruck", "Town Festival", 46.5, "10:00-22:00", "Veit"),
    ],
    "autumn": [
        ("20 September", "Lindach", "Harvest Market", 24.0, "09:00-15:00", "Ottilie"),
        ("11 October", "Moosbach", "Apple Day", 15.0, "10:00-17:00", "Veit"),
        ("8 November", "Steinbruck", "St Martin's Market", 39.0, "11:00-19:00", "Ottilie"),
    ],
}

# shop: (owner, telephone, town, percent of discount, batch of the last order, cases of the last order, unpaid)
_SHOPS = {
    "Kornblume": ("Renate Hanke", "07215 44083", "Steinbruck", 5, "25-04", 6, 0.0),
    "Dorfladen": ("Aloys Pichler", "07218 30917", "Lindach", 8, "25-01", 10, 184.5),
    "Amsel": ("Miriam Toth", "07219 61252", "Moosbach", 0, "25-03", 3, 0.0),
    "Bioecke": ("Stefan Wurz", "07215 44760", "Steinbruck", 10, "25-05", 8, 92.7),
}
# fmt: on


def _honey(text: str) -> str:
    for name in _JARS:
        if name in text.lower():
            return name
    raise ToolError(f'We make no "{text}" honey. Ours are {", ".join(_JARS)}.')


@tool(effect="pure")
def hive_notes(hive: str) -> str:
    """Look up the notes on one hive. They give the queen's year, colour mark and race, the frames with brood, the honey supers on top, the temper of the bees and the day the hive was last opened.

    Args:
        hive: Which hive.
    """
    key = re.sub(r"[^A-Z0-9]", "", hive.upper().replace("HIVE", ""))
    if not re.fullmatch(r"[A-Z]{2}\d", key):
        raise ToolError(
            f'No hive is called "{hive}". Hives carry two letters for the site (OR orchard, HE heath, RI riverside, CH '
            "chapel), a hyphen and a number; the first hive in the orchard is OR-1."
        )
    key = f"{key[:2]}-{key[2:]}"
    if key not in _HIVES:
        raise ToolError(f"There is no hive {key}. The hives are {', '.join(_HIVES)}.")
    keys = ("queen_year", "queen_mark", "race", "brood_frames", "supers", "temper", "last_opened")
    return json.dumps({"hive": key, **dict(zip(keys, _HIVES[key], strict=True))})


@tool(effect="pure")
def site_facts(site: str) -> str:
    """Tells about a place where hives stand: who owns the land, the village, what flowers there, the rent (jars of honey a year), which hives stand there and which of them stands on the scale.

    Args:
        site: Orchard, Heath, Riverside or Chapel.
    """
    for name, (letters, owner, village, flowers, rent, scale) in _SITES.items():
        if name.lower() in site.lower():
            return json.dumps(
                {
                    "site": name,
                    "land_owner": owner,
                    "village": village,
                    "flowers": flowers,
                    "rent_jars_per_year": rent,
                    "hives": [hive for hive in _HIVES if hive.startswith(letters)],
                    "hive_on_scale": scale,
                }
            )
    raise ToolError(f'We have no hives at "{site}". The sites are {", ".join(_SITES)}.')


@tool(effect="pure")
def honey_batch(batch: str) -> str:
    """The record of one extraction: which honey, from which site, when, kilograms, water content in percent, and how many jars of 500 g and of 250 g were filled.

    Args:
        batch: Year and number as printed on the lid, such as 25-01.
    """
    match = re.search(r"(\d\d)\D?(\d\d)\b", batch)
    key = f"{match.group(1)}-{match.group(2)}" if match else ""
    if key not in _BATCHES:
        known = ", ".join(f"{number} {row[0]}" for number, row in _BATCHES.items())
        raise ToolError(f'There is no batch "{batch}". This year\'s are {known}.')
    keys = ("honey", "site", "extracted_on", "kilograms", "water_percent", "jars_500_g", "jars_250_g")
    return json.dumps({"batch": key, **dict(zip(keys, _BATCHES[key], strict=True))})


@tool(effect="pure")
def jar_retail(honey: str, grams: int) -> str:
    """What one jar costs the customer at the stall or at the door, in euros.

    Args:
        honey: blossom, dandelion, acacia, linden, forest or heather.
        grams: 250, 500 or 1000.
    """
    name = _honey(honey)
    if grams not in _JARS[name]:
        raise ToolError(f"There is no jar of {grams} g of {name} honey. Sizes: {', '.join(map(str, _JARS[name]))} g.")
    return json.dumps({"honey": name, "grams": grams, "price_eur": _JARS[name][grams]})


@tool(effect="pure")
def case_wholesale(honey: str, grams: int) -> str:
    """What a shop pays us for a case of twelve jars, in euros, before its discount.

    Args:
        honey: blossom, dandelion, acacia, linden, forest or heather.
        grams: Size of the jars in the case, 250 or 500.
    """
    name = _honey(honey)
    if grams not in _CASES[name]:
        raise ToolError(f"No cases are packed with jars of {grams} g. Cases have jars of 250 or 500 g.")
    return json.dumps({"honey": name, "grams": grams, "jars": 12, "case_price_eur": _CASES[name][grams]})


@tool(effect="pure")
def stall_calendar(when: str) -> str:
    """The markets at which we have a stall: date, town, name of the market, fee for the pitch in euros, hours, and who of us stands there.

    Args:
        when: The time you want to know about.
    """
    for name, rows in _STALLS.items():
        if name in when.lower() or (name == "autumn" and "fall" in when.lower()):
            keys = ("date", "town", "market", "pitch_fee_eur", "hours", "seller")
            return json.dumps({"part": name, "stalls": [dict(zip(keys, row, strict=True)) for row in rows]})
    raise ToolError(
        f'The calendar has no page "{when}". Its pages are spring (March to May), summer (June to August) and autumn '
        "(September to November); in winter we have no stalls."
    )


@tool(effect="pure")
def stockist(shop: str) -> str:
    """A shop that sells our honey: owner, telephone, town, discount in percent, the batch and the number of cases of its last order, and the sum in euros that it has not paid yet.

    Args:
        shop: Name of the shop.
    """
    for name, row in _SHOPS.items():
        if name.lower() in shop.lower():
            keys = ("owner", "telephone", "town", "discount_percent", "last_batch", "last_cases", "unpaid_eur")
            return json.dumps({"shop": name, **dict(zip(keys, row, strict=True))})
    known = ", ".join(f"{name} ({row[0].split()[-1]}, {row[2]})" for name, row in _SHOPS.items())
    raise ToolError(f'No shop "{shop}" sells our honey. Give the name of the shop, not of its owner: {known}.')


def tools() -> list[Tool]:
    return [hive_notes, site_facts, honey_batch, jar_retail, case_wholesale, stall_calendar, stockist]
