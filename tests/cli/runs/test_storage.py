"""`runs export`, `import`, `delete` and `gc`."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from cli.terminal import TWO, Inside, call, run_id, script


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


def test_what_is_learnt_from_is_of_one_user_and_was_made_here(home: Path, inside: Inside):
    inside("run", "mine", "-m", script(home, *TWO))
    inside("runs", "export", "last", "-o", "run.jsonl")
    log = (home / "run.jsonl").read_text()
    other = log.replace(run_id(inside), "b" * 32).replace('"question":"mine"', '"question":"theirs","user":"bob"')
    (home / "other.jsonl").write_text(other)
    inside("runs", "import", "other.jsonl")
    assert "from 1 run of 1" in inside("runs", "export", "all", "--training", "-o", "pairs.jsonl").err
    assert "theirs" not in (home / "pairs.jsonl").read_text(), "imported runs are somebody else's words"
    several = inside("runs", "export", "all", "--training", "--imported")
    assert (several.code, "runs of several users (, bob): say whose" in several.err) == (2, True)
    asked = inside("runs", "export", "all", "--training", "--imported", "--user", "bob", "-o", "pairs.jsonl")
    assert "from 1 run of 1" in asked.err
    assert "theirs" in (home / "pairs.jsonl").read_text()


def test_check_says_which_runs_are_whole_and_saves_the_others(home: Path, inside: Inside):
    for question in "ab":
        inside("run", question, "-m", script(home, *TWO), "--journal", "j.db")
    last, first = inside("runs", "list", "--ids", "--journal", "j.db").out.split()
    assert inside("runs", "check", "--journal", "j.db").out == "2 runs whole, 0 damaged\n"
    with closing(sqlite3.connect(home / "j.db")) as con:
        con.execute(
            "UPDATE records SET data = replace(data, '40', '41') WHERE key >> 24 = 1 AND data LIKE '%tool_done%'"
        )
        con.commit()
    done = inside("runs", "check", "--journal", "j.db", "--save", "saved")
    assert done.code == 1
    assert f"{first}: record {first}#" in done.out
    assert done.out.endswith("1 run whole, 1 damaged\n")
    assert inside("runs", "import", "--journal", "new.db", str(home / "saved" / f"{first}.jsonl")).out.strip() == first
    assert last not in done.out


def test_check_reads_the_runs_of_a_file_that_was_cut_off(home: Path, inside: Inside):
    for number in range(8):
        inside("run", f"{number} " + "x" * 900, "-m", script(home, *TWO), "--journal", "j.db")
    with closing(sqlite3.connect(home / "j.db")) as con:
        con.execute("VACUUM INTO 'whole.db'")
    whole = (home / "whole.db").read_bytes()
    (home / "cut.db").write_bytes(whole[: len(whole) * 6 // 10])
    done = inside("runs", "check", "--journal", "cut.db", "--save", "saved")
    assert done.code == 1
    assert "Each run is read by itself" in done.out
    assert re.search(r"\n[1-9]\d* runs? whole, [1-9]\d* damaged\n$", done.out)
    for file in (home / "saved").iterdir():
        assert inside("runs", "import", "--journal", "new.db", str(file)).code == 0


def test_export_as_a_page(home: Path, inside: Inside):
    inside("run", "the question", "-m", script(home, call("calculator", expression="2 + 2"), "four"))
    assert inside("runs", "export", "last", "-o", "run.html").code == 0
    page = (home / "run.html").read_text()
    assert page.startswith("<!doctype html>")
    for words in ("the question", "calculator", "four"):
        assert words in page
    assert inside("runs", "export", "last", "--html").out.startswith("<!doctype html>")
