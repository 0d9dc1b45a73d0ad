"""Numbers and ids in texts: which of them are in no source, and follow from nothing that is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set
from decimal import Decimal
from itertools import combinations, pairwise, product

_TOKEN = re.compile(r"\w+(?:[-.,:/]\w+)*")
_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_ID = re.compile(
    r"(?=\D*\d)[^\W\d][\w./-]+"  # AB12, R-7, T.2335, G/23/064
    r"|(?=.*[^\W\d])\d+[-/]\S+"  # 03/C
    r"|\d{3,}/\d{3,}"
    r"|(?=\w{6})\d+[^\W\d]+\d+\w*"  # 26NL002260
)
_PLAIN = re.compile(r"\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d+")
_BARE = re.compile(r"(?<![\w-])\+?\d+(?:[-_ ./]\d+)*(?![\w-])")
"""A number that is no part of an id, its groups of digits apart perhaps."""
_COMPACT_DAY = re.compile(r"(?P<year>(?:1[5-9]|2[01])\d\d)(?:0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01])?")
_DAY = re.compile(r"(?:[^\W\d]{2,9}-)?\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\S*)?")
_TIME = re.compile(r"(?:[01]\d|2[0-3])(?:00|15|30|45)")
_PERIOD = re.compile(r"(?P<year>\d{4})-?[^\W\d]{1,2}(?P<part>\d{1,2})|(?P<day>\d{1,2})-?[^\W\d]{3}-?(?P<short>\d\d)")
"""`2026-W15`, `2026-Q2`, `03FEB26`."""
_MONTH_AND_YEAR = re.compile(r"[^\W\d]{3}[-_/]?(\d\d)")
_RUNS = re.compile(r"[^\W\d_]+|\d+")
_SEPARATOR = re.compile(r"[-_/.]")
_ZEROS = re.compile(r"(?<![\d.,])0+(?=\d)")
_INITIAL = re.compile(r"(?P<letter>[^\W\d])[-_/.]?0*(?P<number>\d+)")
_WORD = 4
"""Letters of a word that names a thing, and may stand apart from its number."""
_YEAR = re.compile(r"(?:1[5-9]|2[01])\d\d")
_SHORTEST, _SHORTEST_APART = 3, 6
"""Digits from which on the same ones are no chance: of a number, and of one whose groups stand apart."""
_LONGEST = 20
_ALWAYS_FINE = 12
"""Up to here numbers are written as words, counted, or used to number a list."""
_CALCULATED = re.compile(r"[*+^%()]| [-/] ")
_IN_GROUPS = re.compile(
    r"(?<![\d.,])\d{1,3}(?:(?P<sign>[ .'\u2019\u00a0\u202f])\d{3})(?:(?P=sign)\d{3})*(?:,\d+)?(?![\d.])"
)
"""`1.250.000`, `1 250`, `1.250,50`: thousands apart as in other languages."""
_WITH_COMMA = re.compile(r"(?<![\d.,])\d+,\d{1,2}(?![\d,])")
"""`12,75`."""
UNIT_FACTORS = frozenset(map(Decimal, (24, 30, 52, 60, 100, 180, 360, 365, 366, 1000, 3600, 10**6, 10**9)))
"""Hours of a day, days of a month and a year, per cent, degrees, grams of a kilogram, millions."""
_OF_TIME = "14 28 29 31 90 168 365.25 1440 8760 10080 86400 604800 31536000"
_TEMPERATURE = "32 212 273 273.15 459.67"
_LENGTH = "25.4 30.48 36 39.37 91.44 1609 1609.3 1609.34 1609.344 1760 1852 5280"
_AREA = "144 640 10000 43560 4046.86"
_WEIGHT = "16 28.3 28.35 28.3495 453.6 453.59 453.592 2000 2204.62 2240"
_VOLUME = "16 20 128 29.57 29.5735 236.588 236.6 473.176 568 946.35 3785 3785.41 4546"
_OTHER = "45 1013.25 1024 1048576 735.5 745.7 4184 299792458"
CONSTANTS = UNIT_FACTORS | frozenset(
    map(Decimal, " ".join((_OF_TIME, _TEMPERATURE, _LENGTH, _AREA, _WEIGHT, _VOLUME, _OTHER)).split())
)
"""What stands between two units, in the usual roundings: seconds of a day, feet of a mile, ounces of a pound."""
_KNOWN_NAMES = re.compile(
    r"log(?:10|2|1p)|atan2|expm1"
    r"|(?:[cdkm]?m|in|ft|yd|mi)[23]"
    r"|mp[34]|utf-?(?:8|16)|md5|sha-?(?:1|256|512)|base64|ipv[46]|co2|h2o|a[345]",
    re.IGNORECASE,
)
"""Functions, units and forms of everyday: `log10`, `km2`, `mp3`."""
_MAX_NUMBERS = 60
"""With more numbers in the sources, nearly every one follows from two; of a long text only so many are checked."""


def ids(text: str) -> list[str]:
    """Words of letters and digits that no number, day or unit has: `AB12`, `R-7`, `G/23/064`, `03/C`."""
    words = (token for token in _TOKEN.findall(text) if _ID.fullmatch(token) and not _DAY.fullmatch(token))
    return [word for word in words if not _KNOWN_NAMES.fullmatch(word)]


def mentions(text: str, value: str) -> bool:
    """Whether a text has this word, in whatever case, with or without its hyphens: `AB12` is `ab-12`."""
    letters = [re.escape(letter) for letter in value if letter.isalnum()]
    return bool(letters) and re.search(rf"(?<!\w){'[-_ ./]?'.join(letters)}(?!\w)", text, re.IGNORECASE) is not None


def said_otherwise(value: str, sources: Iterable[str]) -> bool:
    """Whether an id, a day or a time of day may be what a source says in another form: without letters and zeros before
    it (`AB-0407` is 407), apart (`12 34-56` is 123456), in another order (`2026-04-15`, `064-SH` for SH.64), in words,
    or in parts."""
    if " " in value or len(value) > _LONGEST:
        return False
    texts = list(sources)
    said = {_stripped(run) for text in texts for run in _DIGITS.findall(text)}
    if day := _COMPACT_DAY.fullmatch(value):
        return _said_day(day["year"], day["day"] or "", said)
    if _DAY.fullmatch(value):
        parts = _DIGITS.findall(value)[:3]
        year = next((part for part in parts if _YEAR.fullmatch(part)), "")
        return bool(year) and all(_said_day(year, part, said) for part in parts if part != year)
    if period := _PERIOD.fullmatch(value):
        years = {run for run in said if _YEAR.fullmatch(run)}
        year = period["year"] or next((year for year in years if year.endswith(period["short"])), "")
        return year in years and _said_day(year, period["part"] or period["day"], said)
    if _TIME.fullmatch(value):
        return True
    if found := _MONTH_AND_YEAR.fullmatch(value):
        return any(_YEAR.fullmatch(run) and run.endswith(found[1]) for run in said)
    if any(said_so(value, texts) for said_so in (_padded, _turned, _joined, with_an_initial)):
        return True
    digits = _stripped(value)
    bare = [run for text in texts for run in _BARE.findall(text)]
    whole = {_stripped(run) for run in bare if run.isdigit() and not _YEAR.fullmatch(run)}
    apart = {_stripped(run) for run in bare if not run.isdigit()}
    return (len(digits) >= _SHORTEST and digits in whole) or (len(digits) >= _SHORTEST_APART and digits in apart)


def _padded(value: str, texts: list[str]) -> bool:
    """Whether it was said with more or fewer zeros: `B07` is b7, `LX-01107` is LX1107, `node-077` is node 77."""
    runs = [run.lstrip("0") or "0" for run in _RUNS.findall(value)]
    if len(runs) < 2 or not any(run[0].isalpha() for run in runs):
        return False
    parted = "[-_ ./]?" if all(len(run) >= _WORD for run in runs if run[0].isalpha()) else "[-_./]?"
    pattern = re.compile(rf"(?<!\w){parted.join(map(re.escape, runs))}(?!\w)", re.IGNORECASE)
    return any(pattern.search(_ZEROS.sub("", text)) for text in texts)


def _turned(value: str, texts: list[str]) -> bool:
    """Whether a word of a source has the same parts in another order, a year in short perhaps: `064-SH` is SH.64,
    `2007-0412` is 412/07."""
    parts = _parts(value)
    if len(parts) < 2 or _PLAIN.fullmatch(value):
        return False
    return any(_parts(token) == parts for text in texts for token in _TOKEN.findall(text))


def _parts(word: str) -> list[str]:
    runs = (run[-2:] if _YEAR.fullmatch(run) else run for run in _RUNS.findall(word.casefold()))
    return sorted(run.lstrip("0") or "0" for run in runs)


def _joined(value: str, texts: list[str]) -> bool:
    """Whether all parts of it were said one by one, and one of them is no everyday number or word: `520-B5` is block B5
    of hull 520, `KI-03/2` is number 2 of KI-03."""
    parts = _SEPARATOR.split(value)
    whole = [part for part in parts if _ID.fullmatch(part) or (part.isdigit() and len(part) >= _SHORTEST)]
    pairs = [f"{one}-{other}" for one, other in pairwise(parts) if _ID.fullmatch(f"{one}-{other}")]
    said = all(any(mentions(text, part) for text in texts) for part in parts)
    return len(parts) > 1 and said and any(mentions(text, part) for part in (*whole, *pairs) for text in texts)


def with_an_initial(value: str, texts: Iterable[str], words: int = 1) -> bool:
    """Whether it is a number with the first letter of the word before it, or of one of so many `words`: `C-07` is
    circuit 7, with two of them `W3` is washing machine 3."""
    if not (found := _INITIAL.fullmatch(value)):
        return False
    letter, number = found["letter"], found["number"]
    between = rf"(?:[^\W\d]{{{_WORD},}} ){{0,{words - 1}}}"
    named = rf"(?<!\w){letter}[^\W\d]{{{_WORD - 1},}} {between}0{{0,8}}{number}(?![\w-])"
    return any(re.search(named, text, re.IGNORECASE) for text in texts)


def told_in_words(number: float) -> bool:
    """Whether an amount is small or round enough to be said in words, or in another unit."""
    return abs(number) < 1000 or number % 10 == 0


def _said_day(year: str, day: str, said: set[str]) -> bool:
    return (year in said or year[-2:] in said) and (not day or int(day) <= _ALWAYS_FINE or _stripped(day) in said)


def _stripped(text: str) -> str:
    """The digits, without zeros before them."""
    return "".join(letter for letter in text if letter.isdigit()).lstrip("0")


def numbers(text: str) -> list[Decimal]:
    """Plain numbers; neither dates and times nor numbers that are part of a word."""
    tokens = (re.sub(r"(?<=\d)[^\W\d_]+$", "", token) for token in _TOKEN.findall(text))
    return [Decimal(token.replace(",", "")) for token in tokens if _NUMBER.fullmatch(token) and len(token) <= _LONGEST]


def is_calculated(text: str) -> bool:
    return _CALCULATED.search(text) is not None


def uses_nothing_said(text: str, sources: Iterable[str]) -> bool:
    """Whether none of the numbers that are calculated with are in a source. Words in brackets are no sum."""
    used = set(numbers(text))
    if not used or not is_calculated(text):
        return False
    texts = list(sources)
    said = {Decimal(run) for source in texts for run in _PLAIN.findall(source) if len(run) <= _LONGEST}
    said |= {number for source in texts for number in _otherwise_written(source)}
    return not said & used


def unsourced_operand(text: str, sources: Iterable[str], in_words: bool = False) -> str:
    """The same for an argument. Who calculates may use what stands between two units and, where all numbers are told
    `in_words`, those that can be."""
    if not is_calculated(text):
        return unsourced_number(text, sources)
    known = {number for number in numbers(text) if number in CONSTANTS or (in_words and told_in_words(float(number)))}
    return unsourced_number(text, sources, known)


def unsourced_number(text: str, sources: Iterable[str], known: Set[Decimal] = UNIT_FACTORS) -> str:
    """The first number in a text that is in no source, nor in words, and does not follow from two; empty if none is.
    Those that are `known` need no source."""
    claimed = [number for number in numbers(text) if number > _ALWAYS_FINE and number not in known]
    if not claimed:
        return ""
    texts = list(sources)
    sourced = {number for text in texts for number in (*numbers(text), *_otherwise_written(text))}
    # Of a date or a word as well: 2027 is in 2027-03-14.
    written = {Decimal(run) for text in texts for run in _PLAIN.findall(text) if len(run) <= _LONGEST}
    if len(sourced) > _MAX_NUMBERS:
        return ""
    doubtful = [number for number in claimed[:_MAX_NUMBERS] if number not in written]
    if not doubtful:
        return ""
    from treadle._local.guards.number_words import is_said, number_words  # rarely needed

    said = [number_words(text) for text in texts]
    unsaid = (number for number in doubtful if not any(is_said(float(number), words) for words in said))
    return next((str(number) for number in unsaid if not _follows(number, sourced)), "")


def _otherwise_written(text: str) -> Iterator[Decimal]:
    """Numbers as other languages write them; a text may have such a one by chance, which does no harm."""
    for found in _IN_GROUPS.finditer(text):
        whole, _, part = found[0].partition(",")
        if len(found[0]) <= _LONGEST:
            yield Decimal(f"{''.join(_DIGITS.findall(whole))}.{part or 0}")
    for found in _WITH_COMMA.finditer(text):
        if len(found[0]) <= _LONGEST:
            yield Decimal(found[0].replace(",", "."))


def _follows(number: Decimal, sourced: set[Decimal]) -> bool:
    """Whether it is one of the numbers, rounded perhaps or in another unit, or the result of one operation on two."""
    tolerance = Decimal(1).scaleb(min(0, int(number.as_tuple().exponent))) / 2
    return number in sourced or any(abs(number - result) <= tolerance for result in _results(sourced))


def _results(sourced: set[Decimal]) -> Iterator[Decimal]:
    yield from sourced
    for one, other in product(sourced, (*sourced, *UNIT_FACTORS)):
        yield one * other
        if other:
            yield one / other
    for one, other in combinations(sourced, 2):
        yield one + other
        yield abs(one - other)
