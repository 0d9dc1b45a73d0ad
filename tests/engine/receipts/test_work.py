"""What is said of files and tests is held against the trees of a folder, and against what was run in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit import call, go
from treadle import Agent, ScriptedModel, Workspace
from treadle._engine.receipts.matching import Deeds
from treadle._journal.memory import MemoryJournal
from treadle._workspace.coding import Coding

TEST = (
    "import sys; sys.path.insert(0, '.'); sys.dont_write_bytecode = True\n"
    "from area import area\nassert area(2, 3) == 6\n"
)
EDIT = call("edit", path="area.py", old="w + h", new="w * h")
WRITE = call("bash", command='python3 -c \'open(chr(110) + "1.txt", "w").write("ok")\'')
RUN = call("bash", command="python3 tests/test_area.py && echo ok # pytest")


def outcomes(folder: Path, *replies: Any) -> dict[str, str]:
    """What the log of a run says of some sentences."""
    (folder / "tests").mkdir()
    (folder / "area.py").write_text("def area(w, h):\n    return w + h\n")
    (folder / "tests" / "test_area.py").write_text(TEST)
    model, workspace = ScriptedModel([*replies, "Done.", "Done."]), Workspace(folder, backend="copy")

    async def main() -> Any:
        journal = MemoryJournal()
        agent = Agent(model, preset="coding", workspace=workspace, plugins=[Coding(allow="*")], journal=journal)
        result = await agent.run("area is wrong")
        return Deeds({result.run_id: await journal.load(result.run_id)})

    deeds = go(main())
    return {text: (found.outcome if (found := deeds.receipt(text)) else "none") for text in CLAIMS}


CLAIMS = (
    "All tests pass.",
    "Die Tests laufen durch.",
    "The 7 tests pass.",
    "I fixed area.py.",
    "I fixed tests/test_area.py.",
    "The new file n1.txt says it.",
    "I added a test.",
    "All tests should pass.",
    "The tests were not run.",
)


@pytest.mark.parametrize(
    ("replies", "said"),
    [
        ([EDIT, RUN], "receipted receipted unclear receipted unclear unclear none receipted none"),
        ([EDIT], "contradicted contradicted contradicted receipted unclear unclear unclear unclear none"),
        ([RUN, EDIT], "contradicted contradicted contradicted receipted unclear unclear unclear unclear none"),
        ([RUN], "contradicted contradicted contradicted unclear unclear unclear unclear unclear none"),
        ([EDIT, WRITE, RUN], "receipted receipted unclear receipted unclear receipted none receipted none"),
    ],
)
def test_what_is_said_of_files_and_tests_is_held_against_trees_and_runs(tmp_path: Path, replies: list[Any], said: str):
    (tmp_path / "source").mkdir()
    assert outcomes(tmp_path / "source", *replies) == dict(zip(CLAIMS, said.split(), strict=True))
