"""A work folder that file tools cannot leave: every way out of it is tried."""

from __future__ import annotations

import os
import shutil
import threading

import pytest

from kit import row
from tools.builtin.workspaces import Workspace
from treadle._types.errors import ToolError

needs_links = pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs symbolic links")


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


def test_no_way_out_by_name(workspace: Workspace):
    for path in OUT:
        for name, more in (("read_file", {}), ("write_file", {"content": "x"}), ("list_files", {})):
            with row(name, path):
                with pytest.raises(ToolError) as caught:
                    workspace.tools[name].execute(path=path, **more)
                assert str(workspace.root) not in str(caught.value), "an error must not tell where the folder is"
    assert (workspace.outside / "secret.txt").read_text() == "top secret"
    assert sorted(path.name for path in workspace.root.parent.iterdir()) == ["outside", "work"]


@needs_links
def test_no_way_out_by_links(workspace: Workspace):
    (workspace.root / "file-link").symlink_to(workspace.outside / "secret.txt")
    (workspace.root / "folder-link").symlink_to(workspace.outside)
    (workspace.root / "dangling").symlink_to(workspace.outside / "new.txt")
    (workspace.root / "loop").symlink_to(workspace.root / "loop")
    for path in ("file-link", "folder-link/secret.txt", "dangling", "loop", "folder-link/new/deep.txt"):
        with pytest.raises(ToolError):
            workspace.read_file(path=path)
        with pytest.raises(ToolError):
            workspace.write_file(path=path, content="overwritten")
    with pytest.raises(ToolError):
        workspace.list_files(path="folder-link")
    assert {entry.name: entry.kind for entry in workspace.list_files().entries} == dict.fromkeys(
        ["dangling", "file-link", "folder-link", "loop"], "link"
    )
    assert workspace.search_files(text="secret").matches == ()
    assert [path.name for path in workspace.outside.iterdir()] == ["secret.txt"]
    assert (workspace.outside / "secret.txt").read_text() == "top secret"


@needs_links
def test_links_are_not_followed_inside_either(workspace: Workspace):
    workspace.write_file(path="real.txt", content="x")
    (workspace.root / "link.txt").symlink_to(workspace.root / "real.txt")
    with pytest.raises(ToolError, match="links are not followed"):
        workspace.read_file(path="link.txt")


@needs_links
@pytest.mark.parametrize("workspace", ["handles"], indirect=True)  # checking paths cannot hold against this
def test_a_folder_swapped_for_a_link_while_it_is_used(workspace: Workspace):
    """Another process plays tricks: the inside is read, or nothing; never the outside."""
    real, trick = workspace.root / "real", workspace.root / "here"
    real.mkdir()
    (real / "secret.txt").write_text("inside")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            try:
                trick.symlink_to(workspace.outside)
                trick.unlink()
                real.rename(trick)
                trick.rename(real)
            except OSError:  # a write did not see "here" and created it: remove it again
                shutil.rmtree(trick, ignore_errors=True)

    thread = threading.Thread(target=swap)
    thread.start()
    seen: set[str] = set()
    try:
        for n in range(400):
            try:
                seen.add(workspace.read_file(path="here/secret.txt").text)
                if n % 10 == 0:
                    workspace.write_file(path="here/written.txt", content="x")
            except ToolError:
                seen.add("refused")
    finally:
        stop.set()
        thread.join()
    assert seen <= {"inside", "refused"}
    assert not (workspace.outside / "written.txt").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipes_and_devices_do_not_hang(workspace: Workspace):
    os.mkfifo(workspace.root / "pipe")
    with pytest.raises(ToolError, match="refused"):
        workspace.read_file(path="pipe")
    with pytest.raises(ToolError, match="refused"):
        workspace.write_file(path="pipe", content="x")
    assert workspace.search_files(text="x").matches == ()


def test_a_write_keeps_the_mode_and_replaces_at_once(workspace: Workspace):
    if os.name == "nt":
        pytest.skip("modes are a Unix thing")
    script = workspace.root / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    workspace.write_file(path="run.sh", content="new")
    assert (script.read_text(), script.stat().st_mode & 0o777) == ("new", 0o750)


@needs_links
def test_a_hard_link_is_not_written_through(workspace: Workspace):
    os.link(workspace.outside / "secret.txt", workspace.root / "same.txt")
    workspace.write_file(path="same.txt", content="changed")
    assert (workspace.outside / "secret.txt").read_text() == "top secret"
