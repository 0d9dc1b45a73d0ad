"""Each view of the page, wide, on a phone and in the dark, looks as in its reviewed picture, and can be read.

`python3 tasks.py pictures --review` makes those anew that differ: look at each before it is committed.
"""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kit import add
from server.serving import Client, serving
from treadle import Agent, ScriptedModel
from treadle._journal.catalog.values import summary_of
from treadle._journal.memory import MemoryJournal
from treadle._plugins.memory.store import Memo
from treadle._types.events import Record
from treadle._types.state import fold
from treadle.plugins import Memory, MemoryStore
from waiting import eventually

from .conftest import CONTRAST
from .pictures import Pictures
from .stage import Gates, guide, planner
from .test_desk import BEGAN, past
from .test_files import AREA, coder
from .test_page import SIZE, Stage
from .test_why import clerk

WIDTHS: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": SIZE},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True},
}
NOW = BEGAN + 205 * 3600
TOWNS = ("Bergen", "Tromsø", "Lund", "Turku", "Ghent", "Basel", "Porto", "Kraków")
WANTED = ("how many people live there?", "is the museum open in May?", "which trains go on a Sunday?",
          "the minutes of the council in three points", "the cheapest room for two nights")  # fmt: skip


BEGINNINGS = {run: NOW - 600 * place for place, run in enumerate(("towers", "mail", "plan", "sum", "area"), 1)}


class Still(MemoryJournal):
    """Its runs took place at the same time and took equally long, whenever they did."""

    async def append(self, records: Sequence[Record]) -> None:
        still: list[Record] = []
        for record in records:
            if record.run.startswith("past"):
                still.append(record)
                continue
            event = record.event
            if getattr(event, "elapsed", 0.0):
                event = msgspec.structs.replace(event, elapsed=0.3 + record.seq % 5 * 0.2)
            at = BEGINNINGS.get(record.run, NOW - 3600) + record.seq * 0.45
            still.append(msgspec.structs.replace(record, time=at, event=event))
        await super().append(still)

    async def summarise(self, run_id: str, summary: Any, tools: Any) -> None:
        await super().summarise(run_id, *summary_of(fold(await self.load(run_id))))


def play(agents: dict[str, Any], journal: Still) -> None:
    """Everything that has happened before somebody looks."""

    async def played() -> None:
        for number, (wanted, town) in enumerate(itertools.product(WANTED, TOWNS)):
            await journal.append(past(number * 5, f"{town}: {wanted}"))
        for run, agent, question in (
            ("area", "coder", "Why is the area of 3 x 5 not 15? Mend it."),
            ("sum", "clerk", "What is 2 + 3?"),
            ("plan", "planner", "Compare Peru and Chile and write a report."),
            ("mail", "guide", "Write Ann a mail that Thursday suits me."),
            ("towers", "guide", "Which is taller, the Eiffel Tower or the Empire State Building?"),
        ):
            agents[agent].journal, agents[agent].name = journal, agent
            await agents[agent].run(question, run_id=run, on_error="result")

    with ThreadPoolExecutor(1) as other:  # playwright has a loop running in this one
        other.submit(asyncio.run, played()).result()


