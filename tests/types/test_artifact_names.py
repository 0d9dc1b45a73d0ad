"""Names of artifacts stay below the folder they are written to."""

from __future__ import annotations

import ntpath
import posixpath

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from treadle._types.events import Artifact, ToolDone, decode_event, encode_event
from treadle._types.usage import MAX_NAME, MAX_PART, safe_artifact_name

CLIMBING = {
    "../../etc/passwd": "etc/passwd",
    "..": "unnamed",
    "": "unnamed",
    " \t\n": "unnamed",
    "/etc/passwd": "etc/passwd",
    "//server/share/x": "server/share/x",
    "..\\..\\Windows\\win.ini": "Windows/win.ini",
    "C:\\Windows\\win.ini": "Windows/win.ini",
    "c:x.txt": "x.txt",
    "/c:/x.txt": "x.txt",
    "\\\\?\\C:\\x": "_/C_/x",
    "a/../../b": "a/b",
    "a/./b//c": "a/b/c",
    ".. /x": "x",
    "..\u200b/x": "x",
    "x/.\x00./y": "x/y",
    "a\x00.png/../b": "a.png/b",
    "report\u202egnp.exe": "reportgnp.exe",
    "two\nlines\r.txt": "two lines .txt",
    "\x1b[2Jx.txt": "[2Jx.txt",
    "CON": "_CON",
    "nul.txt": "_nul.txt",
    "a/Aux.tar.gz": "a/_Aux.tar.gz",
    "com1": "_com1",
    "lpt\u00b2.md": "_lpt\u00b2.md",
    "name. . .": "name",
    "stream.txt:hidden:$DATA": "stream.txt_hidden_$DATA",
    "~/.ssh/authorized_keys": "ssh/authorized_keys",
    "~root/x": "root/x",
    ".bashrc": "bashrc",
    "-rf": "rf",
    "a" * 300 + ".html": "a" * 115 + ".html",
    "x/" * 500 + "y": "/".join(["x"] * 199 + ["y"]),
}


@pytest.mark.parametrize("name", CLIMBING, ids=lambda name: ascii(name)[:30])
def test_names_that_lead_elsewhere(name: str):
    assert safe_artifact_name(name) == CLIMBING[name]


ORDINARY = ["chart.svg", "charts/a-b_c.svg", "Größe.html", "图表.png", "a b.txt", "console.log", "x"]


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_names_stay(name: str):
    assert safe_artifact_name(name) == name


PIECES = ["..", ".", "/", "\\", "C:", "nul", " ", "a", "\0", "~", "\u202e", "\u00a0"]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
@example("é" * 200)
@example("a." + "é" * 200)
def test_no_name_climbs(name: str):
    safe = safe_artifact_name(name)
    assert safe_artifact_name(safe) == safe
    assert 0 < len(safe) <= MAX_NAME
    for system in (posixpath, ntpath):
        joined = system.normpath(system.join("base", safe))
        assert joined.startswith(f"base{system.sep}")
        assert not system.isabs(safe)
    for part in safe.split("/"):
        assert 0 < len(part.encode()) <= MAX_PART
        assert not part.startswith((".", "~", "-"))
    assert safe.isprintable()


def test_there_is_no_artifact_with_another_name():
    """Neither one that a tool makes, nor one that an older or a foreign log has."""
    made = Artifact("../../x", "text")
    assert made.name == "x"
    assert msgspec.structs.replace(made, name="/y").name == "y"
    event = ToolDone("1", "t", 1, "ok", artifacts=(made,))
    foreign = encode_event(event).replace(b'"name":"x"', b'"name":"..\\\\..\\\\x"')
    assert b"..\\\\" in foreign
    stored = decode_event(foreign)
    assert isinstance(stored, ToolDone)
    assert stored.artifacts == (made,)
