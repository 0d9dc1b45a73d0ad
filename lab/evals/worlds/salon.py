"""Three hairdressing salons of one chain: stylists, prices, appointments, products, customer cards. All data is invented."""
# ruff: noqa: E501 (a row of a table is a line)

from __future__ import annotations

import re

from treadle import Tool, ToolError, tool

_SALONS = ("Mill Lane", "Quayside", "Linden Court")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

# fmt: off
# name: (level, salon, with us since, days, speciality, languages, month of holiday, extension)
_STYLISTS = {
    "Runa Oduya": ("senior", "Mill Lane", 2014, "Tuesday, Thursday, Friday and Saturday", "balayage", "English", "August", 31),
    "Theo Marchbank": ("junior", "Mill Lane", 2022, "Tuesday, Wednesday, Friday and Saturday", "men's hair and beards", "English", "May", 33),
    "Odile Ferrant": ("director", "Mill Lane", 2008, "Wednesday, Thursday and Friday", "bridal hair", "English and French", "January", 30),
    "Casimir Vogt": ("director", "Quayside", 2011, "Tuesday, Thursday and Saturday", "colour correction", "English and German", "June", 41),
    "Nell Abara": ("senior", "Quayside", 2017, "Wednesday, Thursday, Friday and Saturday", "curly hair", "English", "October", 44),
    "Pernille Strand": ("junior", "Quayside", 2023, "Tuesday, Wednesday and Friday", "perms", "English and Danish", "July", 45),
    "Greta Halloway": ("senior", "Linden Court", 2016, "Tuesday, Wednesday and Thursday", "pixie cuts", "English and Dutch", "March", 52),
    "Saskia Lindqvist": ("senior", "Linden Court", 2019, "Wednesday, Friday and Saturday", "root colour and toners", "English and Swedish", "September", 53),
    "Bashir Tolland": ("director", "Linden Court", 2013, "Tuesday, Thursday, Friday and Saturday", "precision cuts", "English and Arabic", "February", 50),
    "Jonty Preece": ("junior", "Linden Court", 2024, "Thursday, Friday and Saturday", "braids", "English and Welsh", "November", 55),
}
_FORMER = {"dorn": "Greta Dorn married last year and is listed as Greta Halloway"}

# service: (minutes, junior, senior, director); 0 where that level does not offer it
_SERVICES = {
    "Dry cut, short hair": (25, 19.5, 26.0, 34.5),
    "Wash, cut and blow-dry, short hair": (40, 29.0, 37.5, 48.0),
    "Wash, cut and blow-dry, long hair": (55, 36.5, 46.0, 59.5),
    "Children's cut, up to 5 years": (20, 12.0, 15.0, 0),
    "Children's cut, 6 to 12 years": (25, 15.5, 19.0, 0),
    "Fringe trim": (10, 6.0, 8.0, 11.0),
    "Beard trim": (15, 11.5, 14.0, 18.5),
    "Full colour, short hair": (90, 52.0, 63.5, 78.0),
    "Full colour, long hair": (120, 68.0, 84.5, 103.0),
    "Root colour": (75, 41.0, 49.5, 61.0),
    "Toner": (20, 17.0, 21.5, 27.0),
    "Balayage": (150, 0, 118.0, 142.5),
    "Perm": (130, 72.0, 88.0, 107.5),
    "Bridal hair, trial": (90, 0, 74.0, 95.0),
    "Bridal hair, wedding day": (125, 0, 112.0, 139.0),
}

