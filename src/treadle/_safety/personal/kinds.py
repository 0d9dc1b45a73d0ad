"""Find personal data in a text: by their form, by a check digit where they have one, or because they are listed.

In doubt a text counts as personal: masking too much costs a little meaning, masking too little leaks a secret.
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from ipaddress import ip_address
from typing import Literal, get_args
from urllib.parse import quote, unquote

from msgspec import Struct

from treadle._safety.personal.national_ids import RULES, luhn
from treadle._types.errors import ConfigError

Kind = Literal["name", "email", "iban", "card", "id", "phone", "ip"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_AT = r"(?:[@\uff20]|%40|&#64;|&#x40;|&commat;|\\u0040)"
_EMAIL = re.compile(
    rf"(?<![\w.+'%-])[\w+][\w.+'%-]*?{_AT}(?:[^\W_](?:[\w-]*[^\W_])?\.)+[^\W\d_](?:[\w-]*[^\W_])", re.IGNORECASE
)
_AT_SIGNS = ("@", "\uff20", "%40", "&#64;", "&#x40;", "&commat;", "\\u0040")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}\d{2}(?:[ \u00a0-]?[A-Za-z0-9]){11,30}")
_IBAN_LENGTHS = (
    "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BR29BY28CH21CR22CY28CZ24DE22DK18DO28EE20EG29ES24FI18FO18FR27GB22GE22GI23"
    "GL18GR27GT28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MR27MT31MU30"
    "NL18NO15PK24PL28PS29PT25QA29RO24RS22SA24SC31SE24SI19SK24SM27ST25SV28TN24TR26UA29VA22VG24XK20"
)
_LENGTH = {_IBAN_LENGTHS[at : at + 2]: int(_IBAN_LENGTHS[at + 2 : at + 4]) for at in range(0, len(_IBAN_LENGTHS), 4)}
_GROUPED_DIGITS = re.compile(r"(?<![\d.])\d(?:[ \u00a0-]?\d){12,}")
_DIGIT_GROUP = re.compile(r"\d+")
_PHONES = (
    re.compile(r"(?<![\w.])(?:\+|00)[1-9](?:[ ()./\u00a0-]{0,3}\d){6,14}(?!\d)"),
    re.compile(r"(?<![\w.+-])(?:\(0\d{1,5}\)[ /\u00a0-]{0,2}|0\d{1,5}[ /\u00a0-]{1,3})\d(?:[ /\u00a0-]?\d){4,9}(?!\d)"),
    re.compile(r"(?<![\w.+-])0\d(?:[ .-]?\d{2}){4}(?!\d)"),
    re.compile(r"(?<![\w.+-])0\d{8,11}(?![\d.])"),
    re.compile(r"(?<![\w.+-])(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?!\d)"),
)
_IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\.?\w)", re.ASCII)
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]{2,}:[0-9A-Fa-f:.]*(?![\w:])")
_OWN_MACHINE = ("127.0.0.1", "0.0.0.0", "::1", "::", "255.255.255.255")
_INVISIBLE = r"[\u00ad\u200b-\u200d\u2060\ufeff]*"
"""Characters that a reader does not see: they may stand inside a listed name."""


class PersonalSpan(Struct, frozen=True):
    """A span of a text with personal data of one kind."""

    start: int
    end: int
    kind: Kind


def _emails(text: str) -> Iterator[tuple[int, int]]:
    if any(sign in text for sign in _AT_SIGNS):
        yield from (match.span() for match in _EMAIL.finditer(text))


def _ibans(text: str) -> Iterator[tuple[int, int]]:
    for match in _IBAN.finditer(text):
        places = [at for at in range(match.start(), match.end()) if text[at].isalnum()]
        compact = "".join(text[at] for at in places).upper()
        country_length = _LENGTH.get(compact[:2])
        for length in (country_length,) if country_length else range(min(34, len(compact)), 14, -1):
            if length <= len(compact) and _mod_97(compact[:length]):
                yield match.start(), places[length - 1] + 1
                break


def _mod_97(compact: str) -> bool:
    moved = compact[4:] + compact[:4]
    return moved.isascii() and int("".join(str(int(char, 36)) for char in moved)) % 97 == 1


def _cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield groups of digits that pass the check together: one number may directly follow another."""
    for run in _GROUPED_DIGITS.finditer(text):
        groups = [(match.start(), match.end()) for match in _DIGIT_GROUP.finditer(text, run.start(), run.end())]
        for first, (start, _) in enumerate(groups):
            size = 0
            for begin, end in groups[first : first + 19]:
                size += end - begin
                if size > 19:
                    break
                if size >= 13 and text[start] in "23456" and luhn(text[start:end]):
                    yield start, end