@pytest.fixture(scope="module")
def client(built_page: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    gates, folder = Gates(), tmp_path_factory.mktemp("pictures")
    for gate in vars(gates).values():
        gate.open()
    project = folder / "project"
    (project / "src").mkdir(parents=True)
    (project / "src" / "area.py").write_text(AREA.format("width + height"))
    (project / "README.md").write_text("# Areas\n")
    store = MemoryStore(folder / "memory.db")
    for number, words in enumerate(MEMORIES):
        memo = Memo(0, "local", "guide", f"{TOWNS[number]}: {WANTED[0]}", "Yes.", words, NOW - 90_000 * (5 - number))
        store.add({f"past-{number * 5:06}/c": memo})
    agents: dict[str, Any] = {
        "guide": guide(gates),
        "planner": planner(gates),
        "coder": Agent(
            ScriptedModel(coder), preset="coding", workspace=str(project), description="Works on a project."
        ),
        "clerk": Agent(
            ScriptedModel(clerk),
            [add],
            system="Be polite.\nAlways round up.",
            plugins=[Memory(store, rank="text")],
            description="Adds, and remembers.",
        ),
    }
    journal = Still()
    play(agents, journal)
    with serving(agents, journal) as client:
        client.post("/api/runs/sum/expected", {"answer": "5"})
        client.post("/api/runs/sum/why", {})
        eventually(lambda: not client.get("/api/runs/sum/why")["running"], "the search for the cause ends")
        eventually(lambda: not client.get("/api/overview")["pending"], "every run is counted")
        yield client


MEMORIES = (
    "Lives in Bergen and asks for figures of Norwegian towns.",
    "Maintains a parser; wants changes listed with the reason for each.",
    "The stairwell notices are for neighbours who read Polish.",
    "Prices are compared after tax, in euros.",
    "The nightly build runs on a machine with two cores.",
)


@pytest.fixture(scope="module")
def pictures(browser: Any, bundle: Callable[[str, str], str]) -> Iterator[Pictures]:
    page = browser.new_page(viewport={"width": 200, "height": 200})
    page.add_script_tag(content=bundle("pixelmatch", "pixelmatch"))
    yield Pictures(page, review=bool(os.environ.get("TREADLE_REVIEW")))
    page.close()


def talk(stage: Stage, run: str, turns: int = 1) -> Any:
    stage.page.goto(f"{stage.client.address}/#/c/{run}")
    stage.see(".turn")
    if turns:
        stage.finish(turns)
    return stage.page


def inspector(stage: Stage, run: str, tab: str = "") -> Any:
    page = talk(stage, run)
    page.get_by_label("Inspect this run").click()
    stage.see(".record")
    if tab:
        page.get_by_role("tab", name=tab).click()
    return page


def new(stage: Stage) -> None:
    stage.page.goto(stage.client.address)
    stage.see(".welcome")


def chat(stage: Stage) -> None:
    talk(stage, "towers").locator(".tool summary").first.click()


def approval(stage: Stage) -> None:
    talk(stage, "mail", turns=0)
    stage.see(".approval")


def plan(stage: Stage) -> None:
    talk(stage, "plan").locator(".dag .box").first.click()
    stage.see(".dag-detail")


def timeline(stage: Stage) -> None:
    inspector(stage, "towers")


def files(stage: Stage) -> None:
    """Without the name of the folder that the run worked in, which is another one each time."""
    whole = inspector(stage, "area", "Files").locator(".files > .unfold", has_text="The whole run")
    whole.locator("summary", has_text="area.py").click()
    stage.see(".difference .added")
    stage.see(".note-text", has_text="treadle-workspaces").evaluate("(one) => (one.textContent = '~/project')")


def why(stage: Stage) -> None:
    inspector(stage, "sum", "Why")
    stage.see(".cause", has_text="It goes right with")


def runs(stage: Stage) -> None:
    stage.page.goto(f"{stage.client.address}/#/runs")
    stage.see(".totals:not(.not-yet)")
    stage.see(".run")


def agents(stage: Stage) -> None:
    stage.page.goto(f"{stage.client.address}/#/agents")
    stage.see(".agent .try summary", has_text="send_mail").click()


def memory(stage: Stage) -> None:
    stage.page.goto(f"{stage.client.address}/#/memory")
    stage.count(".memory", 5)


def settings(stage: Stage) -> None:
    talk(stage, "towers").get_by_label("Settings and export").click()
    stage.see(".choices-panel")


def export(stage: Stage) -> None:
    """The file that the menu saves, opened."""
    talk(stage, "towers").get_by_label("Settings and export").click()
    with stage.page.expect_download() as saved:
        stage.page.get_by_role("button", name="Export as a page that replays it").click()
    stage.page.goto(saved.value.path().rename(saved.value.path().with_suffix(".html")).as_uri())
    stage.see(".turn")


WAYS_BACK = ":is([aria-label='Conversations and views'], [aria-label='Close the inspector']):visible"
VIEWS = {"new": new, "chat": chat, "approval": approval, "plan": plan, "inspector": timeline, "files": files,
         "why": why, "runs": runs, "agents": agents, "memory": memory, "settings": settings,
         "export": export}  # fmt: skip


@pytest.mark.parametrize("view", VIEWS)
def test_it_looks_as_in_its_reviewed_pictures(
    browser: Any, client: Client, pictures: Pictures, axe: Callable[..., list[str]], view: str
):
    """Also that everybody can read and reach it: on the phone by day, on the desktop by night."""
    pictures.faults.clear()

    def look(name: str) -> None:
        stage.settle()
        pictures.look(stage.page, f"{view}-{name}")
        assert "\n".join(stage.page.evaluate(CONTRAST)) == "", f"{view}-{name}"

    for name, options in WIDTHS.items():
        context = browser.new_context(**options, timezone_id="UTC", locale="en-GB")
        stage = Stage(context.new_page(), client, Gates())
        stage.page.clock.set_fixed_time(datetime.fromtimestamp(NOW, UTC))
        VIEWS[view](stage)
        look(name)
        if name == "desktop":
            stage.page.emulate_media(color_scheme="dark")
            look("dark")
        elif view != "export":
            assert stage.page.locator(WAYS_BACK).count() > 0, f"{view} has no way back"
            assert not stage.page.evaluate("document.documentElement.scrollWidth > innerWidth"), view
        assert axe(stage.page) == [], f"{view}-{name}"
        context.close()
        assert not stage.faults, stage.faults
    assert not pictures.faults, "\n".join(pictures.faults)


def test_a_change_is_found_and_left_to_look_at(pictures: Pictures, browser: Any, tmp_path: Path):
    page = browser.new_page(viewport={"width": 200, "height": 200})
    panel = "<body style='background: #161719; color: white'>A panel<div style='background: {}; height: 40px'>"
    page.set_content(panel.format("#1d1f22"))
    mine = Pictures(pictures.blank, review=False, reviewed=tmp_path / "reviewed", left=tmp_path / "left")
    mine.look(page, "panel")
    assert mine.faults.pop().startswith("panel: nobody has reviewed it")
    mine.review = True
    mine.look(page, "panel")
    mine.review = False
    mine.look(page, "panel")
    assert mine.faults == []
    page.set_content(panel.format("none"))
    mine.look(page, "panel")
    assert mine.faults.pop().startswith("panel: 18.40% of it differs"), "a panel has lost its ground in the dark"
    assert {path.name for path in (tmp_path / "left").iterdir()} == {
        "panel.reviewed.png", "panel.now.png", "panel.difference.png"
    }  # fmt: skip
    page.close()