# (salon, day): (time, stylist, service, customer, card)
_BOOK = {
    ("Mill Lane", "Thursday"): [
        ("09:30", "Odile Ferrant", "Bridal hair, trial", "Tamsin Gale", "ML-1067"),
        ("10:00", "Runa Oduya", "Balayage", "Doreen Askew", "ML-1043"),
        ("14:00", "Odile Ferrant", "Wash, cut and blow-dry, long hair", "Hattie Brook", "ML-1088"),
    ],
    ("Mill Lane", "Friday"): [
        ("09:00", "Theo Marchbank", "Beard trim", "Silas Orme", "ML-1029"),
        ("09:45", "Runa Oduya", "Root colour", "Hattie Brook", "ML-1088"),
        ("11:00", "Theo Marchbank", "Full colour, short hair", "Edric Vance", "ML-1102"),
        ("11:00", "Odile Ferrant", "Bridal hair, wedding day", "Tamsin Gale", "ML-1067"),
        ("14:30", "Runa Oduya", "Fringe trim", "Doreen Askew", "ML-1043"),
    ],
    ("Quayside", "Thursday"): [
        ("10:00", "Casimir Vogt", "Full colour, long hair", "Ilka Brandt", "QS-2204"),
        ("11:30", "Nell Abara", "Dry cut, short hair", "Moses Lark", "QS-2218"),
    ],
    ("Quayside", "Saturday"): [
        ("09:00", "Casimir Vogt", "Balayage", "Ilka Brandt", "QS-2204"),
        ("10:15", "Nell Abara", "Wash, cut and blow-dry, long hair", "Orla Fenn", "QS-2251"),
        ("12:20", "Casimir Vogt", "Toner", "Moses Lark", "QS-2218"),
        ("13:45", "Nell Abara", "Balayage", "Priya Danvers", "QS-2240"),
        ("16:30", "Nell Abara", "Fringe trim", "Orla Fenn", "QS-2251"),
    ],
    ("Linden Court", "Wednesday"): [
        ("09:15", "Greta Halloway", "Dry cut, short hair", "Ruth Calloway", "LC-3310"),
        ("13:00", "Saskia Lindqvist", "Root colour", "Imke Sorrell", "LC-3307"),
    ],
    ("Linden Court", "Thursday"): [
        ("09:00", "Greta Halloway", "Wash, cut and blow-dry, short hair", "Agnes Pettifer", "LC-3321"),
        ("10:30", "Bashir Tolland", "Wash, cut and blow-dry, short hair", "Joan Pettifer", "LC-3322"),
        ("11:00", "Jonty Preece", "Children's cut, 6 to 12 years", "Leo Calloway", "LC-3311"),
        ("15:00", "Greta Halloway", "Perm", "Ruth Calloway", "LC-3310"),
    ],
}

# code: (name, size, price, pieces in Mill Lane, Quayside, Linden Court, supplier, reordered below)
_PRODUCTS = {
    "046-SH": ("Chamomile Shampoo", "300 ml", 12.4, 8, 5, 2, "Arvensis", 4),
    "064-SH": ("Birch and Nettle Shampoo", "300 ml", 13.9, 3, 14, 6, "Arvensis", 5),
    "131-SH": ("Argan Shampoo", "250 ml", 15.5, 10, 9, 7, "Maison Tellier", 5),
    "132-SH": ("Argan Shampoo", "1000 ml", 38.0, 2, 3, 1, "Maison Tellier", 2),
    "077-CO": ("Oat Milk Conditioner", "200 ml", 11.6, 6, 6, 11, "Arvensis", 4),
    "133-CO": ("Argan Conditioner", "250 ml", 17.2, 5, 8, 4, "Maison Tellier", 4),
    "118-TR": ("Repair Mask", "200 ml", 21.3, 4, 2, 9, "Fjellheim", 3),
    "119-TR": ("Repair Mask", "500 ml", 44.0, 1, 0, 2, "Fjellheim", 1),
    "205-ST": ("Sea Salt Spray", "150 ml", 16.2, 7, 4, 12, "Coastline Labs", 6),
    "211-ST": ("Matt Clay", "75 ml", 14.8, 13, 0, 5, "Coastline Labs", 4),
    "090-OL": ("Camellia Oil", "50 ml", 24.5, 3, 5, 3, "Maison Tellier", 2),
}

