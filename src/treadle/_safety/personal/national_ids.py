"""National identity and tax numbers that carry a check digit: only what passes the check is taken for one."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

_DNI_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
_HETU_LETTERS = "0123456789ABCDEFHJKLMNPRSTUVWXY"
_CF_ODD = dict(
    zip(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16,
         10, 22, 25, 24, 23),
        strict=True,
    )
)  # fmt: skip


def _digits(text: str) -> list[int]:
    return [int(char) for char in text if char in "0123456789"]


def _weighted(digits: Sequence[int], weights: Sequence[int]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=False))


def luhn(text: str) -> bool:
    total = 0
    for place, digit in enumerate(reversed(_digits(text))):
        doubled = digit * 2 if place % 2 else digit
        total += doubled - 9 if doubled > 9 else doubled
    return total % 10 == 0


def _month_and_day(month: int, day: int) -> bool:
    return 1 <= month <= 12 and 1 <= day <= 31


def _dni(text: str) -> bool:
    """Spain: DNI and NIE."""
    compact = re.sub(r"[ .-]", "", text).upper()
    number = compact[:-1].replace("X", "0").replace("Y", "1").replace("Z", "2")
    return number.isdigit() and _DNI_LETTERS[int(number) % 23] == compact[-1]


def _codice_fiscale(text: str) -> bool:
    """Italy."""
    code = text.upper()
    total = sum(
        _CF_ODD[char] if place % 2 == 0 else (int(char) if char.isdigit() else ord(char) - ord("A"))
        for place, char in enumerate(code[:15])
    )
    return chr(ord("A") + total % 26) == code[15]


def _nir(text: str) -> bool:
    """France: the number of social security; Corsica has letters in it."""
    compact = re.sub(r"[ .]", "", text).upper()
    number = compact[:13].replace("2A", "19", 1) if compact[5:7] == "2A" else compact[:13].replace("2B", "18", 1)
    return number.isdigit() and 97 - int(number) % 97 == int(compact[13:])


def _pesel(text: str) -> bool:
    """Poland: the century is in the month."""
    digits = _digits(text)
    right = (10 - _weighted(digits[:10], (1, 3, 7, 9, 1, 3, 7, 9, 1, 3)) % 10) % 10 == digits[10]
    return right and _month_and_day((digits[2] * 10 + digits[3]) % 20, digits[4] * 10 + digits[5])


def _steuer_id(text: str) -> bool:
    """Germany: of the first ten digits one or two stand twice or three times."""
    digits = _digits(text)
    counts = [digits[:10].count(number) for number in range(10)]
    if digits[0] == 0 or max(counts) not in (2, 3):
        return False
    product = 10
    for digit in digits[:10]:
        rest = (digit + product) % 10 or 10
        product = rest * 2 % 11
    return (11 - product) % 10 == digits[10]


def _personnummer(text: str) -> bool:
    """Sweden: the date of birth, then four digits."""
    digits = _digits(text)[-10:]
    day = digits[4] * 10 + digits[5]
    dated = _month_and_day(digits[2] * 10 + digits[3], day - 60 if day > 60 else day)
    return dated and luhn("".join(map(str, digits)))


def _hetu(text: str) -> bool:
    """Finland."""
    number = int(text[:6] + text[7:10])
    return _month_and_day(int(text[2:4]), int(text[:2])) and _HETU_LETTERS[number % 31] == text[10].upper()


def _cpf(text: str) -> bool:
    """Brazil: two check digits."""
    digits = _digits(text)
    if len(set(digits)) == 1:
        return False
    first = _weighted(digits[:9], range(10, 1, -1)) * 10 % 11 % 10
    second = _weighted(digits[:10], range(11, 1, -1)) * 10 % 11 % 10
    return digits[9:] == [first, second]


def _nhs(text: str) -> bool:
    """United Kingdom: the number of the health service."""
    digits = _digits(text)
    check = 11 - _weighted(digits[:9], range(10, 1, -1)) % 11
    return check != 10 and check % 11 == digits[9]


def _bsn(text: str) -> bool:
    """The Netherlands. Nine digits are too common a thing: only where the word stands before them."""
    digits = _digits(text)
    return len(digits) == 9 and _weighted(digits, (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0


def _ahv(text: str) -> bool:
    """Switzerland: as on a bar code."""
    digits = _digits(text)
    return (10 - _weighted(digits[:12], (1, 3) * 6) % 10) % 10 == digits[12]


def _national_register(text: str) -> bool:
    """Belgium: those born from 2000 on count with a 2 in front."""
    digits = "".join(map(str, _digits(text)))
    number, check = digits[:9], int(digits[9:])
    return check in (97 - int(number) % 97, 97 - int("2" + number) % 97)


def _rule(pattern: str, check: Callable[[str], bool]) -> tuple[re.Pattern[str], Callable[[str], bool]]:
    return re.compile(rf"(?<![\w.-]){pattern}(?![\w-])", re.IGNORECASE | re.ASCII), check


RULES = (
    _rule(r"(?:\d{8}|\d{2}\.\d{3}\.\d{3}|[XYZ][ -]?\d{7})[ -]?[A-Z]", _dni),
    _rule(r"[A-Z]{6}[0-9LMNPQRSTUV]{2}[A-EHLMPRST][0-9LMNPQRSTUV]{2}[A-Z][0-9LMNPQRSTUV]{3}[A-Z]", _codice_fiscale),
    _rule(r"[12][ .]?\d{2}[ .]?\d{2}[ .]?(?:\d{2}|2[AB])[ .]?\d{3}[ .]?\d{3}[ .]?\d{2}", _nir),
    _rule(r"\d{11}", _pesel),
    _rule(r"\d{2} ?\d{3} ?\d{3} ?\d{3}", _steuer_id),
    _rule(r"(?:\d{8}|\d{6})[-+]\d{4}", _personnummer),
    _rule(r"\d{6}[-+A-FU-Y]\d{3}[0-9A-Y]", _hetu),
    _rule(r"\d{3}\.?\d{3}\.?\d{3}-?\d{2}", _cpf),
    _rule(r"\d{3}[ -]\d{3}[ -]\d{4}", _nhs),
    _rule(r"(?<=bsn[ :])\d{9}|(?<=bsn: )\d{9}", _bsn),
    _rule(r"756\.?\d{4}\.?\d{4}\.?\d{2}", _ahv),
    _rule(r"\d{2}\.?\d{2}\.?\d{2}-?\d{3}\.?\d{2}", _national_register),
)
