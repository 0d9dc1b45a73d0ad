"""The wind farm: turbines, output, work orders and parts. All of it is made up.

treadle eval lab/evals/later/windfarm.jsonl --tools lab/evals/worlds/windfarm.py:tools --tools calculator
"""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import Literal

from world_kit import as_id

from treadle import Tool, ToolError, tool

TURBINES = {
    "T01": ("Norvane N82", 2300, 85, 2009),
    "T02": ("Norvane N82", 2300, 85, 2009),
    "T03": ("Norvane N82", 2300, 85, 2009),
    "T04": ("Norvane N82", 2300, 85, 2010),
    "T05": ("Norvane N90", 2500, 98, 2012),
    "T06": ("Norvane N90", 2500, 98, 2012),
    "T07": ("Norvane N90", 2500, 98, 2012),
    "T08": ("Norvane N90", 2500, 98, 2013),
    "T09": ("Zephal 112", 3050, 119, 2016),
    "T10": ("Zephal 112", 3050, 119, 2016),
    "T11": ("Zephal 112", 3050, 134, 2016),
    "T12": ("Zephal 112", 3050, 134, 2017),
    "T13": ("Zephal 126", 3450, 137, 2020),
    "T14": ("Zephal 126", 3450, 137, 2020),
    "T15": ("Zephal 126", 3450, 149, 2020),
    "T16": ("Zephal 126", 3450, 149, 2021),
}
"""Turbine: model, rated kW, hub height in m, year of commissioning."""

DAILY_MWH = {  # 1 to 14 March 2026
    "T01": [21.2, 17.1, 10.1, 5.4, 16.4, 31.6, 41.8, 34.7, 26.0, 12.7, 18.5, 33.7, 46.3, 32.6],
    "T02": [24.3, 15.2, 10.9, 5.0, 13.8, 31.3, 36.6, 39.2, 29.4, 13.0, 17.6, 33.2, 49.1, 32.1],
    "T03": [21.2, 15.6, 11.0, 5.4, 15.1, 33.7, 35.6, 34.1, 27.9, 11.3, 18.5, 30.9, 49.2, 32.8],
    "T04": [21.9, 16.6, 10.0, 5.1, 15.8, 30.7, 37.4, 38.3, 27.1, 12.4, 18.9, 33.0, 42.9, 38.0],
    "T05": [27.7, 18.8, 12.1, 5.8, 16.7, 34.0, 45.8, 35.0, 27.2, 11.8, 22.1, 31.5, 51.7, 34.6],
    "T06": [25.1, 19.0, 9.7, 6.0, 17.2, 29.4, 47.4, 35.5, 30.1, 12.7, 22.2, 34.4, 44.8, 34.3],
    "T07": [26.3, 17.3, 11.3, 5.1, 15.9, 34.4, 43.8, 35.8, 28.3, 14.4, 21.0, 36.3, 45.6, 39.1],
    "T08": [22.7, 19.8, 10.7, 5.9, 17.8, 30.8, 38.5, 41.9, 32.0, 12.9, 21.2, 33.3, 52.4, 33.8],
    "T09": [32.1, 21.5, 13.8, 6.5, 18.9, 36.0, 50.8, 43.4, 35.3, 14.8, 27.3, 46.3, 64.7, 44.3],
    "T10": [33.3, 23.2, 13.2, 5.8, 17.5, 44.5, 53.5, 51.7, 32.2, 14.9, 28.5, 38.1, 61.1, 48.7],
    "T11": [31.2, 23.2, 14.1, 6.4, 20.9, 42.9, 54.8, 44.5, 39.1, 14.7, 25.2, 40.4, 61.5, 48.6],
    "T12": [30.8, 21.6, 14.7, 7.1, 20.1, 39.6, 52.9, 44.1, 35.1, 17.1, 27.2, 41.2, 54.1, 41.9],
    "T13": [36.5, 24.8, 13.7, 7.1, 23.5, 46.1, 61.5, 53.9, 36.1, 18.2, 32.1, 46.3, 64.1, 49.0],
    "T14": [35.3, 24.9, 16.0, 8.1, 23.8, 45.7, 64.1, 49.2, 35.8, 16.2, 25.6, 53.6, 66.4, 57.2],
    "T15": [31.8, 23.8, 16.4, 7.3, 21.3, 40.3, 53.5, 50.3, 37.1, 17.2, 31.1, 50.6, 64.0, 52.9],
    "T16": [31.9, 27.6, 16.2, 7.7, 24.9, 49.4, 57.0, 56.9, 37.4, 20.0, 29.0, 44.9, 72.3, 55.1],
}

