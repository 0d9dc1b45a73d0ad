"""A laundry and dry cleaner's with two counters: prices, bags, tickets, customers, racks, machines, the van. All data is invented."""
# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

import json
import re

from treadle import Tool, ToolError, tool

# fmt: off
# garment: (wash and iron, dry clean, iron only); None: not done
_GARMENTS = {
    "wedding dress": (None, 88.0, 32.5),
    "shirt": (3.4, 5.9, 2.15),
    "blouse": (4.1, 6.75, 2.6),
    "trousers": (5.3, 8.2, 3.45),
    "suit": (None, 17.4, 8.9),
    "dress": (9.6, 14.25, 6.3),
    "coat": (None, 19.8, 7.7),
    "duvet": (21.5, 33.0, None),
    "tie": (None, 6.1, 2.9),
    "curtains": (18.6, 27.3, 11.2),
}
_TREATMENTS = ("wash and iron", "dry clean", "iron only")
_GARMENT_HELP = "shirt, blouse, trousers, suit (dinner suits, tuxedos and uniforms count as a suit), dress, wedding dress, coat (jackets and anoraks count as a coat), duvet, tie, curtains (a pair)"

# size: (up to kg, washed and dried, washed dried and folded, hours)
_BAGS = {"small": (5, 8.1, 9.2, 4), "medium": (9, 12.3, 14.6, 6), "large": (14, 17.7, 19.9, 8)}

# ticket: (customer, things, state, ready on, rack, price)
_TICKETS = {
    "PS-3307": ("640", "two shirts and a tie", "ready", "Wednesday", "B4", 12.9),
    "MK-3307": ("663", "a winter coat", "ready", "Tuesday", "D2", 19.8),
    "PS-4821": ("611", "a wedding dress", "stain treatment", "Friday", None, 88.0),
    "MK-4821": ("679", "three pairs of trousers", "ready", "Monday", "A5", 15.9),
    "PS-4836": ("624", "a suit and five shirts", "ready", "Tuesday", "C1", 34.4),
    "PS-4850": ("641", "a dress", "ready", "Monday", "A5", 14.25),
    "MK-4877": ("637", "a pair of curtains", "drying", "Thursday", None, 27.3),
    "PS-4902": ("658", "sixty napkins and twelve tablecloths", "ready", "Tuesday", "D2", 54.0),
    "MK-4911": ("685", "twenty-four aprons", "washing", "Wednesday", None, 40.8),
    "PS-4915": ("624", "a duvet", "drying", "Friday", None, 33.0),
}

# customer number: (name, address, telephone, starch, stamps, owed from earlier months)
_PATRONS = {
    "611": ("Winifred Castellane", "14 Quarry Lane", "01632 960143", "light", 7, 0.0),
    "624": ("Tobias Renshaw", "3 Abbot's Yard", "01632 960218", "none", 4, 23.6),
    "637": ("Ingrid Maltravers", "58 Cooper Row", "01632 960377", "heavy", 9, 0.0),
    "640": ("Desmond Achebe", "27 Mill Street, flat 2", "01632 960405", "medium", 2, 11.85),
    "641": ("Lorna Achebe", "27 Mill Street, flat 2", "01632 960405", "none", 6, 0.0),
    "658": ("Hotel Belvoir", "1 Station Parade", "01632 960500", "heavy", 0, 312.4),
    "663": ("Priya Somerville", "9 Larch Close", "01632 960561", "light", 3, 0.0),
    "679": ("Osric Dunleavy", "120 Canal Street", "01632 960634", "medium", 8, 7.3),
    "685": ("Cafe Mirabel", "44 Market Hall", "01632 960702", "none", 0, 61.2),
}

# machine: (maker, load in kg, state, minutes left, degrees, next service)
_MACHINES = {
    "W1": ("Halden", 10, "running", 22, 60, "14 October"),
    "W2": ("Halden", 10, "idle", 0, None, "3 November"),
    "W3": ("Bruckner", 18, "running", 41, 40, "27 September"),
    "W4": ("Bruckner", 25, "waiting for a new pump", 0, None, "9 December"),
    "D1": ("Tornado", 14, "running", 12, 75, "21 October"),
    "D2": ("Tornado", 14, "idle", 0, None, "21 October"),
    "D3": ("Scirocco", 30, "running", 35, 65, "5 October"),
}

