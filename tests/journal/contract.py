"""The tests that every journal must pass. `make` opens one more journal on the same store."""

from __future__ import annotations

import asyncio
import time
from base64 import b64encode
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from treadle._journal import InboxItem, Journal
from treadle._journal.catalog.values import RequestNote
from treadle._journal.export import export_run, import_run
from treadle._types.errors import JournalError, RunBusyError, RunNotFoundError
from treadle._types.events import (
    AnswerDelta,
    Approved,
    Artifact,
    Injected,
    MessageAdded,
    Noted,
    Paused,
    Record,
    Resumed,
    RunStarted,
    ToolDone,
    ToolsChanged,
)
from treadle._types.messages import FilePart, ImagePart, TextPart, UserMessage
from treadle._types.request import ToolSchema
from treadle._types.usage import Usage

from .logs import done, ended, log, message, record, started

PICTURE = b64encode(bytes(range(256)) * 40).decode()


def with_files(run: str) -> list[Record]:
    """A run with the same picture in a question, in a result, as an artifact; with base64 that is not canonical, and
    with text that looks like a reference."""
    loose = PICTURE[:4000] + "\n" + PICTURE[4000:]
    call = ToolDone("c1", "draw", 1, (TextPart("drawn"), ImagePart(data=PICTURE)), artifacts=(picture(),))
    reference = '{"blob":"' + "0" * 64 + '"}'
    return [
        started(run, question=(TextPart("see"), ImagePart(data=PICTURE, name="p.png"), ImagePart(data=loose))),
        record(run, 1, call),
        message(run, 2, reference + "x" * 3000),
        record(run, 3, MessageAdded(UserMessage((FilePart(data=PICTURE[:400], text=reference),)))),
    ]


def picture() -> Artifact:
    return Artifact("p.png", PICTURE, "image/png", base64=True)


Make = Callable[[], Journal]


@asynccontextmanager
async def opened(make: Make, journals: int = 1) -> AsyncGenerator[list[Journal]]:
    every = [make() for _ in range(journals)]
    try:
        yield every
    finally:
        for journal in every:
            await journal.aclose()


