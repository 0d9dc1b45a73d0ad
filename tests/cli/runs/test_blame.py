"""`runs blame`."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cli.terminal import call, script

Inside = Callable[..., Any]


TWO = (call("calculator", expression="2 + 2"), call("calculator", expression="4 * 10"), "forty")


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
