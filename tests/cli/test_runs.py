"""`treadle runs ...`: everything about runs that are recorded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .terminal import call, environment, script, start, treadle

Inside = Callable[..., Any]
TWO = (call("calculator", expression="2 + 2"), call("calculator", expression="4 * 10"), "forty")


def run_id(inside: Inside, which: int = 0) -> str:
    return inside("runs", "list", "--ids").out.splitlines()[which]


def test_list_and_show(home: Path, inside: Inside):
    assert "no runs" in inside("runs", "list").out
    inside("run", "What is it?\nReally?", "-m", script(home, *TWO))
    inside("run", "wait for me", "-m", script(home, call("erase", path="x")), "-t", "mytools:erase")
    lines = inside("runs", "list").out.splitlines()
    assert [line.split()[1] for line in lines[2:]] == ["paused", "answer"]
    assert lines[3].endswith("What is it? Really?")
    assert len(inside("runs", "list", "--status", "paused").out.splitlines()) == 3
    assert json.loads(inside("runs", "list", "--json", "-n", "1").out)["status"] == "paused"
    shown = inside("runs", "show", run_id(inside, 1)[:6]).out
    assert "2 + 2" in shown
    assert "answer\n  forty" in shown
    assert "3 steps" in shown
    assert "waits for approval: call_1_0  erase x" in inside("runs", "show", "last").out
    assert "tool_started" in inside("runs", "show", run_id(inside, 1), "--records").out


def test_a_run_that_is_not_there(home: Path, inside: Inside):
    done = inside("runs", "show", "nowhere")
    assert (done.code, "there is no run 'nowhere'" in done.err) == (2, True)
    assert inside("runs", "show", "last").code == 2
    assert inside("runs").code == 2
    assert inside("runs", "list", "--journal", "none").code == 2
    assert inside("runs", "--journal", "other.db", "list").code == 0
    assert inside("runs", "list", "--journal", "third.db").code == 0
    assert (home / "other.db").exists()
    assert (home / "third.db").exists()


def test_hostile_questions_do_not_reach_the_terminal(home: Path, inside: Inside):
    inside("run", "evil \x1b]0;title\x07 \u202equestion", "-m", script(home, "an \x1b[31manswer"))
    for command in (
        ("list",),
        ("show", "last"),
        ("show", "last", "--records"),
        ("blame", "last"),
        ("blame", "last", "--text"),
    ):
        out = inside("runs", *command).out
        assert not set(out) & {"\x1b", "\x07", "\u202e"}, command


def test_replay_compares_the_bytes(home: Path, inside: Inside):
    inside("run", "q", "-m", script(home, *TWO))
    done = inside("runs", "replay", "last")
    assert (done.code, done.out) == (0, "3 requests rendered again from the log, byte for byte as sent\n")
    played = inside("runs", "replay", "last", "--play")
    assert "> calculator 2 + 2" in played.err
    assert played.out.startswith("forty\n3 requests")


def test_replay_names_the_first_difference(home: Path, inside: Inside):
    inside("run", "q", "-m", script(home, *TWO), "--system", "You are careful.")
    exported = inside("runs", "export", "last").out
    changed = exported.replace("You are careful.", "You are reckless.", 1)
    assert changed != exported
    (home / "changed.jsonl").write_text(changed)
    inside("runs", "delete", "last")
    assert inside("runs", "import", "changed.jsonl").code == 0
    done = inside("runs", "replay", "last")
    assert done.code == 1
    assert "differs in its message 0 (from: " in done.out
    assert "careful" in done.out
    assert "reckless" in done.out


def test_fork_goes_another_way(home: Path, inside: Inside):
    inside("run", "q", "-m", script(home, *TWO))
    first = run_id(inside)
    done = inside("runs", "fork", first, "--at", "2")
    assert done.code == 0
    fork = done.out.strip()
    assert fork != first
    other = script(home, "another way", name="other")
    done = inside("runs", "resume", fork, "-m", other, "--say", "be brief")
    assert (done.code, done.out) == (0, "another way\n")
    shown = inside("runs", "show", fork, "--json").out
    assert "be brief" in shown
    assert "model_switched" in shown
    assert "another way" not in inside("runs", "show", first, "--json").out
    assert inside("runs", "replay", fork).code == 0
    assert inside("runs", "fork", first, "--at", "3", "--go").out == "forty\n"
    done = inside("runs", "fork", first, "--at", "9")
    assert (done.code, "its steps are 1, 2, 3" in done.err) == (2, True)


def test_blame_maps_every_byte(home: Path, inside: Inside):
    inside("run", "the question", "-m", script(home, *TWO), "--system", "Be nice.")
    out = inside("runs", "blame", "last").out
    for component in ("system", "question", "loop", "tool:calculator", "tools"):
        assert component in out
    segments = [json.loads(line) for line in inside("runs", "blame", "last", "--json").out.splitlines()]
    assert [s["start"] for s in segments] == [0, *(s["end"] for s in segments[:-1])]
    assert all(s["end"] - s["start"] == len(s["text"].encode()) for s in segments)
    first = [json.loads(line) for line in inside("runs", "blame", "last", "--at", "1", "--json").out.splitlines()]
    assert len(first) < len(segments)
    assert "Be nice." in inside("runs", "blame", "last", "--text").out
    assert inside("runs", "blame", "last", "--at", "7").code == 2
    done = inside("runs", "blame", "last", "--record", "0")
    assert (done.code, "is not a model request" in done.err) == (2, True)


def test_export_and_import(home: Path, inside: Inside):
    inside("run", "q", "-m", script(home, *TWO))
    first = run_id(inside)
    assert inside("runs", "export", "last", "-o", "run.jsonl").code == 0
    before = inside("runs", "show", first, "--json").out
    done = inside("runs", "import", "run.jsonl")
    assert (done.code, "already in this journal" in done.err) == (1, True)
    assert inside("runs", "import", "--journal", "other.db", "run.jsonl").out.strip() == first
    assert inside("runs", "show", first, "--json", "--journal", "other.db").out == before
    (home / "broken.jsonl").write_text("{}\n")
    done = inside("runs", "import", "--journal", "other.db", "broken.jsonl")
    assert (done.code, "not an exported run" in done.err) == (1, True)
    done = inside("runs", "import", "missing.jsonl")
    assert (done.code, "missing.jsonl" in done.err) == (1, True)


def test_export_as_a_regression_test(home: Path, inside: Inside):
    inside("run", 'it\'s a "quoted" \\ question', "-m", script(home, *TWO), "--system", "You are careful.")
    folder = home / "exported"
    folder.mkdir()
    assert inside("runs", "export", "last", "--pytest", "-o", "exported/test_it.py").code == 0
    assert inside("runs", "export", "last", "--pytest", "-o", "exported/test_it.txt").code == 2

    def pytest_run() -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-c",
            os.devnull,
            "--rootdir",
            str(folder),
            str(folder),
        ]
        env = environment(home, PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
        return subprocess.run(command, capture_output=True, text=True, cwd=folder, env=env)

    assert pytest_run().returncode == 0
    log = folder / "test_it.jsonl"
    log.write_text(log.read_text().replace("You are careful.", "You are reckless.", 1))
    failed = pytest_run()
    assert failed.returncode == 1
    assert "differs in its message 0" in failed.stdout


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


def test_approval_pauses_and_resume_goes_on(home: Path, inside: Inside):
    replies = (call("erase", path="a"), call("erase", path="b"), "both gone")
    paused = inside("run", "erase a and b", "-m", script(home, *replies), "-t", "mytools:erase")
    assert paused.code == 4
    assert 'waiting for approval: erase {"path":"a"}' in paused.err
    assert not (home / "erased.txt").exists()
    assert inside("runs", "resume", "last").code == 4, "nobody has decided yet"
    done = inside("runs", "resume", "last", "--approve", "nothing")
    assert (done.code, "waiting: call_1_0" in done.err) == (2, True)
    assert inside("runs", "resume", "last", "--approve", "call_1_0").code == 4, "the second call waits, too"
    assert (home / "erased.txt").read_text() == "a\n"
    done = inside("runs", "resume", "last", "--deny")
    assert (done.code, done.out) == (0, "both gone\n")
    assert (home / "erased.txt").read_text() == "a\n"
    assert "the user refused" in inside("runs", "show", "last").out
    again = inside("runs", "resume", "last")
    assert (again.code, (home / "erased.txt").read_text()) == (0, "a\n"), "a finished run does nothing more"


def test_yes_approves_what_waits_and_what_follows(home: Path, inside: Inside):
    replies = (call("erase", path="a"), call("erase", path="b"), "both gone")
    assert inside("run", "erase", "-m", script(home, *replies), "-t", "mytools:erase").code == 4
    assert inside("runs", "resume", "last", "--yes").out == "both gone\n"
    assert (home / "erased.txt").read_text() == "a\nb\n"


def test_resume_after_the_process_was_killed(home: Path, inside: Inside):
    model = script(home, call("calculator", expression="1"), call("wait", seconds=20), "done", name="killed")
    with start(home, "run", "q", "-m", model, "-t", "mytools:wait,calculator") as process:
        until = time.monotonic() + 20
        while "wait(" not in (shown := inside("runs", "show", "last", "--records").out).rpartition("tool_started")[2]:
            assert time.monotonic() < until, shown
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        (home / "mytools.py").write_text((home / "mytools.py").read_text().replace("seconds * 20", "seconds / 20"))
        (home / "elsewhere").mkdir()
        done = subprocess.run(
            [sys.executable, "-m", "treadle._cli.main", "runs", "resume", "last"],
            capture_output=True, text=True, cwd=home / "elsewhere", env=environment(home), timeout=60,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
        events = [r["event"]["type"] for r in treadle(home, "runs", "show", "last", "--json").records]
        assert events.count("resumed") == 1
        assert events.count("think_done") == 3, "the finished model calls were not made again"
        assert treadle(home, "runs", "replay", "last").code == 0


def test_a_log_from_elsewhere_cannot_choose_what_is_imported(home: Path, inside: Inside):
    """The log itself says which tools it had; only what this user started here is believed."""
    inside("run", "erase", "-m", script(home, call("erase", path="a"), "gone"), "-t", "mytools:erase")
    exported = inside("runs", "export", "last").out
    (home / "state" / "launch.key").unlink()  # as on another machine, or in another account
    done = inside("runs", "resume", "last", "--yes")
    assert done.code == 2
    assert "name its tools (erase) with --tools" in done.err
    assert not (home / "erased.txt").exists()
    done = inside("runs", "resume", "last", "--yes", "-t", "mytools:erase", "-m", script(home, "gone"))
    assert (done.code, done.out) == (0, "gone\n")
    assert exported.count('"seal"') == 1


def test_a_seal_belongs_to_one_run(home: Path, inside: Inside):
    inside("run", "erase", "-m", script(home, call("erase", path="a"), "gone"), "-t", "mytools:erase")
    old, new = run_id(inside), "f" * 32
    (home / "copy.jsonl").write_text(inside("runs", "export", "last").out.replace(old, new))
    inside("runs", "import", "copy.jsonl")
    done = inside("runs", "resume", new, "--yes")
    assert (done.code, "is not known here" in done.err) == (2, True)
    assert not (home / "erased.txt").exists()


def test_watch_follows_a_run_of_another_process(home: Path, inside: Inside):
    model = script(home, call("wait", seconds=1.5), {"text": "the end", "delay": 0.5})
    with start(home, "run", "q", "-m", model, "-t", "mytools:wait") as process:
        until = time.monotonic() + 20
        while "running" not in inside("runs", "list").out:
            assert time.monotonic() < until
            time.sleep(0.05)
        watched = treadle(home, "runs", "watch")
        process.communicate(timeout=20)
        assert (watched.code, watched.out) == (0, "the end\n")
        assert "> wait 1.5" in watched.err
        assert "-- 2 steps" in watched.err
        done = inside("runs", "watch")
        assert (done.code, "no run is under way" in done.err) == (2, True)


def test_send_and_cancel_reach_a_run_of_another_process(home: Path, inside: Inside):
    model = script(
        home, call("wait", seconds=1), call("wait", seconds=1), call("wait", seconds=1), "never", repeat_last=True
    )
    with start(home, "run", "q", "-m", model, "-t", "mytools:wait") as process:
        until = time.monotonic() + 20
        while "running" not in inside("runs", "list").out:
            assert time.monotonic() < until
            time.sleep(0.05)
        done = inside("runs", "send", "last", "hurry up")
        assert done.code == 0, done.err
        assert process.stderr is not None
        for line in process.stderr:
            if line == "you: hurry up\n":
                break
        assert inside("runs", "cancel", "last").code == 0
        process.communicate(timeout=20)
        assert process.returncode == 130
        done = inside("runs", "send", "last", "too late")
        assert (done.code, "has ended (cancelled)" in done.err) == (2, True)


@pytest.mark.parametrize("tools", ["sql,url=postgres://ada:hunter2@db/shop", "tavily,key=hunter2"])
def test_secrets_in_tool_parameters_are_not_kept(home: Path, monkeypatch: pytest.MonkeyPatch, tools: str):
    from treadle._cli.setup.launch import Launch, launch_note, launch_of
    from treadle._types.events import Record, RunStarted

    monkeypatch.setenv("TREADLE_STATE", str(home / "state"))
    note = launch_note("r", Launch(model="m:x", tools=("calculator", tools)))
    assert "hunter2" not in str(note)
    launch = launch_of([Record("r", 0, 0.0, RunStarted("q")), Record("r", 1, 0.0, note)])
    assert launch is not None
    assert launch.tools == ("calculator", "[redacted]")


@pytest.mark.parametrize("text", ["90", "15m", "12h", "30d", "4w", "1.5h"])
def test_time_spans(text: str):
    from treadle._cli.display.text import duration

    assert duration(text) == {"90": 90, "15m": 900, "12h": 43200, "30d": 2592000, "4w": 2419200, "1.5h": 5400}[text]