# card: (customer, since, regular stylist, points, discount percent, colour formula, allergy, last visit)
_CARDS = {
    "ML-1029": ("Silas Orme", 2021, "Theo Marchbank", 80, 0, "none", "lanolin", "2 September"),
    "ML-1043": ("Doreen Askew", 2009, "Runa Oduya", 510, 10, "7.3 with 8.0", "none known", "14 August"),
    "ML-1067": ("Tamsin Gale", 2023, "Odile Ferrant", 45, 0, "none", "none known", "28 August"),
    "ML-1088": ("Hattie Brook", 2015, "Runa Oduya", 270, 5, "5.35", "nickel", "19 August"),
    "ML-1102": ("Edric Vance", 2020, "Theo Marchbank", 140, 5, "6.1 with 6.0", "latex", "5 August"),
    "QS-2204": ("Ilka Brandt", 2012, "Casimir Vogt", 620, 15, "9.1", "none known", "30 August"),
    "QS-2218": ("Moses Lark", 2018, "Nell Abara", 365, 5, "10.21", "none known", "21 August"),
    "QS-2240": ("Priya Danvers", 2022, "Nell Abara", 190, 0, "8.43", "pollen", "11 July"),
    "QS-2251": ("Orla Fenn", 2017, "Nell Abara", 405, 10, "none", "none known", "3 September"),
    "LC-3307": ("Imke Sorrell", 2014, "Saskia Lindqvist", 455, 12, "6.43 with 7.4", "none known", "6 August"),
    "LC-3310": ("Ruth Calloway", 2016, "Greta Halloway", 230, 5, "none", "peanut oil", "27 August"),
    "LC-3311": ("Leo Calloway", 2022, "Jonty Preece", 20, 0, "none", "none known", "27 August"),
    "LC-3321": ("Agnes Pettifer", 2010, "Greta Halloway", 580, 10, "none", "none known", "1 August"),
    "LC-3322": ("Joan Pettifer", 2010, "Bashir Tolland", 335, 10, "none", "bee products", "8 August"),
}
# fmt: on

_SAME = {
    **dict.fromkeys(["child", "children", "childrens", "kid", "boy", "girl", "toddler", "son", "daughter"], "children"),
    **dict.fromkeys(["color", "colouring", "coloring", "dye", "dyeing", "tint"], "colour"),
    **dict.fromkeys(["haircut", "cutting"], "cut"),
    "bride": "bridal",
    "roots": "root",
    "trimming": "trim",
}
_EMPTY = {
    "hair",
    "a",
    "an",
    "and",
    "the",
    "for",
    "with",
    "of",
    "to",
    "ml",
    "year",
    "old",
    "up",
    "in",
    "by",
    "price",
    "s",
}


def _words(text: str) -> set[str]:
    words = re.findall(r"[a-z]+", text.lower().replace("'s", "").replace("’s", ""))  # noqa: RUF001
    single = [w if w in _SAME else re.sub(r"(?<=[a-z]{3})(?<!s)s$", "", w) for w in words]
    return {_SAME.get(w, w) for w in single if w not in _EMPTY}


def _fitting(wanted: str, names: dict[str, str]) -> list[str]:
    """The keys whose name has all the words that are wanted, else those that have the most of them."""
    words = _words(wanted)
    hits = {key: len(words & _words(name)) for key, name in names.items()}
    most = max(hits.values(), default=0)
    return [key for key, n in hits.items() if n and n == most]


def _salon(text: str) -> str:
    key = text.lower()
    for name in _SALONS:
        if name.split()[0].lower() in key:
            return name
    if "station" in key:
        raise ToolError("There is no salon Station Road any more: it moved and is now Linden Court.")
    raise ToolError(f'There is no salon "{text}". The salons are {", ".join(_SALONS)}.')


@tool
def stylist(name: str) -> str:
    """Look up a stylist: level (junior, senior or director), salon, year of joining, working days, speciality, languages, month of the annual holiday and telephone extension.

    Args:
        name: First name, last name or full name of the stylist.
    """
    wanted = [w for w in re.findall(r"[a-z]+", name.lower()) if w not in {"mr", "mrs", "ms", "miss"}]
    for word in wanted:
        if word in _FORMER:
            raise ToolError(f'No stylist is listed as "{name}". {_FORMER[word]}.')
    found = [full for full in _STYLISTS if wanted and all(word in full.lower().split() for word in wanted)]
    if not found:
        raise ToolError(f'No stylist is listed as "{name}". The stylists are {", ".join(_STYLISTS)}.')
    lines = []
    for full in found:
        level, salon, since, days, speciality, languages, holiday, extension = _STYLISTS[full]
        lines.append(
            f"{full}, {level} stylist at {salon}, with us since {since}. Works on {days}. Speciality: {speciality}. "
            f"Speaks {languages}. Annual holiday in {holiday}. Extension {extension}."
        )
    return "\n".join(lines)


