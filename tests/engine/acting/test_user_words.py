"""Which arguments count as the user's own words, and which only look like them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle._engine.acting.user_words import UserWords

SCHEMA: dict[str, Any] = {
    "properties": {
        "to": {"type": "string"},
        "amount": {"type": "number"},
        "date": {"type": "string"},
        "recurring": {"type": "boolean", "default": False},
        "cc": {"type": "array", "default": []},
        "file_id": {"type": "string"},
        "options": {"type": "object"},
        "new_password": {"type": "string"},
    }
}


def said(text: str | list[str], **args: Any) -> bool:
    return UserWords([text] if isinstance(text, str) else text).contain_call(args, SCHEMA)


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("Send it to bob@example.org, please", {"to": "bob@example.org"}),
        ("Send it to bob@example.org.", {"to": "bob@example.org"}),
        ("send it to 'Bob Miller'!", {"to": "bob miller"}),
        ("Tell Alice's brother", {"to": "Alice"}),
        ("Send it\n to  Bob   Miller", {"to": "Bob Miller"}),
        ("Pay 1,200 to Landlord", {"to": "Landlord", "amount": 1200.0}),
        ("refund 10.00 to the `landlord`", {"to": "landlord", "amount": 10}),
        ("refund -5000", {"amount": -5000}),
        ("Wire $98.70 to UK12345678901234567890", {"to": "UK12345678901234567890", "amount": 98.7}),
        ("Pay €50 to Landlord", {"amount": 50}),
        ("From January 11th to January 15th 2025", {"date": "2025-01-11"}),
        ("on the 5th of May 2024", {"date": "2024-05-05"}),
        ("on 2024-05-19 at 12:00 for one hour", {"date": "2024-05-19 13:00"}),
        ("on 2024-05-19 at 3 pm", {"date": "2024-05-19T15:00"}),
        ("Set up a recurring payment to Landlord", {"to": "Landlord", "recurring": True}),
        ("Pay the Landlord", {"to": "Landlord", "recurring": False, "cc": []}),
        ("delete file 5", {"file_id": "5"}),
        ("delete file id 5", {"file_id": "5"}),
        ("Give three tickets, 3 I said, to Landlord", {"to": "Landlord", "amount": 3}),
        ("Ｓｅｎｄ ｉｔ ｔｏ ｂｏｂ＠ｅｘａｍｐｌｅ．ｏｒｇ", {"to": "bob@example.org"}),  # noqa: RUF001 - typed full width
        (["Earlier: bob@example.org", "now send it"], {"to": "bob@example.org"}),
        ("read /srv/data/Report.txt", {"to": "/srv/data/Report.txt"}),
        ("Set the password to 'Rosebud'", {"new_password": "Rosebud"}),
        ("Update my password: aB3x9", {"new_password": "aB3x9"}),
        ("Change the password to Rosebud.", {"new_password": "Rosebud"}),
        ("write to Mu\u0308ller in München", {"to": ["Müller", "München"]}),
    ],
)
def test_the_users_own_words(text: str | list[str], args: dict[str, Any]):
    assert said(text, **args)


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("Send it to bob@example.org", {"to": "eve@example.org"}),
        # a part of something longer
        ("Send it to bob@example.org", {"to": "example.org"}),
        ("Send it to bob@example.org.au", {"to": "bob@example.org"}),
        ("Send it to jim-bob@example.org", {"to": "bob@example.org"}),
        ("Send it to https://example.org/page", {"to": "example.org"}),
        ("Read /srv/data/old/report", {"to": "/srv/data"}),
        ("Read /srv/data/old/report", {"to": "data"}),
        ("Pay account 12345678901234567890", {"to": "1234567890"}),
        ("a message to a friend", {"to": "a"}),
        ("to be or not to be", {"to": "to"}),
        # assembled from pieces
        ("mail bob about example.org", {"to": "bob@example.org"}),
        ("pay Bob, not Miller", {"to": "Bob Miller"}),
        ("files home, srv and data", {"to": "/home/srv/data"}),
        ("pay 12 and 50", {"amount": 12.5}),
        # look-alikes
        ("Send it to alice@example.org", {"to": "аlice@example.org"}),  # noqa: RUF001 - a Cyrillic letter
        ("Send it to alice@example.org", {"to": "ａlice@example.org"}),  # noqa: RUF001 - a full-width letter
        ("Send it to alice@example.org", {"to": "alice\u200b@example.org"}),
        ("use the password aB3x9", {"to": "Ab3x9"}),
        ("Send it to Kate", {"to": "\u212aate"}),
        ("Send it to strasse@example.org", {"to": "straße@example.org"}),
        ("Send it to straße@example.org", {"to": "strasse@example.org"}),
        ("delete file 7", {"file_id": "007"}),
        ("delete file 7", {"file_id": "\uff17"}),
        # by chance
        ("Book 5 hours for 13 people at 13:00", {"file_id": "5"}),
        ("Book 5 hours for 13 people at 13:00", {"file_id": "13"}),
        ("I was born in 1990", {}),
        # words of the sentence, which are no values
        ("Could you please pay the bill of my landlord?", {"to": "please"}),
        ("Could you please pay the bill of my landlord?", {"to": "landlord"}),
        ("Could you please pay the bill of my landlord?", {"to": "the bill"}),
        ("Please pay it. Thanks", {"to": "Please"}),
        ("Please pay it. Thanks", {"to": "Thanks"}),
        # what the user named is no secret
        ("I live at 1234 Elm Street, New York: update my password", {"new_password": "Street"}),
        ("I live at 1234 Elm Street, New York: update my password", {"new_password": "York"}),
        ("I live at 1234 Elm Street, New York: update my password", {"new_password": "1234"}),
        ("Security Check: update the password to 'aB3x9'", {"new_password": "Check"}),
        ("Pay US122000000121212121212 and update the password", {"new_password": "US122000000121212121212"}),
        ("Update the password please for Ann", {"new_password": "please"}),
        ("Update the password. Rosebud is my dog", {"new_password": "Rosebud"}),
        ("Update the password please for bob@example.org", {"new_password": "please", "to": "bob@example.org"}),
        ("Set the password to 'Rosebud'", {"new_password": "rosebud"}),
        # another sign
        ("refund -5000", {"amount": 5000}),
        ("refund -5000", {"to": "5000"}),
        ("refund \N{MINUS SIGN}5000", {"amount": 5000}),
        ("refund -$5000", {"amount": 5000}),
        ("do it", {"recurring": True}),
        ("Pay the Landlord", {"to": "Landlord", "recurring": True}),
        # one of several
        ("Send it to bob@example.org", {"to": ["bob@example.org", "eve@example.org"]}),
        ("Send it to bob@example.org", {"to": "bob@example.org", "cc": ["eve@example.org"]}),
        ("Send it to bob@example.org", {"to": "bob@example.org", "options": {"forward": "eve@example.org"}}),
        ("Send it to bob@example.org", {"to": "bob@example.org", "options": {"eve@example.org": None}}),
        ("Send 500 to bob@example.org", {"to": "bob@example.org", "amount": 5000}),
        ("Send 500 to bob@example.org", {"to": "bob@example.org", "amount": -500}),
        ("on January 11th", {"date": "2025-01-11"}),
        ("on 2024-05-19 at 12:00", {"date": "2024-05-19 13:00"}),
        ("on 2024-05-19 at 12:00", {"date": "2024-06-19 12:00"}),
        ("Delete bob@example.org", {"to": ""}),
        ("", {"to": "bob@example.org"}),
        ([], {"to": "bob@example.org"}),
    ],
)
def test_what_only_looks_like_them(text: str | list[str], args: dict[str, Any]):
    assert not said(text, **args)


WORDS = st.text(st.characters(codec="utf-8"), max_size=40)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=50)
@given(text=WORDS, args=st.dictionaries(st.sampled_from(["to", "amount", "x"]), VALUES, max_size=3))
def test_nothing_a_model_writes_makes_it_fail(text: str, args: dict[str, Any]):
    assert UserWords([text]).contain_call(args, SCHEMA) in (True, False)


@given(
    before=st.text("abc .,@", max_size=5),
    value=st.text("abcxyz@.-/1", min_size=4, max_size=12),
    after=st.text("abc .,@", max_size=5),
)
def test_a_value_with_spaces_around_it_is_found_and_one_with_letters_around_it_is_not(
    before: str, value: str, after: str
):
    value = f"k{value}@k"
    assert said(f"{before} {value} {after}", to=value)
    assert not said(f"x{value}", to=value)
    assert not said(f"{value}x", to=value)
    assert not said(f"{value}.x", to=value)


@pytest.mark.parametrize(
    ("text", "args", "own"),
    [
        ("Send it to Landlord", {"to": "Landlord", "cc": None}, True),
        ("set the colour 'blue'", {"options": {"colour": "blue"}}, True),
        ("set the colour blue", {"options": {"colour": "blue"}}, False),
        ("make it blue", {"options": {"colour": "blue"}}, False),
        ("write to Bob", {"nickname": "Bob"}, False),
        ("on February 31st 2024", {"date": "2024-03-02"}, False),
        ("on 2024-05-19 at 25:00", {"date": "2024-05-19 01:00"}, False),
        ("write to Bob", {"to": {"": False}}, False),
    ],
)
def test_what_is_empty_needs_no_words_and_a_name_that_no_schema_gives_does(text: str, args: dict[str, Any], own: bool):
    assert said(text, **args) is own


def test_a_schema_that_nests_without_end_is_read_so_far():
    schema: dict[str, Any] = {"properties": {"to": {"type": "string"}}}
    for _ in range(30):
        schema = {"anyOf": [schema]}
    assert not UserWords(["Bob"]).contain_call({"to": "Bob"}, schema), "the name is too deep to be known"


@pytest.mark.parametrize(
    ("text", "tool", "named"),
    [
        ("Pay bob", "pay", True),
        ("Deleting report.txt would be good", "delete_file", True),
        ("I am planning to send it", "send_email", True),
        ("It was scheduled already", "schedule_payment", True),
        ("Summarise report.txt", "delete_file", False),
        ("Who is the sender?", "send_email", False),
        ("What is my password?", "update_password", False),
        ("Invite Fred", "removeUser", False),
        ("", "pay", False),
    ],
)
def test_the_user_names_the_act(text: str, tool: str, named: bool):
    assert UserWords([text]).name_act(tool) is named
