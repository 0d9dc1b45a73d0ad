"""Which sources a sentence rests on."""

from __future__ import annotations

import json

from treadle._plugins.research.sources import Sources, sources_of
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