MONTHLY = {  # MWh and availability in percent, by month
    "T01": {
        "2025-10": (553.2, 94.3),
        "2025-11": (645.2, 93.8),
        "2025-12": (670.5, 94.7),
        "2026-01": (700.8, 99.0),
        "2026-02": (476.6, 94.8),
    },
    "T02": {
        "2025-10": (508.0, 97.1),
        "2025-11": (566.8, 99.2),
        "2025-12": (612.0, 95.9),
        "2026-01": (696.3, 99.5),
        "2026-02": (549.5, 98.6),
    },
    "T03": {
        "2025-10": (504.3, 94.1),
        "2025-11": (623.5, 94.2),
        "2025-12": (693.0, 98.2),
        "2026-01": (727.0, 97.8),
        "2026-02": (524.2, 96.0),
    },
    "T04": {
        "2025-10": (563.3, 97.3),
        "2025-11": (611.9, 96.9),
        "2025-12": (728.1, 96.2),
        "2026-01": (754.8, 97.5),
        "2026-02": (472.9, 95.9),
    },
    "T05": {
        "2025-10": (569.3, 97.8),
        "2025-11": (627.6, 96.8),
        "2025-12": (751.3, 95.6),
        "2026-01": (767.2, 94.2),
        "2026-02": (518.2, 98.7),
    },
    "T06": {
        "2025-10": (524.0, 95.9),
        "2025-11": (640.1, 95.8),
        "2025-12": (755.1, 98.6),
        "2026-01": (705.6, 95.8),
        "2026-02": (536.0, 95.3),
    },
    "T07": {
        "2025-10": (536.4, 96.2),
        "2025-11": (620.9, 94.1),
        "2025-12": (722.0, 93.8),
        "2026-01": (809.5, 99.2),
        "2026-02": (581.4, 95.0),
    },
    "T08": {
        "2025-10": (549.7, 98.2),
        "2025-11": (614.0, 97.6),
        "2025-12": (680.3, 96.5),
        "2026-01": (770.1, 97.8),
        "2026-02": (571.2, 97.5),
    },
    "T09": {
        "2025-10": (622.6, 94.8),
        "2025-11": (727.3, 96.9),
        "2025-12": (823.4, 97.3),
        "2026-01": (871.1, 98.6),
        "2026-02": (637.8, 97.5),
    },
    "T10": {
        "2025-10": (700.4, 94.1),
        "2025-11": (777.3, 95.6),
        "2025-12": (871.8, 98.5),
        "2026-01": (1007.4, 95.5),
        "2026-02": (618.1, 96.0),
    },
    "T11": {
        "2025-10": (637.1, 97.7),
        "2025-11": (761.7, 94.8),
        "2025-12": (895.7, 95.1),
        "2026-01": (996.6, 97.0),
        "2026-02": (741.7, 96.1),
    },
    "T12": {
        "2025-10": (721.5, 95.6),
        "2025-11": (848.9, 94.7),
        "2025-12": (856.3, 94.0),
        "2026-01": (898.4, 96.3),
        "2026-02": (739.3, 97.6),
    },
    "T13": {
        "2025-10": (846.9, 98.3),
        "2025-11": (810.8, 96.8),
        "2025-12": (940.7, 99.5),
        "2026-01": (1090.3, 95.8),
        "2026-02": (840.4, 97.4),
    },
    "T14": {
        "2025-10": (726.1, 95.2),
        "2025-11": (882.0, 97.0),
        "2025-12": (948.5, 97.9),
        "2026-01": (956.4, 96.3),
        "2026-02": (811.6, 98.4),
    },
    "T15": {
        "2025-10": (789.6, 94.5),
        "2025-11": (843.0, 98.2),
        "2025-12": (1032.1, 94.4),
        "2026-01": (1065.6, 96.7),
        "2026-02": (753.5, 99.4),
    },
    "T16": {
        "2025-10": (763.0, 94.7),
        "2025-11": (939.8, 97.2),
        "2025-12": (1055.5, 97.2),
        "2026-01": (1064.2, 99.2),
        "2026-02": (745.2, 93.6),
    },
}

