"""A bookbinder's workshop: orders, prices of bindings, leather, papers, suppliers, courses. All data is invented."""
# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

import json
import re

from treadle import Tool, ToolError, tool

# fmt: off
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)

# number: (customer's first name, surname, item, taken in, stage, binder, ready on, price, deposit paid)
_ORDERS = {
    "24-057": ("Ottilie", "Brandreth", "two volumes of sermons", "12 March 2024", "collected", "Piers Wakeling", "2 May 2024", 264.0, 80.0),
    "24-133": ("Samuel", "Adeyemi", "cookery notebook", "9 September 2024", "collected", "Hana Iwasaki", "4 October 2024", 58.0, 20.0),
    "25-031": ("Rosalind", "Thackray", "parish magazine, year 1911", "3 February 2025", "collected", "Hana Iwasaki", "7 March 2025", 96.0, 30.0),
    "25-057": ("Leopold", "Nunn", "botanical atlas", "24 March 2025", "waiting for leather", "Hana Iwasaki", "11 July 2025", 318.0, 100.0),
    "25-088": ("Samuel", "Adeyemi", "school atlas", "28 April 2025", "ready for collection", "Piers Wakeling", "6 June 2025", 187.5, 55.0),
    "25-094": ("Rosalind", "Thackray", "family Bible", "6 May 2025", "repairing the spine", "Magda Ollerton", "18 July 2025", 342.0, 120.0),
    "25-095": ("Rosalind", "Thackray", "guest book", "6 May 2025", "pressing", "Hana Iwasaki", "24 June 2025", 74.0, 25.0),
    "25-102": ("Declan", "Moriarty", "doctoral thesis, four copies", "13 May 2025", "sewing", "Hana Iwasaki", "20 June 2025", 236.0, 70.0),
    "25-109": ("Annika", "Solheim", "ship's log", "20 May 2025", "gold tooling", "Magda Ollerton", "1 August 2025", 415.0, 150.0),
    "25-116": ("Ottilie", "Brandreth", "hymn book", "27 May 2025", "glueing up", "Piers Wakeling", "30 June 2025", 88.0, 35.0),
}

# style: (octavo, quarto, folio), working days
_PRICES = {
    "full cloth": ((46.0, 58.5, 79.0), 12),
    "half leather": ((112.0, 148.0, 196.5), 20),
    "full leather": ((178.0, 231.0, 305.0), 30),
    "paper boards": ((31.5, 39.0, 52.0), 8),
}

# kind: (colour, skins in stock, price per skin, code of the supplier)
_LEATHER = {
    "goat": [("red", 7, 68.0, "PW2"), ("navy", 3, 71.5, "PW2"), ("black", 4, 64.0, "HF1"), ("tan", 2, 59.0, "HF1")],
    "calf": [("brown", 5, 82.0, "HF1"), ("green", 1, 88.5, "TL7"), ("natural", 6, 77.0, "HF1")],
    "sheep": [("red", 9, 31.0, "TL7"), ("brown", 12, 28.5, "TL7")],
}

# kind: (name, sheets in stock, price per sheet, code of the supplier)
_PAPERS = {
    "marbled": [("Peacock blue", 23, 9.4, "MV3"), ("Peacock red", 8, 9.4, "MV3"), ("Stone grey", 41, 7.2, "MV3"), ("Spanish wave", 5, 11.8, "AR5")],
    "paste": [("Ochre comb", 17, 6.5, "AR5"), ("Indigo swirl", 30, 6.9, "AR5")],
    "laid": [("Cream 120 g", 210, 1.35, "KB4"), ("White 90 g", 340, 0.95, "KB4")],
}

# code: (name, town, telephone, days for delivery, smallest order)
_SUPPLIERS = {
    "AR5": ("Atelier Renouard", "Angers", "+33 241 550 172", 11, 60.0),
    "HF1": ("Hartley & Frome", "Walsall", "01922 555 310", 4, 100.0),
    "KB4": ("Kirkbride Mill", "Kendal", "01539 555 826", 3, 40.0),
    "MV3": ("Carta Veneta", "Mestre", "+39 041 555 0943", 9, 75.0),
    "PW2": ("Penwarden Skins", "Bodmin", "01208 555 447", 6, 120.0),
    "TL7": ("Tarn Leather", "Mazamet", "+33 563 550 268", 8, 90.0),
}

# month: (title, first day, days, level, teacher, price, places left)
_COURSES = {
    "February": [("Boxes and Slipcases", "Saturday 15 February", 1, "beginners", "Hana Iwasaki", 85.0, 0)],
    "April": [("Japanese Sewing", "Saturday 12 April", 1, "beginners", "Hana Iwasaki", 78.0, 0)],
    "June": [("Leather Paring", "Friday 27 June", 2, "advanced", "Magda Ollerton", 195.0, 1)],
    "September": [("Marbling for Everyone", "Sunday 14 September", 1, "beginners", "Piers Wakeling", 92.5, 5)],
    "October": [
        ("Gold Tooling", "Friday 3 October", 3, "advanced", "Magda Ollerton", 290.0, 2),
        ("Your First Book", "Saturday 11 October", 2, "beginners", "Piers Wakeling", 145.0, 0),
        ("Notebooks in a Day", "Sunday 19 October", 1, "beginners", "Hana Iwasaki", 82.0, 3),
        ("Repairing Hinges", "Saturday 25 October", 1, "advanced", "Piers Wakeling", 110.0, 4),
    ],
}
# fmt: on


