"""A pawnbroker's on a high street: pledges, what it costs to redeem or extend them, metal rates, clients, the window, the valuers. All data is invented."""
# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

import json
import re
from datetime import date

from treadle import Tool, ToolError, tool

# fmt: off
# ticket: (client, thing, loan, per cent a month, lent on, last day, place, number in the window once forfeited)
_PLEDGES = {
    "118/25": ("C-14", "electric guitar, sunburst, with case", 180.0, 6, "2025-05-19", "2025-11-19", "right window", "W-117"),
    "131/25": ("C-32", "silver tea service, four pieces", 240.0, 5, "2025-12-08", "2026-12-08", "cage A, shelf 1", None),
    "118/26": ("C-30", "bangle, 18 ct gold, 21.4 g", 640.0, 5, "2026-08-03", "2027-02-03", "safe 2, drawer 7", None),
    "131/26": ("C-11", "diamond cluster ring", 420.0, 5, "2026-08-21", "2027-02-21", "safe 1, drawer 3", None),
    "134/26": ("C-19", "trumpet with silver mouthpiece", 150.0, 6, "2026-09-02", "2027-03-02", "cage B, shelf 2", None),
    "140/26": ("C-23", "diver's watch, steel, automatic", 560.0, 5, "2026-09-15", "2027-03-15", "safe 1, drawer 5", None),
    "146/26": ("C-26", "mirrorless camera and two lenses", 310.0, 6, "2026-09-28", "2027-03-28", "cage A, shelf 4", None),
    "152/26": ("C-17", "pearl necklace, two strands", 275.0, 5, "2026-10-06", "2027-04-06", "safe 2, drawer 1", None),
    "155/26": ("C-11", "brass carriage clock", 95.0, 6, "2026-10-12", "2027-04-12", "cage B, shelf 5", None),
    "159/26": ("C-32", "five gold sovereigns", 1450.0, 4, "2026-10-20", "2027-04-20", "safe 1, drawer 2", None),
}

# client: (name, address, telephone, proof of identity, valid until)
_CLIENTS = {
    "C-11": ("Marguerite Olufemi", "6 Tanner's Steps", "01632 960812", "passport", "2031-02-17"),
    "C-14": ("Rufus Tennant", "81 Gasworks Road", "01632 960829", "driving licence", "2028-07-04"),
    "C-17": ("Delphine Okonjo", "23 Priory Mews", "01632 960833", "passport", "2027-10-22"),
    "C-19": ("Callum Haverstock", "40 Ferry Terrace", "01632 960847", "driving licence", "2027-01-30"),
    "C-23": ("Sian Haverstock", "12 Bellfield Way", "01632 960874", "passport", "2029-05-11"),
    "C-26": ("Yusuf Demirel", "95 Gasworks Road", "01632 960858", "residence permit", "2028-03-09"),
    "C-30": ("Bronwen Pike", "2 Chapel Court", "01632 960885", "driving licence", "2030-12-01"),
    "C-32": ("Aleksander Wrona", "17 Weir Street", "01632 960891", "passport", "2026-12-19"),
}

# metal and fineness: (buying outright, lending), pounds a gram
_RATES = {
    ("gold", "9 ct"): (23.6, 16.5),
    ("gold", "14 ct"): (36.8, 25.75),
    ("gold", "18 ct"): (47.3, 33.1),
    ("gold", "22 ct"): (57.75, 40.4),
    ("silver", "sterling"): (0.62, 0.4),
    ("silver", "britannia"): (0.64, 0.42),
    ("platinum", "950"): (22.9, 15.6),
}

# number: (sort, description, price, where, months of guarantee)
_WINDOW = {
    "W-104": ("watches", "ladies' gold watch, 1968", 385.0, "left window", 12),
    "W-109": ("watches", "steel chronograph, automatic", 720.0, "counter case", 24),
    "W-112": ("music", "alto saxophone, lacquered", 465.0, "right window", 6),
    "W-117": ("music", "electric guitar, sunburst, with case", 289.0, "right window", 6),
    "W-121": ("jewellery", "sapphire ring, 18 ct", 540.0, "left window", 12),
    "W-122": ("jewellery", "sapphire pendant on a chain, 9 ct", 215.0, "left window", 12),
    "W-126": ("cameras", "rangefinder camera, 1957", 340.0, "counter case", 6),
    "W-130": ("silver", "pair of silver candlesticks", 195.0, "right window", 0),
    "W-133": ("music", "clarinet, ebony", 228.0, "right window", 6),
    "W-135": ("watches", "quartz watch, titanium", 140.0, "left window", 12),
}