@tool
def price_list(service: str) -> str:
    """Search the price list, which is the same in all salons. Gives the services that fit, with duration and the price in EUR for each level of stylist.

    Args:
        service: Name of the service or a word of it, for example "balayage".
    """
    found = _fitting(service, {name: name for name in _SERVICES})
    if not found:
        raise ToolError(f'Nothing on the price list fits "{service}". The services are: {"; ".join(_SERVICES)}.')
    rows = []
    for name in found:
        minutes, *prices = _SERVICES[name]
        rows.append(" | ".join([name, f"{minutes} min", *(f"{price:.2f}" if price else "-" for price in prices)]))
    return "\n".join(["service | duration | junior | senior | director", *rows])


@tool
def appointments(salon: str, day: str) -> str:
    """The appointment book of one salon for one day of this week: time, stylist, service, customer and the customer's card number.

    Args:
        salon: Mill Lane, Quayside or Linden Court.
        day: Day of the week, for example Tuesday.
    """
    where = _salon(salon)
    short = day.strip().lower().rstrip(".")
    found = [name for name in _DAYS if len(short) > 2 and (name.lower().startswith(short) or name.lower() in short)]
    if len(found) != 1:
        raise ToolError(
            f'"{day}" is not a day of the week. Give one day, Monday to Sunday; the book shows this week only.'
        )
    if found[0] in ("Sunday", "Monday"):
        return f"{where} is closed on {found[0]}s."
    rows = _BOOK.get((where, found[0]), [])
    if not rows:
        return f"No appointments are entered for {where} on {found[0]}."
    return "\n".join(
        f"{time} {who}: {service}, for {customer} (card {card})" for time, who, service, customer, card in rows
    )


@tool
def find_product(name: str) -> str:
    """Search the products on sale by name. Gives code, name, size and price of those that fit.

    Args:
        name: Name of the product or a part of it.
    """
    found = _fitting(name, {code: product[0] for code, product in _PRODUCTS.items()})
    if not found:
        if re.search(r"\d", name):
            raise ToolError(f'No product is named "{name}". This searches names; for a code use product_stock.')
        kinds = "shampoos (SH), conditioners (CO), treatments (TR), styling (ST) and oils (OL)"
        raise ToolError(f'No product fits "{name}". We sell {kinds}; try one word of the name.')
    return "\n".join(
        f"{code}: {_PRODUCTS[code][0]}, {_PRODUCTS[code][1]}, {_PRODUCTS[code][2]:.2f} EUR" for code in found
    )


@tool
def product_stock(code: str) -> str:
    """How many pieces of a product each of the three salons has, and its price, supplier and reorder limit.

    Args:
        code: Product code.
    """
    key = code.strip().upper()
    if not re.fullmatch(r"\d{3}-[A-Z]{2}", key):
        raise ToolError(
            f'"{code}" is not a product code. A code has three digits, a hyphen and the two letters of the group; '
            "on labels from before 2020 it stands the other way round (CO.77 is 077-CO today)."
        )
    if key not in _PRODUCTS:
        raise ToolError(f"There is no product {key}. Use find_product to look up the code.")
    name, size, price, mill, quay, linden, supplier, limit = _PRODUCTS[key]
    return (
        f"{key} {name}, {size}, {price:.2f} EUR. In stock: Mill Lane {mill}, Quayside {quay}, Linden Court {linden}. "
        f"Supplier: {supplier}. Reordered below {limit}."
    )


@tool
def customer_card(card: str) -> str:
    """What a customer card says: name, regular stylist, points, discount, colour formula, allergy and last visit.

    Args:
        card: Number of the card.
    """
    key = card.strip().upper()
    if not re.fullmatch(r"(ML|QS|LC)-\d{4}", key):
        raise ToolError(
            f'"{card}" is not a card number. It has the letters of the salon (ML, QS or LC), a hyphen and four digits. '
            "A customer's number stands in the appointment book."
        )
    if key not in _CARDS:
        raise ToolError(f"There is no card {key}.")
    name, since, who, points, discount, formula, allergy, last = _CARDS[key]
    return (
        f"Card {key}: {name}, customer since {since}. Regular stylist: {who} ({_STYLISTS[who][0]}). Points: {points}. "
        f"Discount on services: {discount} %. Colour formula: {formula}. Allergy: {allergy}. Last visit: {last}."
    )


def tools() -> list[Tool]:
    return [stylist, price_list, appointments, find_product, product_stock, customer_card]