# day: (driver, [(time, customer, what happens, ticket)])
_ROUNDS = {
    "Monday": ("Kirsty", [("08:30", "658", "collect", None), ("12:10", "679", "deliver", "MK-4821")]),
    "Tuesday": ("Moses", [("09:00", "663", "deliver", "MK-3307"), ("09:40", "658", "deliver", "PS-4902"), ("11:20", "640", "collect", None)]),
    "Wednesday": ("Kirsty", [("08:45", "685", "deliver", "MK-4911"), ("10:30", "640", "deliver", "PS-3307"), ("15:10", "637", "collect", None)]),
    "Thursday": ("Moses", [("13:00", "637", "deliver", "MK-4877"), ("14:25", "679", "collect", None)]),
    "Friday": ("Kirsty", [("09:30", "611", "deliver", "PS-4821"), ("11:00", "624", "deliver", "PS-4915"), ("16:45", "641", "collect", None)]),
}
# fmt: on


def _treatment(text: str) -> int:
    key = text.strip().lower()
    if re.search(r"\bdry", key):
        return 1
    if re.search(r"wash|launder", key):
        return 0
    if re.search(r"iron|press", key):
        return 2
    raise ToolError(f'We do not know the treatment "{text}". It is one of: {", ".join(_TREATMENTS)}.')


@tool
def quote_garment(garment: str, treatment: str) -> str:
    """What we charge, in pounds, for a single piece of clothing or household textile.

    Args:
        garment: What it is, in the singular, such as shirt.
        treatment: wash and iron, dry clean, or iron only.
    """
    key, which = garment.strip().lower(), _treatment(treatment)
    for name, prices in _GARMENTS.items():
        stem = name.rstrip("s") if name not in ("dress", "wedding dress") else name
        if re.search(rf"\b{stem}(?:s|es)?\b", key):
            if prices[which] is None:
                offered = " or ".join(t for t, p in zip(_TREATMENTS, prices, strict=True) if p is not None)
                raise ToolError(f"We do not {_TREATMENTS[which]} this piece ({name}). We offer: {offered}.")
            return json.dumps({"garment": name, "treatment": _TREATMENTS[which], "price_gbp": prices[which]})
    raise ToolError(f'The list has no line for "{garment}". Its lines are: {_GARMENT_HELP}.')


@tool
def bag_wash_rates(size: str) -> str:
    """Mixed everyday washing handed in by the bag: the most it may weigh, the price in pounds with and without folding, and how many hours it takes.

    Args:
        size: small (up to 5 kg), medium (up to 9 kg) or large (up to 14 kg).
    """
    for name, (kilos, dried, folded, hours) in _BAGS.items():
        if name in size.lower():
            return json.dumps(
                {
                    "size": name,
                    "up_to_kg": kilos,
                    "washed_and_dried_gbp": dried,
                    "washed_dried_and_folded_gbp": folded,
                    "hours": hours,
                }
            )
    raise ToolError(
        f'There is no bag "{size}". Bags are small (up to 5 kg), medium (up to 9 kg) or large (up to 14 kg).'
    )


@tool
def trace_ticket(ticket: str) -> str:
    """Follow up a ticket: the customer's number, what was handed in, how far it is, the day it is ready, the rack where it hangs and the price in pounds.

    Args:
        ticket: The ticket.
    """
    key = re.sub(r"[^A-Z0-9]", "", ticket.upper().replace("TICKET", ""))
    if not re.fullmatch(r"(PS|MK)\d{4}", key):
        raise ToolError(
            f'"{ticket}" is not a whole ticket. A ticket has the letters of the counter (PS for Pemberton Street, MK for '
            "Market Hall), a hyphen and four digits, such as PS-1234; both counters use the same digits."
        )
    key = f"{key[:2]}-{key[2:]}"
    if key not in _TICKETS:
        raise ToolError(f"There is no open ticket {key}. Please read it again: two letters and four digits.")
    patron, things, state, ready, rack, price = _TICKETS[key]
    return json.dumps(
        {
            "ticket": key,
            "customer_number": patron,
            "things": things,
            "state": state,
            "ready_on": ready,
            "rack": rack,
            "price_gbp": price,
        }
    )


