"""`treadle runs` without a run, an action or a journal."""

from __future__ import annotations

from pathlib import Path

from cli.terminal import Inside


def test_a_run_that_is_not_there(home: Path, inside: Inside):
    done = inside("runs", "show", "nowhere")
    assert (done.code, "there is no run 'nowhere'" in done.err) == (2, True)
    assert inside("runs", "show", "last").code == 2
    assert inside("runs").code == 2
    assert inside("runs", "list", "--journal", "none").code == 2
    for words in (("--journal", "other.db", "list"), ("list", "--journal", "other.db")):
        done = inside("runs", *words)
        assert (done.code, "--journal other.db: there is no such file" in done.err) == (2, True)
    assert not (home / "other.db").exists()
