"""The file tools: list, read, write, search, and their limits."""

from __future__ import annotations

import base64
import os
import sys
from pathlib import Path

import pytest

from tools.builtin.workspaces import Workspace
from treadle._tools.base import ToolResponse
from treadle._tools.builtin.files import files
from treadle._types.errors import ToolError


def test_write_read_list_search(workspace: Workspace):
    answer = workspace.write_file(path="notes/today.txt", content="Buy milk\nCall Ada\n")
    assert isinstance(answer, ToolResponse)
    assert (answer.observation.path, answer.observation.bytes, answer.observation.created) == (
        "notes/today.txt",
        18,
        True,
    )
    assert answer.artifacts[0].content == "Buy milk\nCall Ada\n"
    assert workspace.write_file(path="notes/today.txt", content="Tea\n", append=True).observation.created is False
    assert workspace.read_file(path="notes/today.txt").text == "Buy milk\nCall Ada\nTea\n"
    assert [(entry.name, entry.kind) for entry in workspace.list_files().entries] == [("notes", "folder")]
    assert [(entry.name, entry.size) for entry in workspace.list_files(path="notes").entries] == [("today.txt", 22)]
    (match,) = workspace.search_files(text="ADA").matches
    assert (match.path, match.line, match.text) == ("notes/today.txt", 2, "Call Ada")
    assert [match.path for match in workspace.search_files(name="*.txt").matches] == ["notes/today.txt"]
    assert workspace.search_files(text="ada", name="*.md").matches == ()
    assert list(workspace.root.rglob("*.tmp")) == []


def test_effects(workspace: Workspace):
    assert {name: tool.effect for name, tool in workspace.tools.items()} == {
        "list_files": "pure",
        "read_file": "pure",
        "search_files": "pure",
        "write_file": "unsafe",
    }


def test_without_writing(tmp_path: Path):
    assert "write_file" not in {tool.name for tool in files(tmp_path, write=False)}


def test_long_files_come_in_parts(workspace: Workspace):
    text = "".join(f"line {n}\n" for n in range(5_000))
    workspace.write_file(path="long.txt", content=text)
    parts, line = [], 1
    while line:
        part = workspace.read_file(path="long.txt", start_line=line)
        assert len(part.text) <= 8_000
        parts.append(part.text)
        line = part.next_line
    assert "".join(parts) == text
    with pytest.raises(ToolError, match="only 5000 lines"):
        workspace.read_file(path="long.txt", start_line=6_000)


def test_one_endless_line_is_cut(workspace: Workspace):
    workspace.write_file(path="wide.txt", content="x" * 100_000)
    assert len(workspace.read_file(path="wide.txt").text) == 8_000


def test_binary_files_become_artifacts(workspace: Workspace):
    data = b"\x89PNG\0\1\2"
    (workspace.root / "cat.png").write_bytes(data)
    answer = workspace.read_file(path="cat.png")
    assert base64.b64decode(answer.artifacts[0].content) == data
    assert "image/png" in answer.observation


def test_what_cannot_be_done_is_reported(workspace: Workspace):
    workspace.write_file(path="a/b.txt", content="x")
    for attempt, message in (
        (lambda: workspace.read_file(path="none.txt"), "there is no file or folder none.txt"),
        (lambda: workspace.read_file(path="a"), "is a folder"),
        (lambda: workspace.write_file(path="a", content="x"), "is a folder"),
        (lambda: workspace.read_file(path="a/b.txt/c"), "not a folder"),
        (lambda: workspace.write_file(path="a/b.txt/c", content="x"), "not a folder"),
        (lambda: workspace.list_files(path="a/b.txt"), "not a folder"),
        (lambda: workspace.read_file(path=""), "path of a file"),
        (lambda: workspace.write_file(path=".", content="x"), "path of a file"),
    ):
        with pytest.raises(ToolError, match=message):
            attempt()


def test_limits(tmp_path: Path):
    workspace = Workspace(tmp_path, max_bytes=1_000, max_entries=5)
    with pytest.raises(ToolError, match="larger than 1000 bytes"):
        workspace.write_file(path="big.txt", content="x" * 1_001)
    workspace.write_file(path="full.txt", content="x" * 1_000)
    with pytest.raises(ToolError, match="larger than 1000 bytes"):
        workspace.write_file(path="full.txt", content="x", append=True)
    (workspace.root / "huge.txt").write_bytes(b"x" * 2_000)
    with pytest.raises(ToolError, match="larger than 1000 bytes"):
        workspace.read_file(path="huge.txt")
    for n in range(20):
        workspace.write_file(path=f"n{n}.txt", content="many\n" * 10)
    assert (len(workspace.list_files().entries), workspace.list_files().more) == (5, 17)
    result = workspace.search_files(text="many")
    assert (len(result.matches), result.incomplete) == (5, True)


def test_odd_text_survives(workspace: Workspace):
    text = "grün 你好 \U0001f422\r\nline\u2028sep"
    workspace.write_file(path="ünï/文.txt", content=text)
    assert (workspace.root / "ünï" / "文.txt").read_bytes() == text.encode()


def test_hidden_files_can_be_left_out(tmp_path: Path):
    (tmp_path / ".env").write_text("KEY=secret")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id").write_text("secret")
    (tmp_path / "notes.txt").write_text("no secret here")
    tools = {tool.name: tool for tool in files(tmp_path, hidden=False)}
    assert [entry.name for entry in tools["list_files"].execute().entries] == ["notes.txt"]
    assert [match.path for match in tools["search_files"].execute(text="secret").matches] == ["notes.txt"]
    for name in (".env", ".ssh/id", "notes/../.env", "./.env"):
        with pytest.raises(ToolError):
            tools["read_file"].execute(name)
    with pytest.raises(ToolError, match="is hidden"):
        tools["write_file"].execute(".env", "x")
    assert ".env" in [entry.name for entry in {t.name: t for t in files(tmp_path)}["list_files"].execute().entries]


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are text there")
def test_a_name_that_is_no_text_is_shown_with_its_bytes(tmp_path: Path):
    (tmp_path / os.fsdecode(b"caf\xe9.txt")).write_text("x")
    made = {tool.name: tool for tool in files(tmp_path)}
    assert [entry.name for entry in made["list_files"]().entries] == ["caf\\xe9.txt"]
    assert made["search_files"](name="*.txt").matches[0].path == "caf\\xe9.txt"