def _ids(text: str) -> Iterator[tuple[int, int]]:
    for pattern, holds in RULES:
        for match in pattern.finditer(text):
            if holds(match[0]):
                yield match.span()


def _phones(text: str) -> Iterator[tuple[int, int]]:
    for pattern in _PHONES:
        yield from (match.span() for match in pattern.finditer(text))


def _addresses(text: str) -> Iterator[tuple[int, int]]:
    for pattern in (_IPV4, _IPV6):
        for match in pattern.finditer(text):
            address = match[0].rstrip(".:") if pattern is _IPV6 and not match[0].endswith("::") else match[0]
            if pattern is _IPV6 and len(re.findall(r"[0-9A-Fa-f]+", address)) < 3:
                continue  # `a::b` is more often code than a machine
            if address not in _OWN_MACHINE and _is_address(address):
                yield match.start(), match.start() + len(address)


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


_BY_FORM: dict[str, Callable[[str], Iterator[tuple[int, int]]]] = {
    "email": _emails, "iban": _ibans, "card": _cards, "id": _ids, "phone": _phones, "ip": _addresses,
}  # fmt: skip


class Finder:
    """Finds personal data of the chosen kinds, and listed names."""

    def __init__(self, kinds: Iterable[Kind] = KINDS, names: Iterable[str] = ()) -> None:
        chosen = list(kinds)
        if unknown := [kind for kind in chosen if kind not in KINDS]:
            raise ConfigError(f"unknown kinds of personal data: {unknown}; expected some of: {', '.join(KINDS)}")
        self._by_form = [(kind, _BY_FORM[kind]) for kind in KINDS if kind in chosen and kind != "name"]
        listed = sorted({" ".join(name.split()) for name in names}, key=lambda name: (-len(name), name))
        if any(len(name) < 2 for name in listed):
            raise ConfigError("a name to mask needs two characters at least, or it would be found inside every word")
        self._names = re.compile("|".join(map(_name_pattern, listed)), re.IGNORECASE) if listed else None

    def find(self, text: str) -> list[PersonalSpan]:
        """Return the spans of personal data, in order; spans that overlap are merged."""
        spans: list[PersonalSpan] = []
        if self._names is not None:
            spans += [PersonalSpan(*match.span(), "name") for match in self._names.finditer(text)]
        if len(text) > 3:
            spans += [PersonalSpan(start, end, kind) for kind, look in self._by_form for start, end in look(text)]  # type: ignore[arg-type]
        if len(spans) < 2:
            return spans
        spans.sort(key=lambda one: (one.start, one.start - one.end))
        merged = [spans[0]]
        for span in spans[1:]:
            last = merged[-1]
            if span.start >= last.end:
                merged.append(span)
            elif span.end > last.end:
                merged[-1] = PersonalSpan(last.start, span.end, last.kind)
        return merged


def _name_pattern(name: str) -> str:
    """The name in any case, over any white space, composed or not, and as JSON and addresses write it."""
    parts: list[str] = []
    for char in unicodedata.normalize("NFC", name):
        if char == " ":
            parts.append(r"(?:[\s\u00a0_+]|%20|\\n|&nbsp;)+")
        elif char.isascii():
            parts.append(re.escape(char))
        else:
            parts.append(f"(?:{'|'.join(dict.fromkeys(_forms(char)))})")
    before = r"(?<![^\W_])" if name[0].isalnum() else ""
    after = r"(?![^\W_])" if name[-1].isalnum() else ""
    # After a line end that JSON has written as a letter, a name may begin all the same.
    before = rf"(?:{before}|(?<=\\[nrtbf]))" if before else ""
    return before + _INVISIBLE.join(parts) + after


def _forms(char: str) -> Iterator[str]:
    for case in (char, char.lower(), char.upper()):
        for form in (case, unicodedata.normalize("NFD", case)):
            yield re.escape(form)
            yield re.escape("".join(f"\\u{ord(one):04x}" for one in form if ord(one) < 0x10000))
            yield re.escape(quote(form))
            yield re.escape("".join(f"&#{ord(one)};" for one in form))


def plain(kind: Kind, form: str) -> str:
    """Decode the form in a text to the plain value: without the escapes of JSON, URLs and HTML."""
    if kind in ("name", "email"):
        form = re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), form)
        form = html.unescape(unquote(form)) if "%" in form or "&" in form else form
        form = re.sub(_INVISIBLE, "", form)
    if kind == "name":
        form = " ".join(unicodedata.normalize("NFC", form).replace("\\n", " ").replace("_", " ").split())
    return form


def canonical(kind: Kind, value: str) -> str:
    """Normalize a value so that two forms of the same datum are equal."""
    value = unicodedata.normalize("NFC", value).casefold()
    return (
        value if kind in ("name", "email", "ip") else "".join(char for char in value if char.isalnum() or char == "+")
    )
