"""A car wash with two tunnels, self-service boxes and a hall for cleaning by hand: prices, passes, bays, supplies, takings, crews. All data is invented."""
# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

import json
import re

from treadle import Tool, ToolError, tool

# fmt: off
# programme: (car, SUV, van, minutes, steps)
_PROGRAMMES = {
    "Splash": (7.9, 9.4, 11.9, 5, "foam, brushes, drying"),
    "Fresh": (11.5, 13.2, 16.4, 7, "pre-wash, foam, wheels, brushes, drying"),
    "Gloss": (15.8, 17.6, 21.3, 10, "pre-wash, foam, wheels, underbody, brushes, hot wax, drying"),
    "Crystal": (19.9, 22.7, None, 14, "pre-wash, foam, wheels, underbody, brushes, hot wax, ceramic polish, drying"),
}

# package: (car, SUV or van, minutes, what is done)
_VALETS = {
    "quick interior": (39.0, 48.0, 45, "vacuuming, dashboard, windows inside"),
    "deep interior": (89.0, 109.0, 150, "seats and carpets shampooed, roof lining, all plastics"),
    "leather care": (54.0, 66.0, 60, "leather seats cleaned and fed"),
    "pet hair": (28.0, 35.0, 30, "hair brushed and vacuumed out of seats and boot"),
    "engine bay": (47.0, 57.0, 40, "engine degreased and sealed"),
    "odour removal": (65.0, 78.0, 90, "ozone treatment, new cabin filter"),
}

# plate: (holder, pass, programme, washes left, valid until)
_PASSES = {
    "KL-482-T": ("Nadia Brightwater", "Ten Card", "Fresh", 3, "2027-03-31"),
    "KL-428-T": ("Gunther Falk", "Ten Card", "Gloss", 8, "2027-01-15"),
    "RB-640-N": ("Imelda Foss", "Twenty Card", "Gloss", 6, "2027-08-30"),
    "TS-905-A": ("Corrado Bakery Ltd", "Fleet", "Splash", "unlimited", "2027-06-30"),
    "TS-911-A": ("Corrado Bakery Ltd", "Fleet", "Fresh", "unlimited", "2027-06-30"),
    "HV-233-C": ("Jonas Achterberg", "Flat Rate", "Crystal", "unlimited", "2026-12-05"),
    "MO-076-L": ("Rosalind Tay", "Ten Card", "Splash", 1, "2026-11-30"),
}
_MOVED = {"RB-117-K": ("RB-640-N", "2026-09-02"), "HV-190-C": ("HV-233-C", "2026-06-11")}

# bay: (what it is, state, cars waiting, note)
_BAYS = {
    "T1": ("tunnel", "running", 3, "next free in 21 min"),
    "T2": ("tunnel", "stopped", 0, "drying fan fault; technician due at 14:30"),
    "S1": ("self-service box", "free", 0, "-"),
    "S2": ("self-service box", "occupied", 1, "6 min left"),
    "S3": ("self-service box", "free", 0, "-"),
    "S4": ("self-service box", "out of order", 0, "spray lance leaking, new one ordered"),
    "V1": ("vacuum", "occupied", 0, "2 min left"),
    "V2": ("vacuum", "free", 0, "-"),
    "V3": ("vacuum", "out of order", 0, "coin slot jammed"),
}

# product: (litres left, size of the drum, ml for a wash, supplier, days until delivered)
_DRUMS = {
    "foam": (84.0, 200, 60, "Aquachem", 3),
    "shampoo": (126.0, 200, 45, "Aquachem", 3),
    "wheel cleaner": (31.0, 60, 25, "Rimex", 5),
    "hot wax": (22.0, 60, 40, "Lustrol", 8),
    "ceramic polish": (10.8, 25, 30, "Vitracoat", 11),
    "drying aid": (57.0, 60, 15, "Aquachem", 3),
}

