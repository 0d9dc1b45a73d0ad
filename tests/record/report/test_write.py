"""The report: its figures, and its two forms."""

from __future__ import annotations

import asyncio

from kit import counted_calls, go
from record.exchanges import LAMP, QUESTION, SYSTEM, calls, chat, lamp_run, recorded, result, says
from treadle import Agent, ScriptedModel
from treadle._journal.memory import MemoryJournal
from treadle._record.report.gather import Gathered, gather
from treadle._record.report.write import as_markdown, as_page, sections


def clock(minute: int) -> dict[str, str]:
    return {"role": "system", "content": f"It is 12:0{minute}. <b>|</b> " + "You sell lamps. " * 30}


def gathered() -> Gathered:
    async def work() -> Gathered:
        journal = MemoryJournal()
        await recorded(lamp_run(), journal=journal)
        broken = [
            chat([clock(1), QUESTION], LAMP),
            chat([clock(2), QUESTION, LAMP, result("Error: no such item")], says("I do not know.")),
        ]
        await recorded(broken, journal=journal)
        again = [calls(("price", {"item": "x"}), start=n) for n in range(1, 5)]
        messages = [SYSTEM, {"role": "user", "content": "Which?"}]
        looping = []
        for number, one in enumerate(again, 1):
            looping.append(chat(messages, one))
            messages = [*messages, one, result("7", number)]
        await recorded(looping, journal=journal)
        return await gather(journal, await journal.list(limit=100))

    return go(work())


def test_the_figures():
    found = gathered()
    assert (found.total.runs, found.total.requests, found.total.calls) == (3, 8, 5)
    assert found.total.usage.input_tokens == 8000
    assert found.programs["program"].runs == 3
    assert found.models["gpt-4o-mini"].seconds == 8 * 0.5
    assert (found.tools["price"].calls, found.tools["price"].failed) == (5, 1)
    ((program, part),) = found.breaks
    assert (program, part) == ("program", "message 1")
    assert 0 < found.lost_tokens < 1000
    assert found.lost_cost == found.lost_tokens * (0.15 - 0.075) / 1e6
    assert found.kinds["loop"] == 1
    assert found.kinds["failing_tool"] == 1


async def test_the_report_on_many_runs_of_ones_own_counts_all_and_takes_time_as_they_do():
    journal = MemoryJournal()
    agent = Agent(ScriptedModel(["Hello."], repeat_last=True), journal=journal)
    counted = list[int]()
    for more in (40, 120):
        await asyncio.gather(*(agent.run("Hi") for _ in range(more)))
        infos = await journal.list(limit=10_000)
        with counted_calls() as calls_until_now:
            found = await gather(journal, infos)
            counted.append(calls_until_now())
    few, many, runs = counted[0], counted[1], found.total.runs
    assert runs == 160
    assert many < 5 * few


def test_markdown_and_page_say_the_same_and_break_nothing():
    parts = sections(gathered())
    text, page = as_markdown("Report", parts), as_page("Report", parts)
    for words in ("By program", "By model", "Prompts that break their cache", "Tools", "Loops and repeated calls"):
        assert f"## {words}" in text
        assert f"<h2>{words}</h2>" in page
    assert "12:01" in text
    assert "became these" in text
    assert "<b>" not in page
    assert "&lt;b&gt;" in page
    rows = [line for line in text.splitlines() if line.startswith("|") and "12:01" in line]
    assert rows[0].replace("\\|", "").count("|") == 8
    assert "1 of 8 requests did not begin with the one before them" in text


def test_an_empty_report_and_one_without_breaks():
    empty = as_markdown("Report", sections(Gathered()))
    assert "0 runs" in empty
    found = Gathered()
    found.total.requests = 1
    assert "nothing was lost" in as_markdown("Report", sections(found))
    assert found.programs is not Gathered().programs
