"""Lists, sums and notes over many runs: the same for every journal, whatever happens meanwhile."""

from __future__ import annotations

import asyncio
import shutil
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from journal.contract import Make, opened
from journal.logs import done, log, started
from treadle import Agent, ScriptedModel, tool
from treadle._inspect.replay import fork
from treadle._journal import Journal, postgres_store, sqlite_store
from treadle._journal.catalog.tables import TITLES, for_sqlite
from treadle._journal.catalog.values import MAX_NOTE, MAX_TITLE, Overview, RunSummary, ToolUse
from treadle._journal.memory import MemoryJournal
from treadle._journal.postgres import PostgresJournal
from treadle._journal.sqlite import SqliteJournal
from treadle._types.errors import ConfigError, RunNotFoundError
from treadle._types.events import Injected, Record, RunFinished, RunStarted, ThinkDone, ToolDone
from treadle._types.messages import AssistantMessage
from treadle._types.usage import Usage

DAY = 86400.0


@pytest.fixture(params=["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.net)])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Make:
    if request.param == "postgres":
        dsn = request.getfixturevalue("postgres")
        return lambda: PostgresJournal(dsn, schema=f"t{uuid.uuid4().hex[:12]}")
    return MemoryJournal if request.param == "memory" else lambda: SqliteJournal(tmp_path / "runs.db")


async def ids(journal: Journal, **only: Any) -> list[str]:
    return [info.run_id for info in await journal.list(**only)]


def ending(run: str, *, at: float, cost: float | None = None, good: bool = True, **facts: Any) -> list[Record]:
    usage = Usage(100, 10, 40, requests=1, cost=cost)
    return [
        started(run, at=at, **facts),
        Record(run, 1, at + 1, ThinkDone("loop", 1, AssistantMessage("x"), usage=usage)),
        Record(run, 2, at + 2, RunFinished("answer" if good else "error", "x", success=good)),
    ]


async def test_pages_hold_each_run_once_while_others_begin_and_end(make: Make):
    async with opened(make) as (journal,):
        # Several of the same instant: the order among them must be fixed too.
        for number in range(25):
            await journal.append([started(f"r{number:02}", at=100.0 + number // 4)])
        seen: list[str] = []
        after = ""
        for turn in range(100):
            page = await journal.list(limit=4, after=after)
            if not page:
                break
            seen += [info.run_id for info in page]
            after = page[-1].cursor
            await journal.append([started(f"new{turn}", at=1000.0 + turn)])
            await journal.append([done(page[0].run_id, 1)])
            if turn == 2:  # the run that the cursor is of may go
                await journal.delete(page[-1].run_id)
        assert seen == [f"r{number:02}" for number in reversed(range(25))]


async def test_a_list_can_be_filtered_by_everything_it_shows(make: Make):
    async with opened(make) as (journal,):
        await journal.append(ending("a", at=100.0, agent="cook", model="m1", question="How long do ÄPFEL keep?"))
        await journal.append(ending("b", at=200.0, agent="cook", model="m2", question="100% of 5_0", good=False))
        await journal.append(ending("c", at=300.0, agent="pilot", model="m1", question="Where is Berlin?"))
        await journal.annotate("c", tags=["travel", "good"], note="Came back with a MAP", thumb="up")
        assert await ids(journal, agent="cook") == ["b", "a"]
        assert await ids(journal, model="m1") == ["c", "a"]
        assert await ids(journal, stop_reason="error") == ["b"]
        assert await ids(journal, since=200.0) == ["c", "b"]
        assert await ids(journal, until=200.0) == ["a"]
        assert await ids(journal, tag="travel") == ["c"]
        assert await ids(journal, tag="trave") == []
        assert await ids(journal, thumb="up") == ["c"]
        assert await ids(journal, text="äpfel") == ["a"]
        assert await ids(journal, text="a map") == ["c"]
        assert await ids(journal, text="100%") == ["b"]
        assert await ids(journal, text="5_0") == ["b"]
        assert await ids(journal, text="%") == ["b"], "signs that a database gives a meaning stand for themselves"
        assert await ids(journal, text="!") == []
        assert await ids(journal, agent="cook", model="m1", text="keep") == ["a"]
        assert await ids(journal, text="' OR 1=1 --") == []


@pytest.mark.parametrize("cursor", ["x", "1.0", "nan~1", "1.0~x", "1e999~1", "1.0~99999999999999999999"])
async def test_a_wrong_cursor_is_refused(make: Make, cursor: str):
    async with opened(make) as (journal,):
        await journal.append([started("a")])
        with pytest.raises(ConfigError, match="cursor"):
            await journal.list(after=cursor)


async def test_an_unknown_filter_is_refused(make: Make):
    async with opened(make) as (journal,):
        with pytest.raises(TypeError, match="colour"):
            await journal.list(colour="red")  # pyright: ignore[reportCallIssue]


async def test_a_fork_that_nobody_drives_is_not_running(make: Make):
    async with opened(make) as (journal,):
        agent = Agent(ScriptedModel(["hello", "again"]), tools=None, journal=journal)
        run = await agent.run("hi")
        forked = await fork(journal, run.run_id, 1)
        assert (await journal.info(forked)).status == "idle"
        assert await ids(journal, status="running") == []
        await agent.resume(forked)
        assert (await journal.info(forked)).status == "finished"


async def test_notes_about_a_run(make: Make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MY_API_KEY", "verysecretvalue123")
    async with opened(make) as (journal,):
        await journal.append(log("a"))
        info = await journal.annotate(
            "a", tags=["b", " a  x ", "b", ""], note=" see verysecretvalue123 \0", thumb="down"
        )
        assert (info.tags, info.thumb) == (("a x", "b"), "down")
        assert info == await journal.info("a")
        assert info.note.startswith("see [redacted:")
        assert "verysecretvalue123" not in (await journal.annotate("a", tags=["k-verysecretvalue123"])).tags[0]
        info = await journal.annotate("a", thumb="")
        assert (info.thumb, len(info.tags), info.note[:3]) == ("", 1, "see")
        assert (await journal.annotate("a", tags=[], note="")).tags == ()
        assert (await journal.annotate("a", title=" A  better\nname ")).title == "A better name"
        assert (await journal.annotate("a", thumb="up")).title == "A better name"
        assert await ids(journal, text="BETTER") == ["a"]
        assert (await journal.annotate("a", title="")).title == ""
        with pytest.raises(RunNotFoundError):
            await journal.annotate("nothing", note="x")
        wrong: list[dict[str, Any]] = [
            {"tags": ["x" * 61]},
            {"tags": [str(n) for n in range(21)]},
            {"tags": "one"},
            {"note": "x" * (MAX_NOTE + 1)},
            {"thumb": "sideways"},
            {"title": "x" * (MAX_TITLE + 1)},
        ]
        for change in wrong:
            with pytest.raises(ConfigError):
                await journal.annotate("a", **change)
        await journal.annotate("a", tags=["t"], note="n", thumb="up")
        await journal.delete("a")
        await journal.append(log("a"))
        assert (await journal.info("a")).tags == ()


async def test_sums_over_runs(make: Make):
    async with opened(make) as (journal,):
        await journal.append(ending("a", at=10 * DAY, cost=0.5, agent="cook", model="m1"))
        await journal.append(ending("b", at=10 * DAY + 7000, agent="cook", model="m2", good=False))
        await journal.append(ending("c", at=15 * DAY, cost=0.25, agent="pilot", model="m1"))
        await journal.append([started("open", at=15 * DAY)])
        await journal.append([started("driven", at=15 * DAY)])
        await journal.append(log("child", at=15 * DAY, parent="c"))
        await journal.claim("driven", "me")
        await journal.annotate("a", tags=["x", "y"], thumb="up")
        await journal.annotate("b", tags=["x"], thumb="down")
        await journal.summarise(
            "c", RunSummary(True, 1, 1, 3, 1, 100, 10, 40, 0.25, 2.0), {"search": ToolUse(3, 1, 1.5)}
        )
        seen = await journal.overview(parent="")
        assert (seen.runs, seen.ended, seen.succeeded, seen.requests) == (5, 3, 2, 3)
        assert (seen.input_tokens, seen.output_tokens, seen.cached_tokens, seen.cost) == (300, 30, 120, 0.75)
        assert seen.statuses == {"finished": 3, "idle": 1, "running": 1}
        assert seen.stop_reasons == {"answer": 2, "error": 1}
        assert (seen.thumbs, seen.tags) == ({"up": 1, "down": 1}, {"x": 2, "y": 1})
        assert [(g.name, g.runs, g.succeeded, g.tokens, g.cost) for g in seen.agents] == [
            ("astronomer", 2, 0, 0, None),
            ("cook", 2, 1, 220, 0.5),
            ("pilot", 1, 1, 110, 0.25),
        ]
        assert [group.name for group in seen.models] == ["m1", "scripted", "m2"]
        assert [(t.name, t.runs, t.calls, t.failed, t.elapsed) for t in seen.tools] == [("search", 1, 3, 1, 1.5)]
        assert (seen.median_elapsed, seen.slow_elapsed, seen.elapsed) == (2.0, 2.0, 6.0)
        assert seen.span == DAY
        assert [(span.start, span.runs, span.succeeded, span.cost) for span in seen.spans] == [
            (10 * DAY, 2, 1, 0.5),
            (15 * DAY, 3, 1, 0.25),
        ]
        cooked = await journal.overview(parent="", agent="cook", status="finished", tag="x")
        assert (cooked.runs, cooked.statuses, cooked.tags) == (2, {"finished": 2}, {"x": 2, "y": 1})
        assert (await journal.overview(status="running")).statuses == {"running": 1}
        assert (await journal.overview(status="idle")).statuses == {"idle": 1}
        assert await journal.overview(text="no such thing") == Overview(span=300.0)


async def test_a_run_is_summarised_when_it_ends(make: Make):
    @tool
    async def fails() -> str:
        """Fail."""
        raise ValueError("no")

    async with opened(make) as (journal,):
        model = ScriptedModel([{"name": "fails", "args": {}}, "done"])
        result = await Agent(model, tools=[fails], journal=journal).run("go")
        info = await journal.info(result.run_id)
        assert (info.summary.success, info.summary.tool_calls, info.summary.failed_calls) == (True, 1, 1)
        assert info.summary.requests == result.usage.requests == 2
        (used,) = (await journal.overview()).tools
        assert (used.name, used.calls, used.failed) == ("fails", 1, 1)


async def test_older_runs_are_summarised_bit_by_bit(make: Make, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("treadle._journal.catalog.journal.BACKFILL", 2)
    async with opened(make) as (journal,):
        for number in range(5):
            await journal.append(ending(f"r{number}", at=100.0 + number))  # as an older version did: without a summary
        assert [((seen := await journal.overview()).ended, seen.pending) for _ in range(3)] == [(2, 3), (4, 1), (5, 0)]


RECORDED = Path(__file__).parents[2] / "data" / "journal_0_1" / "journal.db"


@pytest.mark.parametrize("read_only", [False, True])
async def test_a_file_of_version_0_1_has_lists_and_sums(tmp_path: Path, read_only: bool):
    path = Path(shutil.copy(RECORDED, tmp_path / "journal.db"))
    before = path.read_bytes()
    journal = SqliteJournal(path, read_only=read_only)
    infos = await journal.list(limit=100, parent="", status="finished")
    assert len(infos) == 8
    seen = await journal.overview(parent="")
    assert (seen.runs, seen.ended, seen.pending > 0) == (15, 0 if read_only else 8, read_only)
    if not read_only:
        assert seen.tool_calls > 10
        await journal.annotate(infos[0].run_id, tags=["old"])
        assert await ids(journal, tag="old") == [infos[0].run_id]
    await journal.aclose()
    assert (path.read_bytes() == before) is read_only


def test_a_file_without_titles_is_read_where_it_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    async def main(read_only: bool) -> None:
        journal = SqliteJournal(tmp_path / "runs.db", read_only=read_only)
        if not read_only:
            await journal.append(log("a"))
            await journal._write(lambda con: con.execute("INSERT INTO annotations VALUES('a', 'kept', 'up')"))
        else:
            assert [(info.note, info.title) for info in await journal.list(text="kept")] == [("kept", "")]
        await journal.aclose()

    with monkeypatch.context() as older:
        older.setattr(
            sqlite_store, "MIGRATIONS", sqlite_store.MIGRATIONS[: sqlite_store.MIGRATIONS.index(for_sqlite(TITLES))]
        )
        asyncio.run(main(read_only=False))
    asyncio.run(main(read_only=True))


async def test_runs_by_the_beginning_of_their_ids(make: Make):
    async with opened(make) as (journal,):
        for run in ("ab", "ab1", "aB2", "ac", "b_%"):
            await journal.append(log(run))
        assert sorted(await ids(journal, prefix="ab")) == ["ab", "ab1"]
        assert await ids(journal, prefix="b_") == ["b_%"]
        assert await ids(journal, prefix="_") == []


async def test_runs_by_what_was_said_in_them(make: Make):
    async with opened(make) as (journal,):

        def talk(run: str, question: str, found: str, answer: str) -> list[Record]:
            begun = Record(run, 0, 100.0, RunStarted(question, system="Speak of basalt."))
            return [
                begun,
                Record(run, 1, 101.0, ToolDone("c", "look", 1, found)),
                Record(run, 2, 102.0, Injected(("m",), ("also this: 50% off",))),
                Record(run, 3, 103.0, RunFinished("answer", answer)),
            ]

        await journal.append(talk("a", "Why is the Causeway regular?", "hexagonal columns", "It cooled. \u00c4pfel"))
        await journal.append(talk("b", "long " * 200 + "the very last word: zebra", 'a "quoted\\word"', "no"))
        assert await ids(journal, said="causeway") == ["a"]
        assert await ids(journal, said="COLUMNS hexagonal") == ["a"]
        assert await ids(journal, said="hexagonal cooled") == [], "in two records"
        assert await ids(journal, said="zebra") == ["b"], "behind what the list of runs keeps of a question"
        assert await ids(journal, said='"quoted') == ["b"]
        assert await ids(journal, said="50%") == await ids(journal, said="also") != []
        assert await ids(journal, said="5_%") == []
        assert await ids(journal, said="\u00e4PFEL") == ["a"], "by its letters of ASCII"
        assert "a" not in await ids(journal, said="basalt"), "the system prompt is not what was said"


@pytest.mark.net
def test_a_database_of_version_0_1_is_migrated(postgres: str, monkeypatch: pytest.MonkeyPatch):
    schema = f"t{uuid.uuid4().hex[:12]}"

    async def use(work: Callable[[Journal], Awaitable[None]]) -> None:
        journal = PostgresJournal(postgres, schema=schema)
        await work(journal)
        await journal.aclose()

    async def check(journal: Journal) -> None:
        assert (await journal.overview()).ended == 1
        assert (await journal.annotate("a", note="old")).note == "old"

    with monkeypatch.context() as older:
        older.setattr(postgres_store, "MIGRATIONS", postgres_store.MIGRATIONS[:1])
        asyncio.run(use(lambda journal: journal.append(log("a"))))
    asyncio.run(use(check))
