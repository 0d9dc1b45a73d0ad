"""The files of a run's workspace, over HTTP: by step, as differences, one by one, and for their owner only."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kit import call, go
from server.serving import ANN, BOB, TOKENS, serving
from treadle import Agent, ScriptedModel, ToolContext, Workspace, open_journal, tool
from treadle._types.events import Record, RunStarted, TreeSaved
from treadle._workspace.workspace import machine_of


@tool
async def write(context: ToolContext, name: str, text: str) -> str:
    """Write a file."""
    (machine_of(context.run).root / name).write_text(text)
    return "written"


def agent(folder: Path) -> Agent:
    calls = [call("write", name="a.txt", text="1\n"), call("write", name="<b>.html", text="<script>x</script>")]
    return Agent(ScriptedModel([*calls, "done"], repeat_last=True), [write], workspace=Workspace(folder), name="demo")


@pytest.mark.parametrize("kind", ["sqlite", "memory"])
def test_trees_differences_and_files(tmp_path: Path, kind: str):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    journal = open_journal("memory:" if kind == "memory" else tmp_path / "runs.db")
    with serving(agent(folder), tokens=TOKENS, journal=journal) as server:
        ann, bob = server.as_user(ANN), server.as_user(BOB)
        run = ann.start("go")
        ann.wait(run)
        trees = ann.get(f"/api/runs/{run}/trees")["trees"]
        assert [(tree["step"], tree["moment"], tree["changes"].get("paths", [])) for tree in trees] == [
            (0, "start", []), (1, "after", ["M a.txt"]), (2, "after", ["A <b>.html"]),
        ]  # fmt: skip
        first, second, third = (tree["seq"] for tree in trees)
        found = ann.get(f"/api/runs/{run}/trees/{second}")
        assert (found["before"], found["complete"]) == (first, True)
        assert [(change["path"], change["kind"]) for change in found["changes"]] == [("a.txt", "M")]
        assert "-one\n+1\n" in found["changes"][0]["difference"]
        assert len(ann.get(f"/api/runs/{run}/trees/{third}?before={first}")["changes"]) == 2
        page = ann.ask("GET", f"/api/runs/{run}/trees/{third}/file?path=%3Cb%3E.html")
        assert page.data == b"<script>x</script>"
        assert page.headers["content-type"].startswith("text/plain")
        assert "sandbox" in page.headers["content-security-policy"]
        for path in ("../../runs.db", "/etc/passwd", "", "absent", "a.txt/x"):
            assert ann.ask("GET", f"/api/runs/{run}/trees/{third}/file?path={path}").status == 404
        for path in ("trees", f"trees/{second}", f"trees/{second}/file?path=a.txt"):
            assert bob.ask("GET", f"/api/runs/{run}/{path}").status == 404
            assert server.ask("GET", f"/api/runs/{run}/{path}").status == 401
        assert ann.ask("GET", f"/api/runs/{run}/trees/0").status == 404
        assert ann.ask("GET", f"/api/runs/{run}/trees/-1").status == 400


def test_an_imported_log_gives_no_access_to_files_of_others(tmp_path: Path):
    folder = tmp_path / "project"
    folder.mkdir()
    journal = open_journal(tmp_path / "runs.db")
    with serving(agent(folder), tokens=TOKENS, journal=journal) as server:
        ann, bob = server.as_user(ANN), server.as_user(BOB)
        run = ann.start("go")
        ann.wait(run)
        tree = ann.get(f"/api/runs/{run}/trees")["trees"][-1]["tree"]
        mine = bob.start("go")
        bob.wait(mine)
        [first, *_] = go(open_journal(tmp_path / "runs.db").load(mine))
        assert isinstance(first.event, RunStarted)
        started = RunStarted("q", user=first.event.user)
        forged = [Record("forged", 0, 1.0, started), Record("forged", 1, 1.0, TreeSaved(tree, "start"))]
        go(open_journal(tmp_path / "runs.db").append(forged))
        assert bob.ask("GET", "/api/runs/forged/trees/1").status == 404
        assert msgspec.json.decode(bob.ask("GET", "/api/runs/forged/trees").data)["trees"]