_ROTA = {
    "Tuesday": [("10:00-16:00", "Hester Vane", "gold and gemstones"), ("13:00-17:30", "Odd Lindqvist", "watches and clocks")],
    "Wednesday": [("10:00-14:00", "Hester Vane", "gold and gemstones"), ("11:00-15:00", "Petra Munro", "musical instruments")],
    "Thursday": [("09:30-12:30", "Odd Lindqvist", "watches and clocks"), ("14:00-18:00", "Ravi Desai", "cameras and electronics")],
    "Friday": [("10:00-16:00", "Hester Vane", "gold and gemstones"), ("10:30-13:00", "Ravi Desai", "cameras and electronics")],
    "Saturday": [("09:00-12:00", "Petra Munro", "musical instruments"), ("10:00-15:00", "Odd Lindqvist", "watches and clocks")],
}
# fmt: on


def _pledge(text: str) -> str:
    match = re.search(r"(\d{1,4})(?:\s*[/-]\s*(?:20)?(\d\d))?(?!\d)", text)
    if not match:
        raise ToolError(f'"{text}" is not a ticket. A ticket is a number, a slash and the year, such as 100/26.')
    number, year = match.group(1).zfill(3), match.group(2)
    same = [key for key in _PLEDGES if key.startswith(f"{number}/")]
    if year is None:
        if not same:
            raise ToolError(f"There is no pledge {number} of any year.")
        raise ToolError(
            f"{number} is not complete: the numbers start again every January, so a ticket needs its year after a slash. "
            f"On the books with this number: {', '.join(same)}."
        )
    if f"{number}/{year}" not in _PLEDGES:
        hint = f" With this number we have: {', '.join(same)}." if same else ""
        raise ToolError(f"There is no pledge {number}/{year} on the books.{hint}")
    return f"{number}/{year}"


def _months_begun(start: date, end: date) -> int:
    months = (end.year - start.year) * 12 + end.month - start.month
    if end.day > start.day:
        months += 1
    return max(months, 1)


def _refuse_forfeited(ticket: str) -> None:
    last, piece = _PLEDGES[ticket][5], _PLEDGES[ticket][7]
    if piece:
        raise ToolError(
            f"Pledge {ticket} ran out on {last} and was not redeemed: it is forfeited, nothing can be paid on it any more. "
            f"The thing is for sale as {piece}; anyone, also the former owner, can buy it at the price given by window_pieces."
        )


@tool
def pledge_ticket(ticket: str) -> str:
    """The entry of a pawned thing in our books: what it is, whose it is (client code), the loan in pounds, the monthly interest, the day it was lent, the last day to redeem it, and where it is kept.

    Args:
        ticket: The number on the pawn ticket.
    """
    key = _pledge(ticket)
    client, thing, loan, rate, lent, last, place, piece = _PLEDGES[key]
    return "\n".join(
        [
            f"PLEDGE {key}    {'FORFEITED, for sale as ' + piece if piece else 'open'}",
            f"  thing          {thing}",
            f"  client         {client}",
            f"  loan           GBP {loan:.2f} at {rate} % a month",
            f"  lent on        {lent}",
            f"  redeem by      {last}",
            f"  kept in        {place}",
        ]
    )


@tool
def redemption_sum(ticket: str, day: str) -> str:
    """What a client has to pay on a given day to take the pawned thing home: the loan and the interest for every month begun.

    Args:
        ticket: The number on the pawn ticket.
        day: The day of payment, as YYYY-MM-DD.
    """
    key = _pledge(ticket)
    _refuse_forfeited(key)
    loan, rate, lent, last = _PLEDGES[key][2:6]
    try:
        when = date.fromisoformat(day.strip())
    except ValueError:
        raise ToolError(f'"{day}" is not a day. Write it as YYYY-MM-DD, such as 2026-11-02.') from None
    if not date.fromisoformat(lent) <= when <= date.fromisoformat(last):
        raise ToolError(f"Pledge {key} can be redeemed from {lent} to {last}; {when} is not within these days.")
    months = _months_begun(date.fromisoformat(lent), when)
    interest = round(loan * rate * months / 100, 2)
    return json.dumps(
        {
            "ticket": key,
            "day": str(when),
            "loan_gbp": loan,
            "months_begun": months,
            "interest_gbp": interest,
            "to_pay_gbp": round(loan + interest, 2),
        }
    )


