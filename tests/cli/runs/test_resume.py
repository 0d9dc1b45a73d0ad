"""`runs resume` and `runs fork`."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

from cli.terminal import TWO, Inside, call, environment, open_gate, recorded, run_id, script, start, treadle
from programs import python
from waiting import GUARD_SECONDS, eventually


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


def test_approval_pauses_and_resume_continues(home: Path, inside: Inside):
    replies = (call("erase", path="a"), call("erase", path="b"), "both gone")
    paused = inside("run", "erase a and b", "-m", script(home, *replies), "-t", "mytools:erase")
    assert paused.code == 4
    assert 'waiting for approval: erase {"path":"a"}' in paused.err
    assert not (home / "erased.txt").exists()
    assert inside("runs", "resume", "last").code == 4, "nobody has decided yet"
    done = inside("runs", "resume", "last", "--approve", "nothing")
    assert (done.code, "waiting: call_1_0 (erase)" in done.err) == (2, True)
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
    model = script(home, call("calculator", expression="1"), call("gate", name="a"), "done", name="killed")
    with start(home, "run", "q", "-m", model, "-t", "mytools:gate,calculator") as process:
        eventually(
            lambda: "gate(" in inside("runs", "show", "last", "--records").out.rpartition("tool_started")[2],
            "the tool runs",
        )
        process.send_signal(signal.SIGKILL)
        process.communicate()
        (home / "elsewhere").mkdir()
        open_gate(home / "elsewhere", "a")
        done = subprocess.run(
            [*python(), "-m", "treadle._cli.main", "runs", "resume", "last"],
            capture_output=True, text=True, cwd=home / "elsewhere", env=environment(home), timeout=GUARD_SECONDS,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
        events = [event["type"] for event in recorded(home)]
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
    assert "give its tools (erase) with --tools" in done.err
    assert not (home / "erased.txt").exists()
    done = inside("runs", "resume", "last", "--yes", "-t", "mytools:erase", "-m", script(home, "gone"))
    assert (done.code, done.out) == (0, "gone\n")
    assert exported.count('"seal"') == 1


def test_a_signature_is_valid_for_one_run(home: Path, inside: Inside):
    inside("run", "erase", "-m", script(home, call("erase", path="a"), "gone"), "-t", "mytools:erase")
    old, new = run_id(inside), "f" * 32
    (home / "copy.jsonl").write_text(inside("runs", "export", "last").out.replace(old, new))
    inside("runs", "import", "copy.jsonl")
    done = inside("runs", "resume", new, "--yes")
    assert (done.code, "was not started here" in done.err) == (2, True)
    assert not (home / "erased.txt").exists()


def test_what_is_asked_about_can_be_said_when_a_run_is_resumed(home: Path, inside: Inside):
    replies = (call("erase", path="a"), call("calculator", expression="1+1"), "two")
    assert inside("run", "q", "-m", script(home, *replies), "-t", "mytools:erase", "-t", "calculator").code == 4
    done = inside("runs", "resume", "last", "--approve", "all", "--ask", "all")
    assert (done.code, "waiting for approval: calculator" in done.err) == (4, True)
    done = inside("runs", "resume", "last", "--approve", "all")
    assert (done.code, done.out) == (0, "two\n")
