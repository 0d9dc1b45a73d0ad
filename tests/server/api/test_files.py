"""The files of a run's workspace, over HTTP: by step, as differences, one by one, and for their owner only."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from kit import call, go
from server.serving import ANN, BOB, TOKENS, serving
from treadle import Agent, ScriptedModel, ToolContext, Workspace, open_journal, tool
from treadle._types.events import Record, RunStarted, TreeSaved, WorkspaceOpened
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
        run = ann.ran("go")
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
        with ThreadPoolExecutor(8) as several:  # as a view asks for them
            found = [several.submit(ann.get, f"/api/runs/{run}/trees/{seq}") for seq in (second, third) * 4]
            assert [len(one.result()["changes"]) for one in found] == [1] * 8
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
        run = ann.ran("go")
        tree = ann.get(f"/api/runs/{run}/trees")["trees"][-1]["tree"]
        mine = bob.ran("go")
        [first, *_] = go(open_journal(tmp_path / "runs.db").load(mine))
        assert isinstance(first.event, RunStarted)
        started = RunStarted("q", user=first.event.user)
        forged = [Record("forged", 0, 1.0, started), Record("forged", 1, 1.0, TreeSaved(tree, "start"))]
        go(open_journal(tmp_path / "runs.db").append(forged))
        assert bob.ask("GET", "/api/runs/forged/trees/1").status == 404
        assert msgspec.json.decode(bob.ask("GET", "/api/runs/forged/trees").data)["trees"]


def test_changes_are_brought_into_the_folder_as_they_were_shown(tmp_path: Path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    with serving(agent(folder), journal=open_journal(tmp_path / "runs.db")) as server:
        run = server.ran("go")
        found = server.get(f"/api/runs/{run}/trees")
        assert found["folder"] == str(folder)
        first, second, third = (tree["seq"] for tree in found["trees"])
        assert server.get(f"/api/runs/{run}/trees/{third}/files")["files"] == ["<b>.html", "a.txt"]
        shown = server.get(f"/api/runs/{run}/trees/{second}/bring")
        assert [(one["path"], one["kind"]) for one in shown["changes"]] == [("a.txt", "M")]
        assert (folder / "a.txt").read_text() == "one\n", "only shown"
        (folder / "mine.txt").write_text("kept\n")

        def bring(seq: int, now: str, *, exact: bool = False) -> int:
            return server.ask("POST", f"/api/runs/{run}/trees/{seq}/bring", {"now": now, "exact": exact}).status

        assert bring(second, shown["now"]) == 409, "something has changed since it was shown"
        assert bring(second, server.get(f"/api/runs/{run}/trees/{second}/bring")["now"]) == 200
        assert ((folder / "a.txt").read_text(), (folder / "mine.txt").read_text()) == ("1\n", "kept\n")
        back = server.get(f"/api/runs/{run}/trees/{first}/bring?exact=true")
        assert {(one["path"], one["kind"]) for one in back["changes"]} == {("a.txt", "M"), ("mine.txt", "D")}
        assert bring(first, back["now"], exact=True) == 200
        assert [path.name for path in folder.iterdir()] == ["a.txt"]
        assert (folder / "a.txt").read_text() == "one\n"
        (folder / "a.txt").write_text("another\n")
        both = server.get(f"/api/runs/{run}/trees/{third}/bring")
        assert both["conflicts"] == ["a.txt"]
        assert bring(third, both["now"]) == 409
        assert (folder / "a.txt").read_text() == "another\n"


def test_who_may_bring_changes_into_a_folder(tmp_path: Path):
    folder, other = tmp_path / "project", tmp_path / "other"
    folder.mkdir()
    other.mkdir()
    with serving(agent(folder), tokens=TOKENS, journal=open_journal(tmp_path / "runs.db")) as server:
        ann = server.as_user(ANN)  # one of several users, none of whom is named as an operator
        run = ann.ran("go")
        assert ann.get(f"/api/runs/{run}/trees")["folder"] == ""
        assert ann.ask("GET", f"/api/runs/{run}/trees/1/bring").status == 403
    with serving(agent(other), journal=open_journal(tmp_path / "alone.db")) as server:
        mine = server.ran("go")
        records = go(open_journal(tmp_path / "alone.db").load(mine))
        [tree, *_] = [record for record in records if isinstance(record.event, TreeSaved)]
        [opened] = [record for record in records if isinstance(record.event, WorkspaceOpened)]
        assert isinstance(opened.event, WorkspaceOpened)
        elsewhere = msgspec.structs.replace(opened.event, source=str(folder))
        forged = [records[0], msgspec.structs.replace(opened, event=elsewhere), tree]
        forged = [msgspec.structs.replace(one, run="forged", seq=seq) for seq, one in enumerate(forged)]
        go(open_journal(tmp_path / "alone.db").append(forged))
        assert server.get("/api/runs/forged/trees")["folder"] == "", "the folder is what a log says"
        assert server.ask("GET", "/api/runs/forged/trees/2/bring").status == 403