@tool
def find_orders(customer: str) -> str:
    """All orders of a customer: order number, item and the day it was taken in.

    Args:
        customer: Surname of the customer.
    """
    words = re.findall(r"[a-z]+", customer.lower())
    found = [
        {"order": number, "customer": f"{data[0]} {data[1]}", "item": data[2], "taken_in": data[3]}
        for number, data in _ORDERS.items()
        if data[1].lower() in words
    ]
    if not found:
        raise ToolError(f'There are no orders of "{customer}". Give the surname as written on the receipt.')
    return json.dumps(found)


@tool
def order_state(order: str) -> str:
    """One order: customer, item, stage of the work, binder, day on which it is ready, price and deposit paid in GBP.

    Args:
        order: Number of the order.
    """
    key = re.sub(r"(?i)order|number|no\.?", "", order).strip()
    if not re.fullmatch(r"\d\d-\d{3}", key):
        raise ToolError(
            f'"{order}" is not a complete order number. It is two digits for the year, a hyphen and three digits: '
            "no. 8 of the year 2023 is 23-008."
        )
    if key not in _ORDERS:
        raise ToolError(f"There is no order {key}. The orders of a customer can be found by surname.")
    first, last, item, taken, stage, binder, ready, price, deposit = _ORDERS[key]
    return json.dumps(
        {
            "order": key,
            "customer": f"{first} {last}",
            "item": item,
            "taken_in": taken,
            "stage": stage,
            "binder": binder,
            "ready_on": ready,
            "price": price,
            "deposit_paid": deposit,
            "currency": "GBP",
        }
    )


@tool
def binding_price(style: str, size: str) -> str:
    """Price in GBP of binding one book, and how many working days it takes.

    Args:
        style: full cloth, half leather, full leather or paper boards.
        size: Size of the book.
    """
    key = style.strip().lower()
    if key not in _PRICES:
        raise ToolError(f'There is no binding "{style}". The styles are {", ".join(_PRICES)}.')
    sizes = ("octavo", "quarto", "folio")
    name = size.strip().lower()
    if name not in sizes:
        raise ToolError(
            f'"{size}" is not a size of the price list. Use octavo (up to A5, 22 cm high), quarto (above that, up to A4, '
            "30 cm high) or folio (anything larger)."
        )
    prices, days = _PRICES[key]
    return json.dumps(
        {"style": key, "size": name, "price": prices[sizes.index(name)], "working_days": days, "currency": "GBP"}
    )


@tool
def leather_stock(kind: str) -> str:
    """Leather of one kind in the store: for each colour the number of skins, price per skin in GBP and code of the supplier.

    Args:
        kind: Kind of leather.
    """
    words = re.findall(r"[a-z]+", kind.lower())
    for name, rows in _LEATHER.items():
        if name in words or f"{name}skin" in words:
            keys = ("colour", "skins", "price_per_skin", "supplier")
            return json.dumps({"leather": name, "stock": [dict(zip(keys, row, strict=True)) for row in rows]})
    raise ToolError(
        f'There is no leather listed as "{kind}". Leather is listed by the animal: goat (the trade also says morocco), '
        "calf, sheep (also called roan or skiver)."
    )


@tool
def paper_stock(kind: str) -> str:
    """Decorated and plain papers in the store: for each paper of a kind the number of sheets, price per sheet in GBP and code of the supplier.

    Args:
        kind: marbled, paste or laid.
    """
    words = re.findall(r"[a-z]+", kind.lower())
    for name, rows in _PAPERS.items():
        if name in words:
            keys = ("name", "sheets", "price_per_sheet", "supplier")
            return json.dumps({"paper": name, "stock": [dict(zip(keys, row, strict=True)) for row in rows]})
    raise ToolError(f'There is no paper of the kind "{kind}". The kinds are {", ".join(_PAPERS)}.')


@tool
def supplier(code: str) -> str:
    """A supplier of leather or paper: name, town, telephone, days for delivery and smallest order in GBP.

    Args:
        code: Code of the supplier, for example XY9.
    """
    key = code.strip().upper()
    if key not in _SUPPLIERS:
        raise ToolError(f'There is no supplier "{code}". The code stands with each leather and paper in the store.')
    keys = ("name", "town", "telephone", "delivery_days", "smallest_order")
    return json.dumps({"code": key, **dict(zip(keys, _SUPPLIERS[key], strict=True))})


@tool
def courses(month: str) -> str:
    """The courses of one month: title, first day, number of days, level, teacher, price in GBP and places left.

    Args:
        month: Name of the month, for example May.
    """
    short = month.strip().lower().rstrip(".")
    found = [name for name in _MONTHS if len(short) > 2 and (name.lower().startswith(short) or name.lower() in short)]
    if len(found) != 1:
        raise ToolError(f'"{month}" is not the name of a month. Write it out, January to December.')
    keys = ("title", "first_day", "days", "level", "teacher", "price", "places_left")
    rows = [dict(zip(keys, row, strict=True)) for row in _COURSES.get(found[0], [])]
    return json.dumps({"month": found[0], "courses": rows})


def tools() -> list[Tool]:
    return [find_orders, order_state, binding_price, leather_stock, paper_stock, supplier, courses]