class JournalContract:
    async def test_what_was_appended_is_loaded(self, make: Make):
        records = [
            started(
                "a",
                question=(TextPart("see"), ImagePart(url="https://example.org/m.png")),
                tools=(ToolSchema("t", "d", {"type": "object"}),),
            ),
            message("a", 1, 'Zoë said "\u0000 \u2028 \U0001f680" \\ end'),
            record("a", 2, ToolsChanged((ToolSchema("u", "d", {}),), "chosen")),
            done("a", 3, "x" * 200_000),
        ]
        async with opened(make) as (journal,):
            await journal.append(records[:1])
            await journal.append(records[1:])
            assert await journal.load("a") == records
            assert await journal.load("a", after=2) == records[3:]
            assert await journal.load("a", after=3) == []

    async def test_the_contents_of_files_are_given_back_as_they_were(self, make: Make):
        records = with_files("a")
        async with opened(make, 2) as (writer, reader):
            await writer.append(records)
            assert await writer.load("a") == records
            if writer is not reader:
                assert await reader.load("a") == records

    async def test_a_content_goes_with_the_last_run_that_has_it(self, make: Make):
        async with opened(make) as (journal,):
            first, second = with_files("a"), with_files("b")
            await journal.append(first)
            await journal.append(second)
            await journal.delete("a")
            assert await journal.load("b") == second
            await journal.delete("b")
            await journal.append(with_files("c"))
            assert len(await journal.load("c")) == 4

    async def test_another_journal_reads_it_while_it_is_written(self, make: Make):
        async with opened(make, 2) as (writer, reader):
            await writer.append([started("a")])
            for seq in range(1, 20):
                await writer.append([done("a", seq)])
                assert len(await reader.load("a")) == seq + 1

    @pytest.mark.parametrize("text", ["a\0b", "\0", "\ud800", "x\udfff\0y", "\ud83d\ude80"], ids=ascii)
    async def test_ids_and_names_of_any_text_are_stored_and_found(self, make: Make, text: str):
        async with opened(make) as (journal,):
            for work in (journal.load(text), journal.info(text), journal.delete(text)):
                with pytest.raises(RunNotFoundError):
                    await work
            await journal.append([record(text, 0, RunStarted("q"))])
            await journal.append([record("b", 0, RunStarted("a\0b", user="u\0", conversation="c\0", agent="n\0"))])
            assert [one.run for one in await journal.load(text)] == [text]
            assert (await journal.info(text)).run_id == text
            assert (await journal.info("b")).question == "a\0b"
            noted = await journal.annotate(text, title="t\0", note="n\0", tags=["g\0"])
            assert await journal.info(text) == noted
            assert [info.run_id for info in await journal.list(conversation="c\0", user="u\0", agent="n\0")] == ["b"]
            assert await journal.list(conversation=text, text="zz\0", said="zz\0 \ud800") == []
            assert (await journal.overview(user=text)).runs == 0
            await journal.put(InboxItem(text, text, "message", {"text": "\0"}))
            assert [item.id for item in await journal.take(text)] == [text]
            assert await journal.recall(text, "other\0") is False
            note = await journal.note_request(text, RequestNote("r\0", text), since=0)
            assert (note.run_id, note.content) == ("r\0", text)
            assert [one.run_id for one in await journal.noted_requests(text, since=0)] == ["r\0"]
            await journal.claim(text, "me")
            await journal.release(text, "me")
            await journal.delete(text)
            assert [info.run_id for info in await journal.list()] == ["b"]

    async def test_unknown_runs_are_not_found(self, make: Make):
        async with opened(make) as (journal,):
            for work in (journal.load("nothing"), journal.load("nothing", after=7), journal.delete("nothing")):
                with pytest.raises(RunNotFoundError, match="nothing"):
                    await work
            assert await journal.list() == []
            assert await journal.take("nothing") == []

    async def test_appending_nothing_does_nothing(self, make: Make):
        async with opened(make) as (journal,):
            await journal.append([])
            assert await journal.list() == []

    async def test_a_second_writer_of_a_record_is_refused(self, make: Make):
        async with opened(make, 2) as (first, second):
            await first.append([started("a"), done("a", 1)])
            with pytest.raises(RunBusyError, match="a#1"):
                await second.append([done("a", 1, "mine"), done("a", 2)])
            await first.append([done("a", 2, "theirs")])
            assert [r.event.content for r in (await second.load("a"))[1:]] == ["384 400 km", "theirs"]  # pyright: ignore

    @pytest.mark.parametrize(
        "records",
        [
            [done("a", 3)],
            [done("a", 2), done("a", 4)],
            [done("a", 2), done("b", 3)],
            [Record("a", 2, 0.0, AnswerDelta("x"), offset=1)],
            [record("a", 2, Noted("p", {"value": object()}))],
        ],
        ids=["gap", "gap inside", "two runs", "transient", "not JSON"],
    )
    async def test_records_that_do_not_follow_are_refused_as_a_whole(self, make: Make, records: list[Record]):
        async with opened(make) as (journal,):
            before = [started("a"), done("a", 1)]
            await journal.append(before)
            with pytest.raises(JournalError):
                await journal.append(records)
            assert await journal.load("a") == before

    async def test_many_runs_at_once(self, make: Make):
        async with opened(make) as (journal,):

            async def one(run: str) -> None:
                await journal.claim(run, f"driver of {run}")
                for item in log(run, 5):
                    await journal.append([item])
                await journal.release(run, f"driver of {run}")

            await asyncio.gather(*(one(f"r{n}") for n in range(40)))
            infos = await journal.list(limit=100)
            assert {(info.status, info.records) for info in infos} == {("finished", 8)}
            assert len(infos) == 40
            assert [r.seq for r in await journal.load("r7")] == list(range(8))

    async def test_the_list_gives_the_status_of_each_run(self, make: Make):
        async with opened(make) as (journal,):
            await journal.append([started("a", at=100.0, conversation="c", user="ada")])
            await journal.append([started("b", at=200.0, parent="a", user="bob"), record("b", 1, Paused("approval"))])
            await journal.append([started("c", at=300.0, conversation="c", user="bob"), ended("c", 1, at=301.0)])
            newest, paused, oldest = await journal.list()
            assert (newest.run_id, newest.status, newest.stop_reason, newest.created, newest.updated) == (
                "c",
                "finished",
                "answer",
                300,
                301,
            )
            assert (paused.run_id, paused.status, paused.parent, paused.records) == ("b", "paused", "a", 2)
            assert (oldest.run_id, oldest.status, oldest.agent, oldest.model, oldest.question, oldest.user) == (
                ("a", "idle", "astronomer", "scripted", "How far is the moon?", "ada")
            )

            async def ids(**filters: Any) -> list[str]:
                return [info.run_id for info in await journal.list(**filters)]

            assert await ids(limit=2) == ["c", "b"]
            assert await ids(status="idle") == ["a"]
            assert await ids(status="running") == []
            await journal.claim("a", "me")
            assert await ids(status="running") == ["a"]
            assert await ids(status="idle") == []
            assert await ids(conversation="c") == ["c", "a"]
            assert await ids(parent="a") == ["b"]
            assert await ids(parent="") == ["c", "a"]
            assert await ids(user="bob", status="finished") == ["c"]
            await journal.append([record("b", 2, Resumed())])
            assert await ids(status="idle") == ["b"]
            await journal.release("a", "me")
            assert await ids(status="idle") == ["b", "a"]

    async def test_delete_also_deletes_the_children(self, make: Make):
        async with opened(make) as (journal,):
            for run, parent in (("a", ""), ("b", "a"), ("c", "b"), ("other", "")):
                await journal.append(log(run, parent=parent))
                await journal.put(InboxItem("1", run, "message"))
            await journal.delete("a")
            assert [info.run_id for info in await journal.list()] == ["other"]
            for run in "abc":
                assert await journal.take(run) == []
                with pytest.raises(RunNotFoundError):
                    await journal.load(run)
            assert len(await journal.take("other")) == 1
            await journal.append(log("a"))
            assert len(await journal.load("a")) == 6

    async def test_a_driven_run_is_not_deleted(self, make: Make):
        async with opened(make, 2) as (driver, other):
            await driver.append(log("a"))
            await driver.claim("a", "driver")
            for journal in (driver, other):
                with pytest.raises(RunBusyError, match="driver"):
                    await journal.delete("a")
                assert await journal.gc(older_than=-1) == []
            await driver.release("a", "driver")
            assert await other.gc(older_than=-1) == ["a"]

    async def test_gc_keeps_what_it_is_asked_to_keep(self, make: Make):
        async with opened(make) as (journal,):
            old = time.time() - 1000
            for index, run in enumerate("abcd"):
                await journal.append(log(run, at=old + index))
            await journal.append(log("child", at=old, parent="d"))
            await journal.append([started("running", at=old)])
            await journal.append(log("young"))
            assert await journal.gc(older_than=2000) == []
            assert await journal.gc(older_than=500, keep=3) == ["b", "a"]
            assert {info.run_id for info in await journal.list()} == {"c", "d", "child", "running", "young"}
            assert sorted(await journal.gc(older_than=500, statuses=("finished", "running"))) == ["c", "d", "running"]
            assert [info.run_id for info in await journal.list()] == ["young"]

    # Claims

    async def test_only_one_driver_has_the_claim(self, make: Make):
        async with opened(make, 2) as (first, second):
            assert await first.claim("a", "one") == 1
            await first.append([started("a")])
            with pytest.raises(RunBusyError, match="one"):
                await second.claim("a", "two")
            await second.release("a", "two")  # not its own: nothing happens
            with pytest.raises(RunBusyError):
                await second.claim("a", "two")
            assert await first.claim("a", "one") == 2, "the same driver may claim again"
            await first.append([done("a", 1)])
            await first.release("a", "one")
            assert await second.claim("a", "two") == 3
            await second.append([done("a", 2)])

    async def test_of_many_claims_one_wins(self, make: Make):
        async with opened(make, 5) as journals:
            outcomes = await asyncio.gather(
                *(j.claim("a", f"driver {n}") for n, j in enumerate(journals)), return_exceptions=True
            )
            assert sum(outcome == 1 for outcome in outcomes) == 1
            assert sum(isinstance(outcome, RunBusyError) for outcome in outcomes) == len(journals) - 1

    async def test_closing_a_journal_releases_its_runs(self, make: Make):
        async with opened(make) as (second,):
            first = make()
            await first.claim("a", "one")
            await first.aclose()
            if first is not second:
                assert await second.claim("a", "two") == 2

    # Inbox

    async def test_the_inbox_keeps_the_order_and_delivers_each_item_once(self, make: Make):
        async with opened(make, 2) as (driver, other):
            await driver.append([started("a")])
            items = [
                InboxItem(f"i{n}", "a", "cancel" if n == 2 else "message", {"text": f"Nr {n}", "n": n})
                for n in range(4)
            ]
            for item in items:
                await other.put(item)
            await other.put(items[0])
            await other.put(InboxItem("i0", "b", "message"))
            assert await driver.take("a", ["cancel"]) == [items[2]]
            assert await driver.take("a") == [items[0], items[1], items[3]]
            assert await driver.take("a") == []
            assert len(await driver.take("b", ("message", "cancel"))) == 1

    async def test_an_unread_item_can_be_recalled(self, make: Make):
        async with opened(make, 2) as (driver, other):
            await other.put(InboxItem("i1", "a", "message"))
            await other.put(InboxItem("i2", "a", "message"))
            assert await other.recall("a", "i1")
            assert not await other.recall("a", "i1")
            assert [item.id for item in await driver.take("a")] == ["i2"]
            assert not await other.recall("a", "i2"), "it was read"

    async def test_taken_items_are_put_back_unless_a_record_accounts_for_them(self, make: Make):
        async with opened(make) as (first,):
            await first.claim("a", "one")
            await first.append([started("a")])
            for item in (
                InboxItem("m1", "a", "message"),
                InboxItem("m2", "a", "message"),
                InboxItem("p1", "a", "approve", {"call_id": "c1", "allow": True}),
                InboxItem("p2", "a", "approve", {"call_id": "c2", "allow": True}),
                InboxItem("x", "a", "cancel"),
            ):
                await first.put(item)
            assert len(await first.take("a")) == 5
            await first.append([done("a", 1), record("a", 2, Injected(("m1",), ("hello",)))])
            await first.append([record("a", 3, Approved("c2", allow=True))])
            await first.claim("a", "one")  # as the next driver does after a crash
            assert [item.id for item in await first.take("a")] == ["m2", "p1", "x"]
            await first.append([ended("a", 4)])
            await first.claim("a", "one")
            assert await first.take("a") == []

    # Export

    async def test_a_request_is_noted_with_its_run(self, make: Make):
        async with opened(make, 2) as (journal, other):
            await journal.append(log("a"))
            first = await journal.note_request("k", RequestNote("a", "asked"), since=0)
            assert first.time > 0
            assert await other.noted_requests("k", since=0) == [first]
            assert await other.note_request("k", RequestNote("b"), since=0) == first, "the first one has the key"
            beside = await other.note_request("k", RequestNote("c"), since=0, alone=False)
            assert [one.run_id for one in await journal.noted_requests("k", since=0)] == ["a", "c"]
            assert await journal.noted_requests("other", since=0) == []
            await journal.forget_request("k", "c")
            assert await other.noted_requests("k", since=0) == [first]
            assert await other.noted_requests("k", since=beside.time + 9) == [], "too old"
            later = await journal.note_request("k", RequestNote("d"), since=beside.time + 9)
            assert later.run_id == "d"
            assert await other.noted_requests("k", since=0) == [later], "the old are deleted"
            await journal.note_request("l", RequestNote("a"), since=0)
            await journal.delete("a")
            assert await other.noted_requests("l", since=0) == [], "with the run"

    async def test_what_was_spent_is_added_and_checked_in_one_step(self, make: Make):
        one, keys = Usage(10, 5, requests=1, cost=0.5), ("day:2026-11-18:tenant:acme", "ever::all:")

        def fits(key: str, total: Usage) -> bool:
            return total.requests <= (20 if key == keys[0] else 100)

        async with opened(make, 5) as journals:
            first = journals[0]
            assert await first.spent(keys) == {}
            taken = await asyncio.gather(*(journal.spend(keys, one, fits) for journal in journals for _ in range(10)))
            assert sum(taken) == 20, "never more, whoever asks at the same time"
            sums = await journals[1].spent((*keys, "nobody"))
            assert {key: (total.requests, total.cost) for key, total in sums.items()} == dict.fromkeys(keys, (20, 10.0))
            assert await first.spend(keys, Usage() - one, lambda key, total: True), "given back"
            assert await first.spend(keys[:1], one, fits)
            assert not await first.spend(keys, one, fits)
            assert (await first.spent(keys))[keys[1]].requests == 19, "all of them or none"

    async def test_of_many_requests_with_one_key_one_has_it(self, make: Make):
        async with opened(make, 5) as journals:
            noted = await asyncio.gather(
                *(one.note_request("k", RequestNote(str(number)), since=0) for number, one in enumerate(journals))
            )
            assert len({one.run_id for one in noted}) == 1

    async def test_whether_a_run_is_driven(self, make: Make):
        async with opened(make, 2) as (journal, other):
            await journal.append(log("a")[:1])
            assert not await other.is_driven("a")
            await journal.claim("a", "me")
            assert await other.is_driven("a")
            await journal.release("a", "me")
            assert not await other.is_driven("a")
            assert not await other.is_driven("unknown")

    async def test_a_run_is_exported_with_its_children(self, make: Make):
        async with opened(make) as (journal,):
            for run, parent in (("a", ""), ("b", "a"), ("c", "b"), ("other", "")):
                await journal.append(log(run, parent=parent))
            before = [await journal.load(run) for run in "abc"]
            data = await export_run(journal, "a")
            with pytest.raises(JournalError, match="already"):
                await import_run(journal, data)
            await journal.delete("a")
            assert await import_run(journal, data) == "a"
            assert [(await journal.load(run))[1:] for run in "abc"] == [records[1:] for records in before]
            assert {info.status for info in await journal.list()} == {"finished"}