@tool
def patron_file(who: str) -> str:
    """Our notes on a customer: address, telephone, how much starch they like, stamps on the loyalty card, and pounds still owed from earlier months.

    Args:
        who: Surname, name of the business, or the three-digit customer number.
    """
    keys = ("name", "address", "telephone", "starch", "loyalty_stamps", "owed_gbp")
    digits = re.search(r"\d+", who)
    if digits:
        if digits.group() not in _PATRONS:
            raise ToolError(f'No customer has the number "{who}". Customer numbers have three digits, such as 611.')
        return json.dumps({"customer_number": digits.group(), **dict(zip(keys, _PATRONS[digits.group()], strict=True))})
    words = set(re.findall(r"[a-z]+", who.lower().replace("é", "e").replace("'s", "")))
    found = [
        {"customer_number": number, **dict(zip(keys, data, strict=True))}
        for number, data in _PATRONS.items()
        if data[0].lower().split()[-1] in words
    ]
    if not found:
        names = ", ".join(sorted({data[0].split()[-1] for data in _PATRONS.values()}))
        raise ToolError(f'We have nobody called "{who}". The names on file are {names}.')
    return json.dumps(found)


@tool
def rack_contents(rack: str) -> str:
    """What hangs on a rack at the moment: the tickets, with the things and the customer's number.

    Args:
        rack: A letter from A to D and a number from 1 to 6, such as A1.
    """
    match = re.search(r"\b([A-D])[\s-]?([1-6])\b", rack.upper())
    if not match:
        raise ToolError(
            f'There is no rack "{rack}". Racks go from A1 to D6: a letter from A to D and a number from 1 to 6.'
        )
    key = match.group(1) + match.group(2)
    rows = [
        {"ticket": ticket, "things": row[1], "customer_number": row[0]}
        for ticket, row in _TICKETS.items()
        if row[4] == key
    ]
    return json.dumps({"rack": key, "hanging": rows})


@tool
def machine_state(machine: str) -> str:
    """A washing machine or a dryer: maker, load in kilograms, what it is doing, minutes left, temperature, and the date of its next service.

    Args:
        machine: W1 to W4 for the washing machines, D1 to D3 for the dryers.
    """
    match = re.search(r"\b(w|d)[a-z ]*(?:machine)?[\s-]*(?:no\.?|number)?\s*(\d)\b", machine.lower())
    key = f"{match.group(1)}{match.group(2)}".upper() if match else ""
    if key not in _MACHINES:
        raise ToolError(f'There is no machine "{machine}". The washing machines are W1 to W4, the dryers D1 to D3.')
    keys = ("maker", "load_kg", "state", "minutes_left", "degrees_celsius", "next_service")
    return json.dumps({"machine": key, **dict(zip(keys, _MACHINES[key], strict=True))})


@tool
def van_round(day: str) -> str:
    """The van's round on a weekday: who drives, and each stop with its time, the customer's number, whether we collect or deliver, and the ticket that is delivered.

    Args:
        day: Monday to Friday.
    """
    key = day.strip().lower()
    for name, (driver, stops) in _ROUNDS.items():
        if name.lower() in key or (len(key) > 2 and name.lower().startswith(key.rstrip("."))):
            keys = ("time", "customer_number", "what", "ticket")
            return json.dumps(
                {"day": name, "driver": driver, "stops": [dict(zip(keys, s, strict=True)) for s in stops]}
            )
    raise ToolError(
        f'There is no round for "{day}". The van goes out from Monday to Friday: give the name of one of these days.'
    )


def tools() -> list[Tool]:
    return [quote_garment, bag_wash_rates, trace_ticket, patron_file, rack_contents, machine_state, van_round]
