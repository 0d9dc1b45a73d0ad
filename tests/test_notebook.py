"""Treadle in a notebook: in a real kernel, whose cells run inside its event loop."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from notebook_kernel import Kernel, kernel

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / "examples").glob("[0-9]*.ipynb"))
SETUP = """
import asyncio, gc, os, threading, warnings
from treadle import Agent, ScriptedModel, tool

warnings.simplefilter("always")
asyncio.get_running_loop()  # a cell runs inside one

@tool
def price(item: str) -> float:
    "The price of an item."
    return 40.0

def agent(journal=None):
    script = [{"name": "price", "args": {"item": "lamp"}}, "<b>40</b> dollars."]
    return Agent(ScriptedModel(script), tools=[price], journal=journal)

def left():
    "Threads (those of the kernel, and the bounded pool of tools, aside), open files of ours, tasks."
    gc.collect()
    threads = sorted(t.name for t in threading.enumerate() if t.name.startswith("treadle") and t.name != "treadle-tool")
    links = [f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd")]
    files = [link for link in links if os.path.islink(link) and "runs.db" in os.readlink(link)]
    return threads, len(files), len(asyncio.all_tasks())
"""


@pytest.fixture(scope="module")
def notebook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    folder = tmp_path_factory.mktemp("notebook")
    with kernel(folder, TREADLE_STATE=str(folder)) as started:
        assert started.run(SETUP) == ("", {}, "")
        yield started


def test_run_sync_in_a_cell_shows_its_result(notebook: Kernel):
    shown = notebook.run("agent().run_sync('What does a lamp cost?')")
    assert (shown.text, shown.error) == ("", "")
    assert "&lt;b&gt;40&lt;/b&gt; dollars." in shown.result["text/html"]
    assert "price" in shown.result["text/html"]
    assert shown.result["text/plain"].startswith("RunResult(answer, ")


def test_a_cell_may_await_and_stream(notebook: Kernel):
    shown = notebook.run(
        "print((await agent().run('q')).tools_used)\nlast = [e async for e in agent().stream('q')][-1]"
    )
    assert (shown.text, shown.error) == ("['price']\n", "")
    assert notebook.run("type(last).__name__").result["text/plain"] == "'RunFinished'"


def test_cells_leave_nothing_behind(notebook: Kernel):
    """No thread, no open file, no task more, however often they are run; and no warning."""
    cell = "async with agent('runs.db') as a:\n    await a.run('q')\nagent().run_sync('q')\n''.join(agent().text('q'))"
    for _ in range(2):
        assert notebook.run(cell).error == ""
    before = notebook.run("left()").result["text/plain"]
    assert before.startswith("(['treadle-bridge'], 0, ")
    for _ in range(5):
        shown = notebook.run(cell)
        assert (shown.text, shown.error) == ("", "")
    assert notebook.run("left()").result["text/plain"] == before


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_notebook_of_the_examples(path: Path, notebook: Kernel):
    cells = [cell for cell in json.loads(path.read_text("utf-8"))["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 3
    assert sum(len(cell["source"]) for cell in cells) <= 60
    for cell in cells:
        shown = notebook.run("".join(cell["source"]))
        assert shown.error == ""
        assert "Warning" not in shown.text
    if path.stem == "35_data_analysis":  # its last value is the answer, with the picture in place
        assert "Month 11 sold" in shown.result["text/html"]
        assert "src='data:image/svg+xml;base64," in shown.result["text/html"]


def test_a_notebook_that_is_closed_ends_without_a_word(tmp_path: Path):
    with kernel(tmp_path, TREADLE_STATE=str(tmp_path), PYTHONWARNINGS="always::ResourceWarning") as started:
        assert started.run(SETUP + "result = agent('runs.db').run_sync('q')").error == ""
    said = (tmp_path / "stderr.txt").read_text("utf-8")
    lines = [line for line in said.splitlines() if "running over TCP without encryption" not in line]
    assert lines == []
