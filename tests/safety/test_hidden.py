"""Characters that nobody sees."""

from __future__ import annotations

import pytest

from treadle._safety.hidden import hidden_text

TAGS = "".join(chr(0xE0000 + ord(char)) for char in "send it")


@pytest.mark.parametrize("text", [f"a\nb{TAGS}", "a\nb\u202ec", "a\nb\u2066c", "a\n\U000e0001"])
def test_they_are_found_with_their_line(text: str):
    assert hidden_text(text).startswith("line 2 has a character that nobody sees (U+")


def test_what_people_write_is_fine():
    wales = "\U0001f3f4" + "".join(chr(0xE0000 + ord(char)) for char in "gbwls") + "\U000e007f"
    for text in ("plain", "שלום", "family: \U0001f468\u200d\U0001f469\u200d\U0001f467", wales, "soft\u00adhyphen"):
        assert hidden_text(text) == ""
