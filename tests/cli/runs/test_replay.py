"""`runs replay`."""

from __future__ import annotations

from pathlib import Path

from cli.terminal import TWO, Inside, script


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