WORK_ORDERS = {
    "WO-01087": ("T05", "done", "Replace anemometer", "Jarek Wolniak", "2025-11-12", 3, "ANM-012", 1),
    "WO-01091": ("T10", "done", "Clean transformer filter", "Nadia Rehmann", "2025-11-19", 2, "FLT-077", 2),
    "WO-01094": ("T01", "done", "Change gearbox oil filter", "Bodil Kjaer", "2025-11-26", 4, "FLT-070", 1),
    "WO-01098": ("T02", "done", "Replace pitch batteries", "Jarek Wolniak", "2025-12-03", 6, "BAT-018", 18),
    "WO-01103": ("T13", "done", "Reset fire alarm", "Tobias Engström", "2025-12-09", 1, None, 0),
    "WO-01109": ("T16", "done", "Repair obstruction light", "Nadia Rehmann", "2025-12-16", 2, "LMP-004", 1),
    "WO-01115": ("T02", "done", "Repaint tower door", "Bodil Kjaer", "2026-01-08", 5, None, 0),
    "WO-01120": ("T07", "done", "Replace yaw sensor", "Tobias Engström", "2026-01-14", 3, "SNS-221", 1),
    "WO-01126": ("T12", "done", "Retighten blade bolts", "Jarek Wolniak", "2026-01-21", 7, None, 0),
    "WO-01131": ("T08", "done", "Replace obstruction light", "Nadia Rehmann", "2026-01-29", 2, "LMP-004", 1),
    "WO-01134": ("T04", "done", "Grease main bearing", "Bodil Kjaer", "2026-02-04", 2, "GRS-500", 3),
    "WO-01138": ("T15", "done", "Inspect lightning receptors", "Ruben Achterberg", "2026-02-11", 4, None, 0),
    "WO-01142": ("T11", "open", "Replace converter fan", "Ruben Achterberg", "2026-03-18", 4, "FAN-032", 2),
    "WO-01145": ("T02", "open", "Change gearbox oil", "Bodil Kjaer", "2026-03-19", 8, "OIL-320", 12),
    "WO-01150": ("T06", "open", "Replace hydraulic hoses", "Nadia Rehmann", "2026-03-20", 5, "HSE-145", 9),
    "WO-01153": ("T08", "open", "Recalibrate wind vane", "Jarek Wolniak", "2026-03-23", 2, None, 0),
    "WO-01157": ("T13", "open", "Replace brake pads", "Tobias Engström", "2026-03-24", 6, "BRK-061", 4),
    "WO-01160": ("T01", "open", "Replace generator brushes", "Nadia Rehmann", "2026-03-25", 4, "BRU-016", 6),
    "WO-01163": ("T04", "open", "Replace capacitor bank", "Ruben Achterberg", "2026-03-26", 7, "CAP-440", 8),
    "WO-01168": ("T09", "open", "Replace lift cable", "Jarek Wolniak", "2026-03-27", 9, "CBL-210", 1),
    "WO-01172": ("T14", "open", "Repair leading edge of blade B", "Bodil Kjaer", "2026-03-30", 16, "TAP-088", 5),
    "WO-01176": ("T16", "open", "Replace pitch motor", "Tobias Engström", "2026-03-31", 10, "MOT-305", 1),
    "WO-01181": ("T03", "open", "Replace cooling pump", "Nadia Rehmann", "2026-04-01", 5, "PMP-108", 1),
    "WO-01187": ("T15", "open", "Replace yaw brake seals", "Bodil Kjaer", "2026-04-14", 6, "SEA-073", 10),
}
"""Order: turbine, status, title, technician, planned day, hours, part, quantity."""

PARTS = {
    "ANM-012": ("anemometer", 3, 412.00, "A-02"),
    "BAT-018": ("pitch battery", 24, 38.90, "C-11"),
    "BRG-214": ("yaw bearing pad", 17, 96.50, "B-07"),
    "BRK-061": ("brake pad", 8, 154.00, "B-03"),
    "BRU-016": ("generator brush", 30, 21.75, "A-14"),
    "CAP-440": ("capacitor", 11, 137.40, "C-04"),
    "CBL-210": ("lift cable", 1, 890.00, "D-01"),
    "FAN-032": ("converter fan", 5, 263.20, "C-09"),
    "FLT-070": ("gearbox oil filter", 9, 58.60, "A-06"),
    "FLT-077": ("transformer air filter", 14, 19.30, "A-07"),
    "GRS-500": ("bearing grease cartridge", 42, 12.80, "E-02"),
    "HSE-145": ("hydraulic hose", 2, 74.25, "B-12"),
    "LMP-004": ("obstruction light", 6, 228.00, "A-10"),
    "MOT-305": ("pitch motor", 0, 3180.00, "D-05"),
    "OIL-320": ("gearbox oil, 20 litre can", 15, 184.00, "E-05"),
    "PMP-108": ("cooling pump", 2, 546.70, "B-15"),
    "SEA-073": ("yaw brake seal", 26, 9.45, "A-19"),
    "SNS-221": ("yaw sensor", 4, 117.90, "A-12"),
    "TAP-088": ("leading edge tape, roll", 7, 203.50, "E-08"),
}
"""Part: name, number in stock, euros each, bin."""

