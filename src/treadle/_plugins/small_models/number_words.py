"""Numbers that people write as words: "forty chairs", "zwei Dutzend", "ciento veinte"."""

from __future__ import annotations

import re

_TEENS = (
    "thirteen dreizehn treize trece tredici treze dertien trzynaś",
    "fourteen vierzehn quatorze catorce quattordici catorze veertien czternaś",
    "fifteen fünfzehn quinze quince quindici vijftien piętnaś",
    "sixteen sechzehn seize dieciséis sedici dezesseis zestien szesnaś",
    "seventeen siebzehn dix-sept diecisiete diciassette dezessete zeventien siedemnaś",
    "eighteen achtzehn dix-huit dieciocho diciotto dezoito achttien osiemnaś",
    "nineteen neunzehn dix-neuf diecinueve diciannove dezenove negentien dziewiętnaś",
)
_TENS = (
    "twent zwanzig vingt veint vent vint twintig dwadzieś",
    "thirt dreißig dreissig trent treint trint dertig trzydzieś",
    "fort vierzig quarant cuarent quarent veertig czterdzieś",
    "fift fünfzig cinquant cincuent cinquent vijftig pięćdziesi",
    "sixt sechzig soixant sesent sessant sessent zestig sześćdziesi",
    "sevent siebzig soixant setent settant zeventig siedemdziesi",
    "eight achtzig quatre-vingt ochent ottant oitent tachtig osiemdziesi",
    "ninet neunzig quatre-vingt novent novant negentig dziewięćdziesi",
)
_DOZEN = "dozen dutzend douzain docen dozzin dúzia dozijn tuzin"
_HALF = "half halb demi medio media mezz meio meia pół"
_QUARTER = "quarter viertel quart cuart kwart ćwier"
_HUNDRED = r"hundred \w*hundert (?<!\d.)cents?\b cien(?:to)?\b \w*cientos \w*cento\b cem\b \w*honderd sto\b dwieście"
_THOUSAND = r"thousand \w*tausend mille \w*mila\b mil\b \w*duizend tysi"


def said_in_words(number: float, text: str) -> bool:
    """Whether a text may have this whole number in words, in one of eight languages: by its greatest part."""
    return number == int(number) and any(_has(text, stems) for stems in _stems(int(abs(number))))


def _stems(number: int) -> list[str]:
    found: list[str] = []
    if 12 < number < 20:
        found.append(_TEENS[number - 13])
    elif 20 <= number < 100:
        found.append(_TENS[number // 10 - 2])
    elif 100 <= number < 1000:
        found.append(_HUNDRED)
    elif number % 10 == 0:
        found.append(_THOUSAND)
    if number and number % 12 == 0:
        found.append(_DOZEN)
    if number in (50, 500):
        found.append(_HALF)
    if number in (25, 75, 250, 750):
        found.append(_QUARTER)
    return found


def _has(text: str, stems: str) -> bool:
    """Also inside a word: `fünfundvierzig`."""
    return any(re.search(rf"\b{stem}|und{stem}|en{stem}", text, re.IGNORECASE) for stem in stems.split())
