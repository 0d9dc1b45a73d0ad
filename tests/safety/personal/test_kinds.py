"""What is taken for personal data, and what is not."""

from __future__ import annotations

import json

import pytest

from treadle import ConfigError
from treadle._safety.personal.kinds import KINDS, Finder, canonical, plain


def found(text: str, **options: object) -> list[tuple[str, str]]:
    return [(one.kind, text[one.start : one.end]) for one in Finder(**options).find(text)]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "datum"),
    [
        ("email", "anna.weber+news@mail.example.co.uk"),
        ("email", "o'brien@example.ie"),
        ("email", "anna%40example.org"),
        ("email", "jörg@müller.example"),
        ("iban", "DE89 3704 0044 0532 0130 00"),
        ("iban", "GB82WEST12345698765432"),
        ("iban", "nl91abna0417164300"),
        ("card", "4111 1111 1111 1111"),
        ("card", "5500-0000-0000-0004"),
        ("card", "378282246310005"),
        ("id", "12345678Z"),
        ("id", "X1234567L"),
        ("id", "RSSMRA85T10A562S"),
        ("id", "44051401359"),
        ("id", "811228-9874"),
        ("id", "131052-308T"),
        ("id", "529.982.247-25"),
        ("id", "756.9217.0769.85"),
        ("id", "1 85 05 78 006 084 91"),
        ("phone", "+49 171 2345678"),
        ("phone", "0049 (0)30 901820"),
        ("phone", "(030) 901820"),
        ("phone", "01 23 45 67 89"),
        ("phone", "(212) 555-0147"),
        ("ip", "192.168.7.12"),
        ("ip", "2001:db8::8a2e:370:7334"),
    ],
)
def test_a_datum_is_found_wherever_it_stands(kind: str, datum: str):
    for text in (datum, f"It is {datum}.", f'{{"value": "{datum}"}}', f"({datum}), and so on", f"a\n{datum}\nb"):
        assert found(text) == [(kind, datum)], text


@pytest.mark.parametrize(
    "text",
    [
        "On 2024-01-02 at 12:30:45 it cost 1,234,567.89 euros, 0.123456789 of it tax.",
        "std::vector<int> a; a::b; version 3.11.4; 127.0.0.1; page 12-14; ISBN 978-3-16-148410-0",
        "GB83WEST12345698765432 has a wrong check digit; so has 4111 1111 1111 1112.",
        "12345678A is no DNI, 44051401358 no PESEL; @anna is nobody's address, nor is anna@localhost.",
        "call_0171234567 and the digest 4f0a171234567890 name something else",
    ],
)
def test_what_only_looks_like_one_is_left_alone(text: str):
    assert found(text) == []


def test_a_card_beside_another_number():
    assert found("order 1234 4111 1111 1111 1111 today") == [("card", "4111 1111 1111 1111")]


@pytest.mark.parametrize(
    "text",
    ["Anna Müller", "ANNA MÜLLER", "anna  müller", "Anna\nMu\u0308ller", "Anna M\\u00fcller", "anna_m%C3%BCller",
     "Anna\u00a0Mü\u200bller", json.dumps("x\nAnna Müller")],
)  # fmt: skip
def test_a_listed_name_in_every_way_it_is_written(text: str):
    (one,) = Finder(names=["Anna Müller"]).find(text)
    value = plain("name", text[one.start : one.end])
    assert canonical("name", value) == "anna müller"
    assert found("Annabel Müllerin", names=["Anna", "Müller"]) == []


def test_what_overlaps_is_taken_as_one():
    assert found("anna@example.org", names=["anna", "org"]) == [("email", "anna@example.org")]


def test_kinds_are_chosen_and_mistakes_named():
    assert found("anna@example.org 192.168.7.12", kinds=["ip"]) == [("ip", "192.168.7.12")]
    with pytest.raises(ConfigError, match=r"unknown kinds of personal data: .*; expected some of: name, email"):
        Finder(["mail"])  # type: ignore[list-item]
    with pytest.raises(ConfigError, match="two characters"):
        Finder(names=["A"])
    assert KINDS[0] == "name"


def test_long_hostile_texts_take_no_time():
    for text in ("a." * 30_000 + "@", "1 " * 30_000, "+1 " * 20_000, "DE89" * 15_000, ":" * 60_000, "0" * 60_000):
        Finder(names=["Anna Weber"]).find(text)
