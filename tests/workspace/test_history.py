"""The files of a run by its steps, and how its changes are merged into another folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from treadle import ConfigError, TreeError
from treadle._types.events import Event, Record, RunStarted, ThinkStarted, TreeSaved, WorkspaceOpened
from treadle._workspace.history import merge, source_of_run, span_of
from treadle._workspace.objects import Objects
from treadle._workspace.restore import restore
from treadle._workspace.snapshot import Tracked

TREES = [f"{number:02x}" * 32 for number in range(5)]


def log(*events: Event) -> list[Record]:
    return [Record("r", seq, 1.0, event) for seq, event in enumerate(events)]


def test_spans():
    think = [ThinkStarted("loop", step) for step in (1, 2, 3)]
    records = log(
        RunStarted("q"), WorkspaceOpened("copy", "/own", "/mine"), TreeSaved(TREES[0], "start"), think[0],
        TreeSaved(TREES[1], "after"), think[1], think[2], TreeSaved(TREES[2], "between"), TreeSaved(TREES[3], "after"),
    )  # fmt: skip
    spans = {
        (): (0, 3), (1,): (0, 1), (2,): (1, 1), (3,): (1, 3), (1, 2): (0, 1), (2, 3): (1, 3), (9,): (3, 3),
    }  # fmt: skip
    for steps, (old, new) in spans.items():
        span = span_of(records, *steps)
        assert (span.old.hex(), span.new.hex()) == (TREES[old], TREES[new]), steps
    assert source_of_run(records) == "/mine"
    with pytest.raises(ConfigError, match="no workspace"):
        span_of(records[:1])
    for tree in ("", "zz", "00"):
        with pytest.raises(TreeError):
            span_of(log(RunStarted("q"), TreeSaved(tree, "start")))


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "store")


def made(objects: Objects, folder: Path, files: dict[str, str | None]) -> bytes:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.unlink()
        else:
            path.write_text(text)
    return Tracked(folder, objects).save().tree


def test_changes_of_both_sides_are_merged(objects: Objects, tmp_path: Path):
    mine, other = tmp_path / "mine", tmp_path / "other"
    lines = "".join(f"{number}\n" for number in range(20))
    files: dict[str, str | None] = {"same": "1", "both": lines, "sub/gone": "x", "sub/mine": "y"}
    base = made(objects, mine, files)
    assert made(objects, other, files) == base
    ours = made(objects, mine, {"both": lines.replace("2\n", "two\n", 1), "sub/mine": "mine", "new/of/mine": "n"})
    theirs = made(objects, other, {"both": f"{lines}end\n", "sub/gone": None, "new/of/theirs": "t"})
    merged = merge(objects, base, ours, theirs)
    assert merged.conflicts == ()
    restore(Tracked(mine, objects), merged.tree)
    texts = {path.relative_to(mine).as_posix(): path.read_text() for path in mine.rglob("*") if path.is_file()}
    both = f"{lines.replace('2' + chr(10), 'two' + chr(10), 1)}end\n"
    assert texts == {"same": "1", "both": both, "sub/mine": "mine", "new/of/mine": "n", "new/of/theirs": "t"}


@pytest.mark.parametrize(("ours", "theirs"), [("2\n", "3\n"), (None, "3\n"), ("2\n", None)])
def test_conflicts_are_named_and_nothing_is_lost(
    objects: Objects, tmp_path: Path, ours: str | None, theirs: str | None
):
    base = made(objects, tmp_path / "mine", {"sub/a": "1\n", "b": ""})
    made(objects, tmp_path / "other", {"sub/a": "1\n", "b": ""})
    left, right = (
        made(objects, tmp_path / "mine", {"sub/a": ours}),
        made(objects, tmp_path / "other", {"sub/a": theirs}),
    )
    merged = merge(objects, base, left, right)
    assert (merged.conflicts, merged.tree) == (("sub/a",), left)


@pytest.mark.parametrize("changed_here", [False, True])
def test_hooks_and_settings_of_a_repository_do_not_come_along(objects: Objects, tmp_path: Path, changed_here: bool):
    mine, other = tmp_path / "mine", tmp_path / "other"
    files: dict[str, str | None] = {".git/config": "mine", "sub/.git/config": "mine", "a": "1"}
    base = made(objects, mine, files)
    made(objects, other, files)
    ours = made(objects, mine, {"b": "mine"}) if changed_here else base
    names = (".git/config", ".git/hooks/pre-commit", "sub/.git/config", "new/.GIT/hooks/x", "new/c")
    evil: dict[str, str | None] = dict.fromkeys(names, "evil")
    theirs = made(objects, other, {**evil, "a": "2"})
    merged = merge(objects, base, ours, theirs)
    restore(Tracked(mine, objects), merged.tree)
    texts = {path.relative_to(mine).as_posix(): path.read_text() for path in mine.rglob("*") if path.is_file()}
    expected = {".git/config": "mine", "sub/.git/config": "mine", "a": "2", "new/c": "evil"}
    assert texts == {**expected, **({"b": "mine"} if changed_here else {})}