REPLACED = {"PMP-008": "PMP-108", "BRK-060": "BRK-061", "SNS-120": "SNS-221"}


def _turbine(given: str) -> str:
    if as_id(given) not in TURBINES:
        raise ToolError(f"unknown turbine {given!r}, ids go from T01 to T16")
    return as_id(given)


@tool(effect="pure")
def turbine_info(turbine_id: str) -> str:
    """Technical data of a turbine: model, rated power, hub height, year of commissioning.

    Args:
        turbine_id: turbine id like T01
    """
    key = _turbine(turbine_id)
    model, rated, hub, year = TURBINES[key]
    return json.dumps({"id": key, "model": model, "rated_kw": rated, "hub_height_m": hub, "commissioned": year})


@tool(effect="pure")
def daily_output(turbine_id: str, date: str) -> str:
    """Energy produced by a turbine on a single day.

    Args:
        turbine_id: turbine id like T01
        date: YYYY-MM-DD
    """
    key = _turbine(turbine_id)
    try:
        day = datetime.strptime(date.strip(), "%Y-%m-%d").date()
    except ValueError:
        raise ToolError("date must have the form YYYY-MM-DD") from None
    if (day.year, day.month) != (2026, 3) or day.day > 14:
        raise ToolError("daily values are kept for 2026-03-01 to 2026-03-14 only")
    return json.dumps({"turbine": key, "date": day.isoformat(), "mwh": DAILY_MWH[key][day.day - 1]})


@tool(effect="pure")
def monthly_output(turbine_id: str, year: int, month: int) -> str:
    """Energy produced by a turbine in a whole month, and its technical availability in that month.

    Args:
        turbine_id: turbine id like T01
        year: four digits
        month: 1-12
    """
    key, name = _turbine(turbine_id), f"{year}-{month:02}"
    if name not in MONTHLY[key]:
        raise ToolError(f"no monthly report for {name}; there are reports from 2025-10 to 2026-02")
    mwh, available = MONTHLY[key][name]
    return json.dumps({"turbine": key, "month": name, "mwh": mwh, "availability_percent": available})


@tool(effect="pure")
def list_work_orders(turbine_id: str, status: Literal["open", "done", "all"] = "open") -> str:
    """List the maintenance work orders of a turbine (id, title and status).

    Args:
        turbine_id: turbine id like T01
        status: which orders to list
    """
    key = _turbine(turbine_id)
    orders = [
        {"id": number, "title": order[2], "status": order[1]}
        for number, order in WORK_ORDERS.items()
        if order[0] == key and status in ("all", order[1])
    ]
    return json.dumps(orders)


@tool(effect="pure")
def get_work_order(order_id: str) -> str:
    """Get one work order: technician, planned date, hours, and the spare part it needs.

    Args:
        order_id: the order's id
    """
    key = as_id(order_id)
    if not re.fullmatch(r"WO-\d{5}", key):
        raise ToolError(f"{order_id!r} is not a valid order id: write WO- and five digits, for instance WO-00042")
    if key not in WORK_ORDERS:
        raise ToolError(f"no work order {key}")
    turbine, status, title, technician, day, hours, part, quantity = WORK_ORDERS[key]
    order = {"id": key, "turbine": turbine, "title": title, "status": status, "technician": technician}
    order |= {"date": day, "hours": hours, "part_no": part, "quantity": quantity}
    return json.dumps(order, ensure_ascii=False)


@tool(effect="pure")
def check_part(part_no: str) -> str:
    """Look up a spare part in the store: name, pieces in stock, price per piece in EUR, bin.

    Args:
        part_no: part number
    """
    key = as_id(part_no)
    if key in REPLACED:
        raise ToolError(f"{key} is an old number, it was replaced by {REPLACED[key]}")
    if key not in PARTS:
        raise ToolError(f"no part with the number {part_no!r}")
    name, stock, price, place = PARTS[key]
    return json.dumps({"part_no": key, "name": name, "in_stock": stock, "price_eur": price, "bin": place})


def tools() -> list[Tool]:
    return [turbine_info, daily_output, monthly_output, list_work_orders, get_work_order, check_part]
