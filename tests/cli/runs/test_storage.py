"""`runs export`, `import`, `delete` and `gc`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.terminal import call, script

Inside = Callable[..., Any]


TWO = (call("calculator", expression="2 + 2"), call("calculator", expression="4 * 10"), "forty")


def run_id(inside: Inside, which: int = 0) -> str:
    return inside("runs", "list", "--ids").out.splitlines()[which]


def test_export_and_import(home: Path, inside: Inside):
    inside("run", "q", "-m", script(home, *TWO))
    first = run_id(inside)
    assert inside("runs", "export", "last", "-o", "run.jsonl").code == 0
    before = inside("runs", "show", first, "--json").out
    done = inside("runs", "import", "run.jsonl")
    assert (done.code, "already in this journal" in done.err) == (1, True)
    assert inside("runs", "import", "--journal", "other.db", "run.jsonl").out.strip() == first
    there = inside("runs", "show", first, "--json", "--journal", "other.db").out
    assert there == before.replace('"preset":"default"', '"preset":"default","origin":"imported"', 1)
    (home / "broken.jsonl").write_text("{}\n")
    done = inside("runs", "import", "--journal", "other.db", "broken.jsonl")
    assert (done.code, "expected an exported run" in done.err) == (2, True)
    done = inside("runs", "import", "missing.jsonl")
    assert (done.code, "missing.jsonl" in done.err) == (1, True)


def test_delete_and_gc(home: Path, inside: Inside):
    model = script(home, "yes", repeat_last=True)
    for question in "abc":
        inside("run", question, "-m", model)
    inside("runs", "delete", "last")
    assert len(inside("runs", "list", "--ids").out.split()) == 2
    assert inside("runs", "gc").out == "deleted 0 runs\n"
    assert inside("runs", "gc", "--older-than", "0s", "--keep", "1").out == "deleted 1 run\n"
    assert inside("runs", "gc", "--older-than", "0").out == "deleted 1 run\n"
    assert inside("runs", "gc", "--older-than", "soon").code == 2


def test_good_runs_become_pairs_to_learn_from(home: Path, inside: Inside):
    inside("run", "q", "-m", script(home, *TWO))
    inside("run", "q", "-m", script(home, "", "", ""))
    done = inside("runs", "export", "all", "--training", "-o", "pairs.jsonl")
    pairs = [json.loads(line) for line in (home / "pairs.jsonl").read_text().splitlines()]
    assert [json.loads(pair["reply"])["action"] for pair in pairs] == ["calculator", "calculator", "final_answer"]
    assert "3 pairs from 1 run of 2" in done.err
    failed = inside("runs", "export", "last", "--training")
    assert (failed.code, "nothing to learn" in failed.err) == (2, True)


def test_export_as_a_page(home: Path, inside: Inside):
    inside("run", "the question", "-m", script(home, call("calculator", expression="2 + 2"), "four"))
    assert inside("runs", "export", "last", "-o", "run.html").code == 0
    page = (home / "run.html").read_text()
    assert page.startswith("<!doctype html>")
    for words in ("the question", "calculator", "four"):
        assert words in page
    assert inside("runs", "export", "last", "--html").out.startswith("<!doctype html>")
