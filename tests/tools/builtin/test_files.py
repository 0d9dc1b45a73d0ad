"""Files in a work folder, and every way out of it."""

from __future__ import annotations

import base64
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from treadle._tools.base import Tool, ToolResponse
from treadle._tools.builtin import workfolder
from treadle._tools.builtin.files import files
from treadle._types.errors import ToolError

needs_links = pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs symbolic links")


class Room:
    """A work folder beside a secret, and the tools over it."""

    def __init__(self, base: Path, **options: Any) -> None:
        self.root = base / "work"
        self.outside = base / "outside"
        self.outside.mkdir()
        (self.outside / "secret.txt").write_text("top secret")
        self.tools: dict[str, Tool] = {tool.name: tool for tool in files(self.root, **options)}

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return self.tools[name].execute


@pytest.fixture(params=["handles", "checked paths"])
def room(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    """Both ways of keeping inside, also on a system that would choose the first."""
    if request.param == "checked paths":
        made = workfolder.WorkFolder.__init__.__kwdefaults__
        monkeypatch.setitem(made, "handles", False)
        monkeypatch.setattr(workfolder, "_NO_FOLLOW", getattr(os, "O_NONBLOCK", 0))  # as on a system without O_NOFOLLOW
    elif not workfolder.HAS_FOLDER_HANDLES:
        pytest.skip("this system has no folder handles")
    return Room(tmp_path)


def test_write_read_list_search(room: Room):
    answer = room.write_file(path="notes/today.txt", content="Buy milk\nCall Ada\n")
    assert isinstance(answer, ToolResponse)
    assert (answer.observation.path, answer.observation.bytes, answer.observation.created) == (
        "notes/today.txt",
        18,
        True,
    )
    assert answer.artifacts[0].content == "Buy milk\nCall Ada\n"
    assert room.write_file(path="notes/today.txt", content="Tea\n", append=True).observation.created is False
    assert room.read_file(path="notes/today.txt").text == "Buy milk\nCall Ada\nTea\n"
    assert [(entry.name, entry.kind) for entry in room.list_files().entries] == [("notes", "folder")]
    assert [(entry.name, entry.size) for entry in room.list_files(path="notes").entries] == [("today.txt", 22)]
    (match,) = room.search_files(text="ADA").matches
    assert (match.path, match.line, match.text) == ("notes/today.txt", 2, "Call Ada")
    assert [match.path for match in room.search_files(name="*.txt").matches] == ["notes/today.txt"]
    assert room.search_files(text="ada", name="*.md").matches == ()
    assert list(room.root.rglob("*.tmp")) == []


def test_effects(room: Room):
    assert {name: tool.effect for name, tool in room.tools.items()} == {
        "list_files": "pure",
        "read_file": "pure",
        "search_files": "pure",
        "write_file": "unsafe",
    }


def test_without_writing(tmp_path: Path):
    assert "write_file" not in {tool.name for tool in files(tmp_path, write=False)}


def test_long_files_come_in_parts(room: Room):
    text = "".join(f"line {n}\n" for n in range(5_000))
    room.write_file(path="long.txt", content=text)
    parts, line = [], 1
    while line:
        part = room.read_file(path="long.txt", start_line=line)
        assert len(part.text) <= 8_000
        parts.append(part.text)
        line = part.next_line
    assert "".join(parts) == text
    with pytest.raises(ToolError, match="only 5000 lines"):
        room.read_file(path="long.txt", start_line=6_000)


def test_one_endless_line_is_cut(room: Room):
    room.write_file(path="wide.txt", content="x" * 100_000)
    assert len(room.read_file(path="wide.txt").text) == 8_000


def test_binary_files_become_artifacts(room: Room):
    data = b"\x89PNG\0\1\2"
    (room.root / "cat.png").write_bytes(data)
    answer = room.read_file(path="cat.png")
    assert base64.b64decode(answer.artifacts[0].content) == data
    assert "image/png" in answer.observation


OUT = [
    "..",
    "../outside/secret.txt",
    "a/../../outside/secret.txt",
    "./../outside/secret.txt",
    "..\\outside\\secret.txt",
    "a\\..\\..\\x",
    "/etc/passwd",
    "//etc/passwd",
    "\\\\server\\share\\x",
    "\\\\?\\C:\\x",
    "C:\\Windows\\win.ini",
    "C:x",
    "c:/x",
    "file.txt:stream",
    "file:///etc/passwd",
    "a\0b",
    "a\0/../../x",
    "\0",
    "a\nb",
    "x\x7f",
    "CON",
    "con.txt",
    "a/NUL",
    "nul.tar.gz",
    "COM1",
    "lpt9.log",
    "AUX ",
    "aux .txt",
    "COM\u00b9",
    "CONIN$",
    "trailing.",
    "trailing ",
    "a/.. /b",
    "...",
    ". .",
    "x" * 300,
    "a/" * 600,
]


@pytest.mark.parametrize("path", OUT, ids=range(len(OUT)))
def test_no_way_out_by_name(room: Room, path: str):
    for attempt in (
        lambda: room.read_file(path=path),
        lambda: room.write_file(path=path, content="x"),
        lambda: room.list_files(path=path),
    ):
        with pytest.raises(ToolError) as caught:
            attempt()
        assert str(room.root) not in str(caught.value), "an error must not tell where the folder is"
    assert (room.outside / "secret.txt").read_text() == "top secret"
    assert sorted(path.name for path in room.root.parent.iterdir()) == ["outside", "work"]


@needs_links
def test_no_way_out_by_links(room: Room):
    (room.root / "file-link").symlink_to(room.outside / "secret.txt")
    (room.root / "folder-link").symlink_to(room.outside)
    (room.root / "dangling").symlink_to(room.outside / "new.txt")
    (room.root / "loop").symlink_to(room.root / "loop")
    for path in ("file-link", "folder-link/secret.txt", "dangling", "loop", "folder-link/new/deep.txt"):
        with pytest.raises(ToolError):
            room.read_file(path=path)
        with pytest.raises(ToolError):
            room.write_file(path=path, content="overwritten")
    with pytest.raises(ToolError):
        room.list_files(path="folder-link")
    assert {entry.name: entry.kind for entry in room.list_files().entries} == dict.fromkeys(
        ["dangling", "file-link", "folder-link", "loop"], "link"
    )
    assert room.search_files(text="secret").matches == ()
    assert [path.name for path in room.outside.iterdir()] == ["secret.txt"]
    assert (room.outside / "secret.txt").read_text() == "top secret"


@needs_links
def test_links_are_not_followed_inside_either(room: Room):
    room.write_file(path="real.txt", content="x")
    (room.root / "link.txt").symlink_to(room.root / "real.txt")
    with pytest.raises(ToolError, match="links are not followed"):
        room.read_file(path="link.txt")


@needs_links
@pytest.mark.parametrize("room", ["handles"], indirect=True)  # checking paths cannot hold against this
def test_a_folder_swapped_for_a_link_while_it_is_used(room: Room):
    """Another process plays tricks: the inside is read, or nothing; never the outside."""
    real, trick = room.root / "real", room.root / "here"
    real.mkdir()
    (real / "secret.txt").write_text("inside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            try:
                trick.symlink_to(room.outside)
                trick.unlink()
                real.rename(trick)
                trick.rename(real)
            except OSError:  # a write found no "here" and made it: out of the way again
                shutil.rmtree(trick, ignore_errors=True)

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[str] = set()
    try:
        for n in range(400):
            try:
                seen.add(room.read_file(path="here/secret.txt").text)
                if n % 10 == 0:
                    room.write_file(path="here/written.txt", content="x")
            except ToolError:
                seen.add("refused")
    finally:
        stop.set()
        thread.join()
    assert seen <= {"inside", "refused"}
    assert not (room.outside / "written.txt").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_do_not_hang(room: Room):
    os.mkfifo(room.root / "pipe")
    with pytest.raises(ToolError, match="refused"):
        room.read_file(path="pipe")
    with pytest.raises(ToolError, match="refused"):
        room.write_file(path="pipe", content="x")
    assert room.search_files(text="x").matches == ()


def test_what_cannot_be_done_is_told(room: Room):
    room.write_file(path="a/b.txt", content="x")
    for attempt, said in (
        (lambda: room.read_file(path="none.txt"), "there is no file or folder none.txt"),
        (lambda: room.read_file(path="a"), "is a folder"),
        (lambda: room.write_file(path="a", content="x"), "is a folder"),
        (lambda: room.read_file(path="a/b.txt/c"), "not a folder"),
        (lambda: room.write_file(path="a/b.txt/c", content="x"), "not a folder"),
        (lambda: room.list_files(path="a/b.txt"), "not a folder"),
        (lambda: room.read_file(path=""), "path of a file"),
        (lambda: room.write_file(path=".", content="x"), "path of a file"),
    ):
        with pytest.raises(ToolError, match=said):
            attempt()


def test_limits(tmp_path: Path):
    room = Room(tmp_path, max_bytes=1_000, max_entries=5)
    with pytest.raises(ToolError, match="larger than 1000 bytes"):
        room.write_file(path="big.txt", content="x" * 1_001)
    room.write_file(path="full.txt", content="x" * 1_000)
    with pytest.raises(ToolError, match="larger than 1000 bytes"):
        room.write_file(path="full.txt", content="x", append=True)
    (room.root / "huge.txt").write_bytes(b"x" * 2_000)
    with pytest.raises(ToolError, match="larger than 1000 bytes"):
        room.read_file(path="huge.txt")
    for n in range(20):
        room.write_file(path=f"n{n}.txt", content="many\n" * 10)
    assert (len(room.list_files().entries), room.list_files().more) == (5, 17)
    found = room.search_files(text="many")
    assert (len(found.matches), found.incomplete) == (5, True)


def test_a_write_keeps_the_mode_and_replaces_at_once(room: Room):
    if os.name == "nt":
        pytest.skip("modes are a Unix thing")
    script = room.root / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    room.write_file(path="run.sh", content="new")
    assert (script.read_text(), script.stat().st_mode & 0o777) == ("new", 0o750)


@needs_links
def test_a_hard_link_is_not_written_through(room: Room):
    os.link(room.outside / "secret.txt", room.root / "same.txt")
    room.write_file(path="same.txt", content="changed")
    assert (room.outside / "secret.txt").read_text() == "top secret"


def test_odd_text_survives(room: Room):
    text = "grün 你好 \U0001f422\r\nline\u2028sep"
    room.write_file(path="ünï/文.txt", content=text)
    assert (room.root / "ünï" / "文.txt").read_bytes() == text.encode()