_COLUMNS = ("Splash", "Fresh", "Gloss", "Crystal", "self-service", "vacuum")
# day: (number, euros) for each column
_TAKINGS = {
    "2026-11-10": ((28, 219.9), (25, 283.0), (17, 266.9), (5, 99.5), (33, 132.0), (29, 43.5)),
    "2026-11-11": ((33, 259.3), (30, 340.2), (14, 221.2), (6, 122.2), (41, 164.0), (35, 52.5)),
    "2026-11-12": ((41, 318.4), (36, 402.1), (22, 341.6), (9, 179.1), (58, 232.0), (44, 66.0)),
    "2026-11-13": ((47, 366.2), (52, 587.3), (31, 480.9), (12, 238.8), (63, 252.0), (51, 76.5)),
    "2026-11-14": ((66, 512.8), (81, 921.4), (57, 889.6), (24, 483.2), (97, 388.0), (88, 132.0)),
}

# day: early (lead, tunnel, till), late (lead, tunnel, till)
_CREWS = {
    "Monday": (("Anouk", "Florin", "Dagny"), ("Bashir", "Emeka", "Ciaran")),
    "Tuesday": (("Bashir", "Florin", "Ciaran"), ("Anouk", "Emeka", "Dagny")),
    "Wednesday": (("Dagny", "Emeka", "Ciaran"), ("Anouk", "Florin", "Bashir")),
    "Thursday": (("Bashir", "Emeka", "Anouk"), ("Dagny", "Florin", "Ciaran")),
    "Friday": (("Anouk", "Florin", "Ciaran"), ("Dagny", "Emeka", "Bashir")),
    "Saturday": (("Dagny", "Florin", "Anouk"), ("Bashir", "Emeka", "Ciaran")),
}
# fmt: on


@tool(effect="pure")
def wash_menu(programme: str, vehicle: str) -> str:
    """A programme of the wash tunnels (outside of the vehicle, by machine): price in euros, duration and steps. From the plainest to the best: Splash, Fresh, Gloss, Crystal.

    Args:
        programme: Splash, Fresh, Gloss or Crystal.
        vehicle: car, SUV or van.
    """
    name = next((p for p in _PROGRAMMES if p.lower() in programme.lower()), None)
    if name is None:
        raise ToolError(f'There is no programme "{programme}". The programmes are {", ".join(_PROGRAMMES)}.')
    kinds = ("car", "SUV", "van")
    which = next((i for i in (1, 2, 0) if re.search(rf"\b{kinds[i].lower()}s?\b", vehicle.lower())), None)
    if which is None:
        raise ToolError(
            f'"{vehicle}" is not a class of the price list. Use car (also estates and convertibles), SUV, or van (also '
            "pick-ups and minibuses)."
        )
    price = _PROGRAMMES[name][which]
    if price is None:
        raise ToolError(
            f"{name} is not run for vans: the polishing arms do not reach. Vans can have Splash, Fresh or Gloss."
        )
    minutes, steps = _PROGRAMMES[name][3:]
    return f"{name.upper()} / {kinds[which]}\nprice: EUR {price:.2f}\nduration: {minutes} min\nsteps: {steps}"


@tool(effect="pure")
def hand_valet(package: str) -> str:
    """Cleaning by hand in the hall (inside and engine): price in euros for a car and for an SUV or van, minutes, and what is done.

    Args:
        package: quick interior, deep interior, leather care, pet hair, engine bay or odour removal.
    """
    text = package.strip().lower()
    for name, (car, big, minutes, what) in _VALETS.items():
        if name in text or name.split()[0] in text.split():
            return json.dumps(
                {"package": name, "car_eur": car, "suv_or_van_eur": big, "minutes": minutes, "includes": what}
            )
    raise ToolError(f'There is no package "{package}". The packages are: {", ".join(_VALETS)}.')