@tool
def extension_fee(ticket: str) -> str:
    """What it costs to leave a thing in pawn for three months more, and the last day that it then has. The loan itself is not paid back by this.

    Args:
        ticket: The number on the pawn ticket.
    """
    key = _pledge(ticket)
    _refuse_forfeited(key)
    loan, rate, last = _PLEDGES[key][2], _PLEDGES[key][3], date.fromisoformat(_PLEDGES[key][5])
    month = last.month + 3
    later = last.replace(year=last.year + (month - 1) // 12, month=(month - 1) % 12 + 1)
    return json.dumps(
        {
            "ticket": key,
            "fee_gbp": round(loan * rate * 3 / 100, 2),
            "last_day_then": str(later),
        }
    )


@tool
def metal_rate(metal: str, fineness: str) -> str:
    """Today's rates for precious metal in pounds a gram: what we pay when we buy it, and what we lend when it is pawned.

    Args:
        metal: gold, silver or platinum.
        fineness: How pure it is: carats for gold (9 ct, 14 ct, 18 ct, 22 ct), sterling or britannia for silver, 950 for platinum.
    """
    kind = metal.strip().lower()
    offered = [fine for name, fine in _RATES if name in kind]
    if not offered:
        raise ToolError(f'There is no rate for "{metal}". We deal in gold, silver and platinum.')
    kind = next(name for name, _ in _RATES if name in kind)
    text = fineness.strip().lower()
    for fine in offered:
        if re.match(rf"{fine.split()[0]}(?!\d)", text):
            buying, lending = _RATES[kind, fine]
            return (
                f"{kind} {fine}, fixed at 09:15\n"
                f"  bought outright  {buying:.2f} GBP/g\n  lent in pawn     {lending:.2f} GBP/g"
            )
    raise ToolError(
        f'There is no rate for {kind} of fineness "{fineness}". The list has for {kind}: {", ".join(offered)}. '
        "(Stamps: 375 is 9 ct, 585 is 14 ct, 750 is 18 ct, 916 is 22 ct; 925 is sterling, 958 is britannia.)"
    )


@tool
def client_sheet(client: str) -> str:
    """A client's particulars: code, name, address, telephone, proof of identity with its last day, and the tickets they have open with us.

    Args:
        client: A surname, or a client code such as C-01.
    """
    code = re.search(r"\bC\s?-?\s?(\d\d)\b", client.upper())
    words = set(re.findall(r"[a-z]+", client.lower().replace("'s", "")))
    if code:
        hits = [key for key in _CLIENTS if key == f"C-{code.group(1)}"]
    else:
        hits = [key for key, row in _CLIENTS.items() if row[0].lower().split()[1] in words]
    if not hits:
        names = ", ".join(sorted({row[0].split()[1] for row in _CLIENTS.values()}))
        raise ToolError(
            f'We have no client "{client}". Ask by code (C-11 to C-32) or by surname; the surnames are {names}.'
        )
    keys = ("name", "address", "telephone", "identity", "identity_valid_until")
    return json.dumps(
        [
            {
                "code": key,
                **dict(zip(keys, _CLIENTS[key], strict=True)),
                "open_tickets": [t for t, row in _PLEDGES.items() if row[0] == key and not row[7]],
            }
            for key in hits
        ]
    )


@tool
def window_pieces(search: str) -> str:
    """Second-hand things for sale in our windows and in the counter case: number, description, price in pounds, where it lies, months of guarantee.

    Args:
        search: A sort (watches, jewellery, music, cameras, silver), a word of the description, or a number such as W-100.
    """
    text = search.strip().lower()
    words = [w[:-1] if w.endswith("s") and len(w) > 4 else w for w in re.findall(r"[a-z0-9]{3,}", text)]
    rows = []
    for number, (sort, what, price, where, months) in _WINDOW.items():
        hay = f"{sort} {what}".lower()
        if number.lower() in text or re.sub(r"\D", "", number) in words or any(w in hay for w in words):
            rows.append(f"{number} | {what} | {price:.2f} | {where} | {months or 'none'}")
    if not rows:
        raise ToolError(f'Nothing for sale fits "{search}". The sorts are: watches, jewellery, music, cameras, silver.')
    return "\n".join(["number | description | GBP | place | guarantee (months)", *rows])


@tool
def valuer_rota(day: str) -> str:
    """Which of our valuers are in on a day of the week, from when to when, and what each one judges.

    Args:
        day: A day of the week.
    """
    text = day.strip().lower()
    for name, rows in _ROTA.items():
        if name.lower() in text or (len(text) > 2 and name.lower().startswith(text.rstrip("."))):
            return "\n".join([f"{name}:", *(f"  {hours}  {who} ({what})" for hours, who, what in rows)])
    raise ToolError(f'No valuer is in on "{day}". Valuers come from Tuesday to Saturday.')


def tools() -> list[Tool]:
    return [pledge_ticket, redemption_sum, extension_fee, metal_rate, client_sheet, window_pieces, valuer_rota]
