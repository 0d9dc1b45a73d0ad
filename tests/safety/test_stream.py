"""Secrets that arrive in pieces."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import row
from treadle._safety.key_shapes import LONGEST_OPEN
from treadle._safety.redact import Redactor
from treadle._safety.stream import StreamRedactor

LONG = "".join(chr(33 + n * 7 % 90) for n in range(300))
NAMED = {"pass": "hunter2hunter2", "odd": 'a"b\nc d', "ab": "abab-abab", "longer": "hunter2hunter2-x", "file": LONG}
REDACTOR = Redactor(NAMED, env={})
KEYS = [
    "sk-proj-Abc123Def456Ghi789Jkl012",
    "sk_live_Abc123Def456",
    "AKIAIOSFODNN7EXAMPLE",
    "ghp_" + "a1B2" * 9,
    "github_pat_" + "a1B2" * 15,
    "glpat-" + "a1B2" * 6,
    "AIza" + "x" * 35,
    "xoxb-1234567890-abcdef",
    "hf_" + "a1B2" * 9,
    "npm_" + "a1B2" * 9,
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abc-DEF_123",
    "Bearer abc.def-ghi_jkl012345==",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc=\n-----END RSA PRIVATE KEY-----",
]
SECRETS = [*NAMED.values(), *KEYS]


def streamed(pieces: Iterable[str], redactor: Redactor = REDACTOR) -> str:
    stream = StreamRedactor(redactor)
    return "".join([*(stream.feed(piece) for piece in pieces), stream.flush()])


def test_a_secret_is_found_wherever_it_is_cut():
    for secret in SECRETS:
        with row(secret):
            text = f"before {secret} and after"
            clean = REDACTOR.text(text)
            assert clean != text
            for cut in range(len(text) + 1):
                assert streamed([text[:cut], text[cut:]]) == clean, cut
            assert streamed(text) == clean
            assert streamed([secret[:5], secret[5:]]) == REDACTOR.text(secret)


ODD = ["hunter2", "hunter2hunter2-", "abab-", "ab", "-----BEGIN ", "task-", "sk-", "Bearer ", " ", "\n", "x", "é"]
pieces = st.sampled_from([*SECRETS, *ODD]) | st.text("ab-hunter2 sk_eyJ.", max_size=6)


def cut_up(text: str, data: st.DataObject) -> list[str]:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    return [text[a:b] for a, b in pairwise([0, *cuts, len(text)])]


@given(st.lists(pieces, max_size=6).map(" ".join), st.data())
def test_any_text_cut_anywhere_is_redacted_like_the_whole(text: str, data: st.DataObject):
    assert streamed(cut_up(text, data)) == streamed(text) == REDACTOR.text(text)


@given(st.lists(pieces, max_size=6).map("".join), st.data())
def test_even_of_keys_without_a_space_between_them_nothing_more_is_shown_than_of_the_whole(
    text: str, data: st.DataObject
):
    """It may be less: a key directly after another begins in the middle of a word, but not in a stream."""
    whole = iter(re.sub(r"\[redacted:[^]]*\]", "", REDACTOR.text(text)))
    shown = re.sub(r"\[redacted:[^]]*\]", "", streamed(cut_up(text, data)))
    assert all(character in whole for character in shown), shown


def test_only_what_may_be_a_secret_is_held_back():
    stream = StreamRedactor(REDACTOR)
    assert stream.feed("plain words, ") == "plain words, "
    assert stream.feed("the hun") == "the "
    assert stream.feed("t begins") == "hunt begins"
    assert stream.feed("hunter2hunter") == ""
    assert stream.feed("3") == "hunter2hunter3"
    assert stream.feed("-----") == ""
    assert stream.feed("\n") == "-----\n"
    assert stream.flush() == ""


def test_without_secrets_ordinary_pieces_pass_as_they_are():
    stream = StreamRedactor(Redactor(env={}))
    piece = "some words. "
    assert [stream.feed(piece), stream.feed(piece)] == [piece, piece]


def test_a_key_without_an_end_is_neither_kept_nor_shown():
    for key in ("sk-" + "a" * 30_000, "-----BEGIN PRIVATE KEY-----\n" + "QUFB\n" * 9_000):
        with row(key):
            stream = StreamRedactor(REDACTOR)
            shown = "".join(stream.feed(key[at : at + 100]) for at in range(0, len(key), 100))
            assert shown == ""
            assert len(stream._held) <= LONGEST_OPEN + 100  # pyright: ignore[reportPrivateUsage]
            assert stream.flush().startswith("[redacted:")


def test_long_text_that_looks_like_the_beginning_of_a_key_is_shown_in_the_end():
    text = "eyJ" + "a" * (LONGEST_OPEN + 1)
    stream = StreamRedactor(REDACTOR)
    assert stream.feed(text) == text


@pytest.mark.parametrize("piece", ["sk-", "eyJ", "-----BEGIN PRIVATE KEY-----", "Bearer ", "-----BEGIN ", "hunter2"])
def test_the_time_for_hostile_text_is_linear(piece: str):
    def seconds(length: int) -> float:
        text = piece * (length // len(piece)) + "!"
        began = time.process_time()
        streamed([text])
        return time.process_time() - began

    seconds(1000)
    assert seconds(400_000) < 24 * max(min(seconds(50_000) for _ in range(3)), 0.002)


def test_a_key_after_an_escaped_line_end_is_masked_wherever_it_is_cut():
    """As in JSON: the letter of the escape is no part of a word."""
    text = "log\\nghp_" + "a1" * 18 + "\\tsk-" + "b2" * 12 + " end"
    for cut in range(len(text)):
        for second in range(cut, len(text), 5):
            stream = StreamRedactor(Redactor(env={}))
            shown = (
                stream.feed(text[:cut]) + stream.feed(text[cut:second]) + stream.feed(text[second:]) + stream.flush()
            )
            assert "a1a1" not in shown
            assert "b2b2" not in shown
            assert shown.startswith("log\\n[redacted")
            assert shown.endswith(" end")


def test_no_key_begins_in_the_middle_of_a_word():
    stream = StreamRedactor(Redactor(env={}))
    assert stream.feed("painting") == "painting"