@tool(effect="pure")
def pass_by_plate(plate: str) -> str:
    """The prepaid pass that belongs to a number plate: holder, sort of pass, programme, washes left and last day of validity.

    Args:
        plate: The number plate.
    """
    match = re.search(r"([A-Z]{2})[\s-]*(\d{3})[\s-]*([A-Z])(?![A-Z])", plate.upper())
    if not match:
        raise ToolError(
            f'"{plate}" is not a plate as we read them: two letters, three digits, a letter, such as AB-123-C.'
        )
    key = "-".join(match.groups())
    if key in _MOVED:
        new, day = _MOVED[key]
        raise ToolError(f"No pass is on {key} any more: on {day} it was moved to the holder's new plate, {new}.")
    if key not in _PASSES:
        raise ToolError(f"There is no pass on the plate {key}. Please read the plate again.")
    keys = ("holder", "pass", "programme", "washes_left", "valid_until")
    return json.dumps({"plate": key, **dict(zip(keys, _PASSES[key], strict=True))})


@tool(effect="pure")
def bay_panel(bay: str) -> str:
    """What the control panel shows for one of the tunnels, self-service boxes or vacuums: its state, how many cars wait, and a note.

    Args:
        bay: The sign of the bay.
    """
    key = re.sub(r"[\s-]", "", bay.upper())
    if key not in _BAYS:
        raise ToolError(
            f'The panel has no bay "{bay}". The signs are T1 and T2 (tunnels), S1 to S4 (self-service boxes), V1 to V3 (vacuums).'
        )
    kind, state, waiting, note = _BAYS[key]
    return f"BAY  KIND              STATE         WAITING  NOTE\n{key:<5}{kind:<18}{state:<14}{waiting:<9}{note}"


@tool(effect="pure")
def drum_levels(product: str) -> str:
    """A washing chemical in the store: litres left, size of the full drum in litres, millilitres used for one wash, supplier, and days until a new drum is delivered.

    Args:
        product: foam, shampoo, wheel cleaner, hot wax, ceramic polish or drying aid.
    """
    text = product.strip().lower()
    for name, row in _DRUMS.items():
        if name in text or name.split()[-1] in text.split() or name.split()[0] in text.split():
            keys = ("litres_left", "drum_litres", "ml_per_wash", "supplier", "delivery_days")
            return json.dumps({"product": name, **dict(zip(keys, row, strict=True))})
    raise ToolError(f'There is no drum of "{product}". The drums are: {", ".join(_DRUMS)}.')


@tool(effect="pure")
def day_takings(day: str) -> str:
    """The books of one day as CSV: for each programme, for self-service and for the vacuums, how many were sold and the euros taken.

    Args:
        day: The date, as YYYY-MM-DD.
    """
    key = day.strip()
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", key):
        raise ToolError(f'"{day}" is not a date. Write it as YYYY-MM-DD, such as 2026-11-02.')
    if key not in _TAKINGS:
        raise ToolError(f"The books of {key} are not here. They are kept for {min(_TAKINGS)} to {max(_TAKINGS)}.")
    rows = [f"{name},{n},{eur:.2f}" for name, (n, eur) in zip(_COLUMNS, _TAKINGS[key], strict=True)]
    return "\n".join(["item,sold,taken_eur", *rows])


@tool(effect="pure")
def crew_plan(day: str) -> str:
    """Who works on a day of the week, in the early and in the late shift: the shift lead, who stands at the tunnel, and who is at the till.

    Args:
        day: Monday to Saturday.
    """
    text = day.strip().lower()
    for name, shifts in _CREWS.items():
        if name.lower() in text or (len(text) > 2 and name.lower().startswith(text.rstrip("."))):
            keys, hours = ("lead", "tunnel", "till"), ("07:00-13:30", "13:30-20:00")
            return json.dumps(
                {
                    "day": name,
                    **{
                        shift: {"hours": h, **dict(zip(keys, who, strict=True))}
                        for shift, h, who in zip(("early", "late"), hours, shifts, strict=True)
                    },
                }
            )
    raise ToolError(f'Nobody is planned for "{day}". We are open from Monday to Saturday.')


def tools() -> list[Tool]:
    return [wash_menu, hand_valet, pass_by_plate, bay_panel, drum_levels, day_takings, crew_plan]
