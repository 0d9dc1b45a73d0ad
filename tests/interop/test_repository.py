"""A task that is a folder: what the agent left is tested, with the tests as they were given."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

from kit import call, go
from treadle import ConfigError, MissingExtraError, ScriptedModel
from treadle.interop import RepositoryResult, run_repository

TEST = "grep -q 'a + b' sums.py || { echo it fails; exit 1; }\n. ./check.sh\n"
LOOK = call("read", path="sums.py")
RIGHT = call("edit", path="sums.py", old="a - b", new="a + b")
CHEATS = call("write", path="check.sh", content="echo fine\n")


@pytest.fixture
def task(tmp_path: Path) -> Path:
    for name, text in {
        "repository/sums.py": "def add(a, b):\n    return a - b\n",
        "issue.md": "add(1, 1) gives 0.\n",
        "test.sh": TEST,
        "tests/check.sh": "test -s sums.py && echo checked\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def run(task: Path, *script: object) -> RepositoryResult:
    return go(run_repository(ScriptedModel(script), task))


def test_an_issue_that_is_solved(task: Path):
    done = run(task, LOOK, RIGHT, "Added.", "Really.")
    assert (done.solved, done.solved_before, done.output.strip()) == (True, False, "checked")
    assert "-    return a - b\n+    return a + b\n" in done.patch
    assert (task / "repository" / "sums.py").read_text().endswith("a - b\n")


def test_an_issue_that_is_not(task: Path):
    """The tests are those of the task, whatever the agent has made of them."""
    (task / "tests" / "check.sh").write_text("exit 3\n")
    done = run(task, LOOK, RIGHT, CHEATS, "Done.", "Really.")
    assert (done.solved, "check.sh" in done.patch) == (False, True)
    assert run(task, "I do not know.").output.strip() == "it fails"


def test_a_folder_that_is_no_task(task: Path):
    (task / "issue.md").unlink()
    with pytest.raises(ConfigError, match=r"there is no issue\.md"):
        run(task)


@pytest.mark.parametrize("name", ["inspect", "harbor", "terminal_bench"])
def test_what_is_not_installed_is_named(name: str):
    """The environment of these tests has none of them; the others' tests run in environments of their own."""
    with pytest.raises(MissingExtraError, match=rf"treadle\[{name}\]"):
        import_module(f"treadle.interop.{name}")
