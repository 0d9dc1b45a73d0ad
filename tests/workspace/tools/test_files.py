"""Reading, writing and changing files: exact bytes, all or nothing, never over a change nobody has seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from treadle import ToolError
from treadle._types.messages import ImagePart
from treadle._workspace.tools.bench import Bench
from treadle._workspace.tools.files import apply_patch, edit, read, write
from treadle._workspace.tools.text_file import Replacement
from workspace.machines import FolderMachine

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(FolderMachine(tmp_path))


def put(bench: Bench, name: str, data: bytes | str) -> Path:
    path = bench.machine.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def change(bench: Bench, name: str, old: str, new: str, all: bool = False) -> str:
    return edit(bench, name, [Replacement(old, new, all)])


EDITS = [
    # before, old, new, all, after (None: refused)
    (b"a\nb\nc\n", "b", "x\ny", False, b"a\nx\ny\nc\n"),
    (b"a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", False, b"x\r\ny\r\nz\r\nc\r\n"),
    (b"a\r\nb\nc\r\nd\r\n", "b\nc", "B\nC", False, b"a\r\nB\r\nC\r\nd\r\n"),
    (b"a\r\nb\nc\nd\n", "d", "x\ny", False, b"a\r\nb\nc\nx\ny\n"),
    (b"\xef\xbb\xbfcaf\xc3\xa9", "café", "thé", False, b"\xef\xbb\xbfth\xc3\xa9"),
    (b"caf\xe9 = 1\n", "café", "thé", False, b"th\xe9 = 1\n"),
    (b"caf\xe9 = 1\n", "1", "\N{EURO SIGN}", False, None),
    ("\ufeffa ä\r\n".encode("utf-16-le"), "ä", "ö", False, "\ufeffa ö\r\n".encode("utf-16-le")),
    (b"x x\n", "x", "y", False, None),
    (b"x x\n", "x", "y", True, b"y y\n"),
    (b"aaa", "aa", "b", True, b"ba"),
    (b"x\n", "", "y", False, None),
    (b"x\n", "x", "x", False, None),
    (b"\0\1\2", "x", "y", False, None),
    (b"no line end", "end", "END", False, b"no line END"),
    (b"if a:\n\tb\n", "if a:\n    b", "c", False, None),
]


def test_an_edit_changes_its_place_and_no_other_byte(bench: Bench):
    for number, (before, old, new, all_places, after) in enumerate(EDITS):
        path = put(bench, f"{number}.txt", before)
        if after is None:
            with pytest.raises(ToolError):
                change(bench, path.name, old, new, all_places)
        else:
            assert "@@" in change(bench, path.name, old, new, all_places), number
        assert path.read_bytes() == (before if after is None else after), (number, before)


def test_a_text_that_is_not_there_is_answered_with_the_one_most_like_it(bench: Bench):
    put(bench, "a.py", "def area(self):\n    return self.width\n\nx = 1\n")
    with pytest.raises(ToolError, match=r"line 1 is the most like it: def area\(self\):"):
        change(bench, "a.py", "def area(self) :", "")
    with pytest.raises(ToolError, match="only its spaces"):
        change(bench, "a.py", "def area(self):\n  return self.width", "")
    with pytest.raises(ToolError, match=r"a.py, edit 2 of 2: .*; nothing was changed"):
        edit(bench, "a.py", [Replacement("x = 1", "x = 2"), Replacement("nowhere", "")])
    assert "x = 1" in (bench.machine.root / "a.py").read_text()


def test_what_changed_since_it_was_read_is_not_changed_blindly(bench: Bench):
    path = put(bench, "a.txt", "one\n")
    assert read(bench, "a.txt", 1, 100) == "     1\tone"
    change(bench, "a.txt", "one", "two")
    assert write(bench, "a.txt", "three\n").endswith("-two\n+three"), "its own changes are known"
    path.write_text("by somebody else\n")
    for attempt in (
        lambda: change(bench, "a.txt", "somebody", "me"),
        lambda: write(bench, "a.txt", "mine"),
        lambda: apply_patch(bench, "*** Update File: a.txt\n-by somebody else\n+mine"),
        lambda: apply_patch(bench, "*** Delete File: a.txt"),
    ):
        with pytest.raises(ToolError, match="has changed since it was read: read it again"):
            attempt()
    assert path.read_text() == "by somebody else\n"
    read(bench, "a.txt", 1, 100)
    change(bench, "a.txt", "somebody else", "me")
    path.unlink()
    with pytest.raises(ToolError, match="was removed since it was read"):
        change(bench, "a.txt", "me", "you")
    put(bench, "b.txt", "not read")
    with pytest.raises(ToolError, match="was not read: read it first"):
        write(bench, "b.txt", "over it")


def test_write_keeps_encoding_line_ends_and_mode(bench: Bench):
    path = put(bench, "run.sh", b"caf\xe9\r\n")
    path.chmod(0o755)
    read(bench, "run.sh", 1, 9)
    write(bench, "run.sh", "thé\nzwei\n")
    assert path.read_bytes() == b"th\xe9\r\nzwei\r\n"
    assert path.stat().st_mode & 0o777 == 0o755
    assert write(bench, "new/deep/a.txt", "x\r\n") == "new/deep/a.txt is new: 1 lines"
    assert (bench.machine.root / "new/deep/a.txt").read_bytes() == b"x\r\n"


def test_reading_shows_lines_notebooks_and_images(bench: Bench):
    put(bench, "a.txt", "".join(f"line {n}\n" for n in range(1, 11)) + "x" * 5_000)
    assert read(bench, "a.txt", 3, 2) == "     3\tline 3\n     4\tline 4\n[lines 3 to 4 of 11]"
    assert len(read(bench, "a.txt", 1, 100)) < 2_300
    assert read(bench, str(bench.machine.root / "a.txt"), 10, 1).startswith("    10\tline 10")
    assert read(bench, put(bench, "empty", "").name, 1, 1) == "(empty is empty)"
    assert isinstance(read(bench, put(bench, "p.png", PNG).name, 1, 1), ImagePart)
    cells = [
        {"cell_type": "markdown", "source": ["# T\n", "text"]},
        {"cell_type": "code", "source": "1+1", "outputs": [{"data": {"text/plain": ["2"]}}, {"text": "said"}]},
        {"cell_type": "code", "source": "x", "outputs": [{"ename": "NameError", "evalue": "x", "traceback": []}]},
    ]
    shown = read(bench, put(bench, "n.ipynb", json.dumps({"cells": cells})).name, 1, 100)
    for piece in ("# cell 1 (markdown)", "# output of cell 2", "\t2", "\tsaid", "NameError: x"):
        assert piece in shown
    assert "broken" in read(bench, put(bench, "b.ipynb", "{broken").name, 1, 9)
    for name, lines in (("a.txt", 12), (put(bench, "b.bin", b"\0\1").name, 1), ("nothing", 1), ("", 1)):
        with pytest.raises(ToolError):
            read(bench, name, lines, 1)


def test_no_path_leaves_the_folder(bench: Bench, tmp_path_factory: pytest.TempPathFactory):
    outside = tmp_path_factory.mktemp("outside")
    (outside / "secret").write_text("secret")
    root = bench.machine.root
    (root / "link").symlink_to(outside)
    (root / "file-link").symlink_to(outside / "secret")
    for path in ("../x", "/etc/passwd", "link/secret", "file-link", str(outside / "secret"), f"{root}/../x", "a\0b"):
        for attempt in (
            lambda path=path: read(bench, path, 1, 1),
            lambda path=path: write(bench, path, "x"),
            lambda path=path: change(bench, path, "secret", "x"),
            lambda path=path: apply_patch(bench, f"*** Delete File: {path}"),
            lambda path=path: apply_patch(bench, f"*** Add File: {path}\n+x"),
        ):
            with pytest.raises(ToolError):
                attempt()
    assert [path.name for path in outside.iterdir()] == ["secret"]
    assert (outside / "secret").read_text() == "secret"


PATCHES = [
    # file before, body of the update, file after (None: refused)
    ("a\nb\nc\n", "@@\n a\n-b\n+B\n c", "a\nB\nc\n"),
    ("a\nb\nc\n", " a\n-b\n+B", "a\nB\nc\n"),
    ("a\r\nb\r\n", "-b\n+B\n+C", "a\r\nB\r\nC\r\n"),
    ("a\r\nb\nc\n", " a\n-c\n+C", None),
    ("x\nf:\n  1\ng:\n  1\n", "@@ g:\n-  1\n+  2", "x\nf:\n  1\ng:\n  2\n"),
    ("x\n1\n1\n", "-1\n+2", None),
    ("x\n1\n1\n", "-1\n+2\n*** End of File", "x\n1\n2\n"),
    ("1\n1", "-1\n+2\n*** End of File", "1\n2"),
    ("a\n", "@@\n+b", "a\nb\n"),
    ("a  \nb\n", " a\n-b\n+c", "a  \nc\n"),
    ("a\nb\n", "-a\n-x\n+c", None),
    ("a\nb\nc\nd\n", "@@\n-a\n+A\n@@\n-d\n+D", "A\nb\nc\nD\n"),
    ("a\n", "what is this", None),
    ("a\n", "@@ nowhere\n-a\n+b", None),
    ("def f():\n    return 1\n", "@@ def f():\n def f():\n-    return 1\n+    return 2", "def f():\n    return 2\n"),
    ("a\n\nb\n", "@@\n a\n\n-b\n+c", "a\n\nc\n"),
]


def test_patches_fit_by_the_lines_around_them(bench: Bench):
    for number, (before, body, after) in enumerate(PATCHES):
        path = put(bench, f"{number}.txt", before)
        text = f"*** Begin Patch\n*** Update File: {path.name}\n{body}\n*** End Patch\n"
        if after is None:
            with pytest.raises(ToolError):
                apply_patch(bench, text)
        else:
            apply_patch(bench, text)
        assert path.read_bytes().decode() == (before if after is None else after), number


def test_a_patch_over_several_files_is_done_whole_or_not_at_all(bench: Bench):
    put(bench, "a.py", "one\n")
    put(bench, "old.py", "two\nthree\n")
    put(bench, "gone.py", "x\n")
    start = "*** Begin Patch\n*** Update File: a.py\n-one\n+ONE\n*** Add File: new/b.py\n+print(1)\n+\n"
    rest = "*** Update File: old.py\n*** Move to: moved.py\n-two\n+TWO\n*** Delete File: gone.py\n"
    for wrong in ("*** Update File: none.py\n-x\n+y\n", "*** Add File: a.py\n+x\n", "*** Delete File: nothing\n"):
        with pytest.raises(ToolError):
            apply_patch(bench, f"{start}{wrong}*** End Patch")
        assert not (bench.machine.root / "new").exists()
    shown = apply_patch(bench, f"{start}{rest}*** End Patch")
    files = {str(p.relative_to(bench.machine.root)): p.read_text() for p in bench.machine.root.rglob("*.py")}
    assert files == {"a.py": "ONE\n", "new/b.py": "print(1)\n\n", "moved.py": "TWO\nthree\n"}
    assert "+ONE" in shown
    assert "gone.py is removed" in shown
    for text in ("", "no file", "*** Add File: q\nx"):
        with pytest.raises(ToolError):
            apply_patch(bench, text)
