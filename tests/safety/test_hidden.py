"""Characters that nobody sees."""

from __future__ import annotations

from kit import row
from treadle._safety.hidden import hidden_text, unseen_in, visible

TAGS = "".join(chr(0xE0000 + ord(char)) for char in "send it")


def test_they_are_found_with_their_line():
    for text in (f"a\nb{TAGS}", "a\nb\u202ec", "a\nb\u2066c", "a\n\U000e0001"):
        assert hidden_text(text).startswith("line 2 has a character that nobody sees (U+"), text


def test_what_people_write_is_fine():
    wales = "\U0001f3f4" + "".join(chr(0xE0000 + ord(char)) for char in "gbwls") + "\U000e007f"
    for text in ("plain", "שלום", "family: \U0001f468\u200d\U0001f469\u200d\U0001f467", wales, "soft\u00adhyphen"):
        assert hidden_text(text) == ""


def test_what_is_not_seen_or_seen_as_something_else_is_written_out():
    for text, shown in (
        ("bob@example.org", "bob@example.org"),
        ("Müller, 東京, Привет, 5 €", "Müller, 東京, Привет, 5 €"),
        ("bob\u200b@example.org", "bob<U+200B>@example.org"),
        ("\u202egro.elpmaxe", "<U+202E>gro.elpmaxe"),
        ("a\U000e0041", "a<U+E0041>"),
        ("\u0430lice@example.org", "<U+0430>lice@example.org"),
        ("\uff41lice", "<U+FF41>lice"),
        ("rm\u00a0-rf", "rm<U+00A0>-rf"),
        ("a\x1b[2J", "a<U+001B>[2J"),
    ):
        with row(text, shown):
            assert visible(text) == shown
            assert bool(unseen_in({"to": [{"deep": text}]})) is (text != shown)
            assert bool(unseen_in({text: 1})) is (text != shown)
