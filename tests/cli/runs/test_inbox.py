"""`runs send` and `runs cancel`."""

from __future__ import annotations

from pathlib import Path

from cli.terminal import Inside, call, open_gate, script, start, until
from waiting import GUARD_SECONDS, eventually


def test_send_and_cancel_reach_a_run_of_another_process(home: Path, inside: Inside):
    # A run does not look into its inbox at every quick step, so there are many of them.
    steps = [call("calculator", expression=f"{number} + 1") for number in range(500)]
    model = script(home, call("gate", name="a"), call("gate", name="b"), *steps, "never")
    options = ("-t", "mytools:gate,calculator", "--max-iterations", "600")
    with start(home, "run", "q", "-m", model, *options) as process:
        eventually(lambda: "running" in inside("runs", "list").out, "the run is recorded")
        done = inside("runs", "send", "last", "hurry up")
        assert done.code == 0, done.err
        open_gate(home, "a")
        until(process, "you: hurry up")
        assert inside("runs", "cancel", "last").code == 0
        open_gate(home, "b")
        process.communicate(timeout=GUARD_SECONDS)
        assert process.returncode == 130
        done = inside("runs", "send", "last", "too late")
        assert (done.code, "has ended (cancelled)" in done.err) == (2, True)
