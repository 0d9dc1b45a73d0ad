"""Which sources a sentence rests on."""

from __future__ import annotations

import json

import pytest

from treadle._plugins.research.sources import Sources, checked_answer, sources_of
from treadle._types.events import Record, RunStarted, ToolDone

TEXTS = {1: ("Graz", "It lies on the Mur."), 2: ("Mur", "The Mur is a river."), 3: ("Linz", "It lies on the Danube.")}


def test_those_that_bear_it_alone_come_first_then_those_that_do_together():
    sources = Sources(TEXTS)
    assert sources.holding("Graz lies on the Mur.", [1, 2]) == (1,)
    assert sources.holding("Graz lies on the Mur, a river.", [2, 3, 1]) == (1,)  # one word more than it says
    assert sources.holding("Graz lies on the Mur.", [3]) == (1,)
    assert sources.holding("Graz lies on the Mur.", []) == (1,)
    assert sources.holding("Graz lies on the Rhine.", [1]) == ()
    assert sources.why_not("Graz lies on the Mur.", [9]) == "there is nothing to rest on"


def test_what_was_read_is_taken_from_the_log():
    def result(id: int, text: str) -> str:
        return json.dumps({"chunks": [{"id": id, "document": "d", "text": text}]})

    events = [
        RunStarted("q"),
        ToolDone("1", "search", 1, result(1, "cut"), full=result(1, "whole")),
        ToolDone("2", "search", 1, result(2, "failed"), error="exception"),
        ToolDone("3", "other", 1, "no passages"),
    ]
    records = [Record("r", seq, 0.0, event) for seq, event in enumerate(events)]
    assert sources_of(records).texts == {1: ("d", "whole")}


SOURCES = Sources(
    {
        1: ("Anna Weber", "She was born in Graz in 1931. She wrote four novels."),
        2: ("Graz", "Graz is a city in Styria with 291,134 inhabitants."),
        3: ("Never Say So", "It is a song by Peter Hall, released in 1987."),
        4: ("Peter Hall", "He did not win a prize."),
    }
)


@pytest.mark.parametrize(
    ("sentence", "checked"),
    [
        ("Anna Weber was born in Graz in 1931 [ID:1].", "Anna Weber was born in Graz in 1931 [ID:1]."),
        ("Anna Weber was born in Graz in 1931. [ID:1]", "Anna Weber was born in Graz in 1931 [ID:1]."),
        # another source, none, one that does not exist: the one that says so is put there
        ("Anna Weber was born in Graz in 1931 [ID:2].", "Anna Weber was born in Graz in 1931 [ID:1]."),
        ("Anna Weber was born in Graz in 1931.", "Anna Weber was born in Graz in 1931 [ID:1]."),
        ("Anna Weber was born in Graz in 1931 [ID:9].", "Anna Weber was born in Graz in 1931 [ID:1]."),
        # one too many
        ("Anna Weber was born in Graz in 1931 [ID:1][ID:3].", "Anna Weber was born in Graz in 1931 [ID:1]."),
        # both are needed, the third is not
        (
            "Anna Weber was born in 1931 in Graz, a city in Styria [ID:1][ID:2][ID:3].",
            "Anna Weber was born in 1931 in Graz, a city in Styria [ID:1][ID:2] [only words match].",
        ),
        # marked before: what the mark says is found out again
        (
            "Anna Weber was born in Graz in 1931 [ID:1] [only words match].",
            "Anna Weber was born in Graz in 1931 [ID:1].",
        ),
        # changed: a number, a name, a denial, a sum
        ("Anna Weber was born in Graz in 1932 [ID:1].", "Anna Weber was born in Graz in 1932 [no source]."),
        ("Anna Weber was born in Linz in 1931 [ID:1].", "Anna Weber was born in Linz in 1931 [no source]."),
        ("Anna Weber was not born in Graz in 1931 [ID:1].", "Anna Weber was not born in Graz in 1931 [no source]."),
        ("Anna Weber wrote 1935 novels [ID:1].", "Anna Weber wrote 1935 novels [no source]."),
        # a title denies nothing, a text does
        ("Never Say So is a song by Peter Hall [ID:3].", "Never Say So is a song by Peter Hall [ID:3]."),
        ("Peter Hall won a prize [ID:4].", "Peter Hall won a prize [no source]."),
        # nothing is claimed
        ("What did she write?", "What did she write?"),
        ("Sources: [ID:1]", "Sources:"),
        ("", ""),
    ],
)
def test_a_citation_stays_only_where_it_supports_its_sentence(sentence: str, checked: str):
    assert checked_answer(sentence, SOURCES).answer == checked


def test_the_rest_of_the_text_stays_as_it_was():
    answer = "# Life\n\n- She wrote four novels about Anna Weber [ID:1].\n- She sang in 1950 [ID:1].\n\nThat is all!"
    marked = checked_answer(answer, SOURCES)
    assert "- She wrote four novels about Anna Weber [ID:1].\n- She sang in 1950 [no source].\n\n" in marked.answer
    assert [one.removed for one in marked.sentences if one.removed] == [(1,)]
    dropped = checked_answer(answer, SOURCES, "drop").answer
    assert "1950" not in dropped
    assert "[ID:1]" in dropped
    kept = checked_answer(answer, SOURCES, "keep").answer
    assert "She sang in 1950.\n" in kept
    again = checked_answer(marked.answer, SOURCES)
    assert again.answer == marked.answer


def test_what_has_only_the_words_is_told_from_what_is_said():
    answer = "Anna Weber was born in Graz in 1931 [ID:1]. In Graz four novels were written by Anna Weber [ID:1]."
    said, words = checked_answer(answer, SOURCES).sentences
    assert (said.cited, said.words_only) == ((1,), False)
    assert (words.cited, words.words_only) == ((1,), True)


def test_the_reason_says_what_is_wrong():
    why = {one.text: one.why for one in checked_answer("He sang in 1950 [ID:1]. He sang [ID:77].", SOURCES).unsupported}
    assert "its source does not say so" in why["He sang in 1950."]
    assert why["He sang."] == "there is no source 77"
    assert checked_answer("He sang.", Sources({})).unsupported[0].why == "nothing was read that it could rest on"
    assert checked_answer("He sang.", SOURCES).unsupported[0].why == "no source that was read has it"
