"""`runs watch`."""

from __future__ import annotations

from pathlib import Path

from cli.terminal import Inside, call, open_gate, script, start, until
from waiting import GUARD_SECONDS, eventually


def test_watch_follows_a_run_of_another_process(home: Path, inside: Inside):
    model = script(home, {"text": "I wait.", "calls": [call("gate", name="a")]}, "the end")
    with start(home, "run", "q", "-m", model, "-t", "mytools:gate") as process:
        eventually(lambda: "running" in inside("runs", "list").out, "the run is recorded")
        with start(home, "runs", "watch") as watch:
            until(watch, "I wait.")
            open_gate(home, "a")
            out, err = watch.communicate(timeout=GUARD_SECONDS)
        process.communicate(timeout=GUARD_SECONDS)
        assert (watch.returncode, out) == (0, "the end\n")
        assert "> gate a" in err
        assert "-- 2 steps" in err
        done = inside("runs", "watch")
        assert (done.code, "no run is in progress" in done.err) == (2, True)
