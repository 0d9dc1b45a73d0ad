"""Numbers that people write as words: "forty chairs", "zwei Dutzend", "ciento veinte"."""

from __future__ import annotations

import re
import unicodedata

_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 40
"""Letters of a word that can be a number."""
_ITALIAN_ONES = "(?:a(?:due|tre|tré|quattro|cinque|sei|sette|nove)?|uno?|otto)"
_ITALIAN = "due|tre|quattro|cinque|sei|sette|otto|nove|dieci|venti|trenta|quaranta|cinquanta|cento"
_TEENS = (
    r"thirteen|\w*dreizehn|treize|trece|tredici|treze|\w*dertien|trzynaś\w*",
    r"fourteen|\w*vierzehn|quatorze|catorce|quattordici|catorze|\w*veertien|czternaś\w*",
    r"fifteen|\w*fünfzehn|quinze|quince|quindici|\w*vijftien|piętnaś\w*",
    r"sixteen|\w*sechzehn|seize|diecis[ée]is|sedici|dez[ea]sseis|\w*zestien|szesnaś\w*",
    r"seventeen|\w*siebzehn|diecisiete|diciassette|dez[ea]ssete|\w*zeventien|siedemnaś\w*",
    r"eighteen|\w*achtzehn|dieciocho|diciotto|dezoito|\w*achttien|osiemnaś\w*",
    r"nineteen|\w*neunzehn|diecinueve|diciannove|dez[ea]nove|\w*negentien|dziewiętnaś\w*",
)
_TENS = (
    r"twenty|\w*zwanzig|vingts?|veint[ei]\w*|venti(?:due|tre|tré|quattro|cinque|sei|sette|nove)?|vent(?:uno?|otto)"
    r"|vinte|\w*twintig|dwadzieś\w*",
    rf"thirty|\w*drei(?:ß|ss)ig|trente|treinta|trent{_ITALIAN_ONES}|trinta|\w*dertig|trzydzieś\w*",
    rf"fou?rty|\w*vierzig|quarante|cuarenta|quarant{_ITALIAN_ONES}|quarenta|\w*veertig|czterdzieś\w*",
    rf"fifty|\w*fünfzig|cinquante|cincuenta|cinquant{_ITALIAN_ONES}|cinquenta|\w*vijftig|pięćdziesi\w*",
    rf"sixty|\w*sechzig|soixante|sesenta|sessant{_ITALIAN_ONES}|sessenta|\w*zestig|sześćdziesi\w*",
    rf"seventy|\w*siebzig|soixante|septante|setenta|settant{_ITALIAN_ONES}|\w*zeventig|siedemdziesi\w*",
    rf"eighty|\w*achtzig|huitante|octante|ochenta|ottant{_ITALIAN_ONES}|oitenta|\w*tachtig|osiemdziesi\w*",
    rf"ninety|\w*neunzig|nonante|noventa|novant{_ITALIAN_ONES}|\w*negentig|dziewięćdziesi\w*",
)
_HUNDRED = (
    r"hundred|\w*hundert\w*|cien|ciento|\w+cient[oa]s|quinient[oa]s|cem|\w+[cz]ent[oa]s|quinhent[oa]s"
    rf"|(?:{_ITALIAN})?cento\w*|\w*honderd\w*|sto|dwieście|trzysta|czterysta|(?:pięć|sześć|siedem|osiem|dziewięć)set"
)
_THOUSAND = rf"thousand|\w*tausend\w*|mille|mil|(?:{_ITALIAN})mila|\w*duizend\w*|tysi\w+"
_MILLION = r"millions?|millionen|millón|millones|milion[ei]|milh(?:ão|ões)|miljoen|milion\w*"
_DOZEN = r"dozens?|dutzend\w*|douzaines?|docenas?|dozzin[ae]|d[úu]zias?|dozijn|tuzin\w*"
_HALF = r"half|halbe[nrs]?|demi|medi[oa]|mezzo|mei[oa]|halve|pół"
_QUARTER = r"quarter|viertel|quart|cuarto|quarto|kwart|ćwierć"
_UNIT = r"kilos?|kilogram\w*|kg|lit[er]{2}s?|litr\w+|liters?|chilo|quilos?"
_FRENCH = frozenset({"le", "les", "des", "du", "une", "pour", "et", "est", "avec", "personnes", "euros"})
_IN_TWO = frozenset({"cent", "cents", "dix", "sept", "huit", "neuf", "quatre"})
"""French words that are a part of a number."""
_ANY = re.compile("|".join((*_TEENS, *_TENS, _HUNDRED, _THOUSAND, _MILLION, _DOZEN, _HALF, _QUARTER, _UNIT)))


def number_words(text: str) -> frozenset[str]:
    """The words of a text that may be, or belong to, a number, in one of eight languages."""
    words = {word for word in _WORD.findall(unicodedata.normalize("NFC", text).lower()) if len(word) <= _LONGEST}
    return frozenset(word for word in words if word in _FRENCH or word in _IN_TWO or _ANY.fullmatch(word))


def is_said(number: float, words: frozenset[str]) -> bool:
    """Whether these words may say this whole number: by its greatest part."""
    if number != int(number):
        return False
    number = int(abs(number))
    if number and number % 6 == 0 and _any(words, _DOZEN):
        return True
    if number in (250, 500, 750) and _any(words, _UNIT):
        return _any(words, _HUNDRED) or _any(words, _HALF if number == 500 else _QUARTER)
    if number < 100:
        return _is_below_hundred(number, words)
    if number < 1000:
        return _says_hundred(words)
    if number >= 10**6:
        return number % 1000 == 0 and _any(words, _MILLION)
    return number % 10 == 0 and (_any(words, _THOUSAND) or (number % 100 == 0 and _says_hundred(words)))


def _is_below_hundred(number: int, words: frozenset[str]) -> bool:
    if 12 < number < 20:
        in_two = {17: "sept", 18: "huit", 19: "neuf"}.get(number)
        return _any(words, _TEENS[number - 13]) or (in_two is not None and {"dix", in_two} <= words)
    in_french = number >= 80 and "quatre" in words and _any(words, "vingts?")
    return number >= 20 and (in_french or _any(words, _TENS[number // 10 - 2]))


def _says_hundred(words: frozenset[str]) -> bool:
    """`cent` is a coin as well, and a part of `per cent`."""
    return _any(words, _HUNDRED) or bool({"cent", "cents"} & words and _FRENCH & words)


def _any(words: frozenset[str], pattern: str) -> bool:
    return any(re.fullmatch(pattern, word) for word in words)
