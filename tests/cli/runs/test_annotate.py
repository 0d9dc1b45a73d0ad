"""`runs note`, `tag`, `rate` and `rename`."""

from __future__ import annotations

from pathlib import Path

from cli.terminal import Inside, script


def test_what_people_note_about_a_run(home: Path, inside: Inside):
    inside("run", "Where is the map?", "-m", script(home, "There."))
    assert inside("runs", "note", "last", "It read the wrong page.").code == 0
    assert inside("runs", "tag", "last", "odd", "map").code == 0
    assert "tags: odd" in inside("runs", "tag", "last", "map", "--remove").out
    assert "rated: down" in inside("runs", "rate", "last", "down").out
    shown = inside("runs", "rename", "last", "The map").out
    for fact in ("title: The map", "rated: down", "tags: odd", "note: It read the wrong page."):
        assert fact in shown
    assert "The map" in inside("runs", "list", "--tag", "odd").out
    assert inside("runs", "list", "--tag", "map", "--ids").out == ""
    whole = inside("runs", "show", "last").out
    assert "The map" in whole
    assert "It read the wrong page." in whole
    assert "rated" not in inside("runs", "rate", "last", "none").out
    assert inside("runs", "rate", "last", "sideways").code == 2
    assert inside("runs", "note", "nothing", "x").code == 2
