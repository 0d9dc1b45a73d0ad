"""Trees: whatever a folder holds is restored exactly, nothing outside is touched, and what is not kept is named."""

from __future__ import annotations

import mmap
import os
import random
import socket
from hashlib import sha256
from pathlib import Path

import msgspec
import pytest

from treadle._types.errors import TreeError
from treadle._workspace.differences import summary, unified
from treadle._workspace.objects import EMPTY, Entry, Objects, encoded
from treadle._workspace.restore import restore
from treadle._workspace.snapshot import Rules, Tracked


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    return Objects(tmp_path / "store")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def fingerprint(folder: Path) -> str:
    """What is in a folder, worked out by other means than the store's."""
    lines: list[str] = []
    for path in sorted(folder.rglob("*")):
        found = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else "folder"
        mode = 0 if path.is_symlink() else found.st_mode
        lines.append(f"{os.fsencode(path.relative_to(folder))!r} {mode:o} {content!r}")
    return sha256("\n".join(lines).encode()).hexdigest()


NAMES = ("a", "b.py", "c d", "é", "-x", "x\ny", os.fsdecode(b"\xff\xfe"), ".hidden", "*", "deep")


def disturb(folder: Path, chance: random.Random, depth: int = 0) -> None:
    """Change anything in a folder at random."""
    for name in chance.sample(NAMES, 3):
        path = folder / name
        if path.is_symlink() or path.is_file():
            if chance.random() < 0.5:
                path.unlink()
            elif not path.is_symlink():
                path.chmod(0o600)
                path.write_bytes(chance.randbytes(chance.choice((0, 3, 70_000))))
                path.chmod(chance.choice((0o600, 0o644, 0o755, 0o444, 0o4755)))
        elif path.is_dir():
            disturb(path, chance, depth + 1)
            if not any(path.iterdir()) and chance.random() < 0.5:
                path.rmdir()
            else:
                path.chmod(chance.choice((0o700, 0o755, 0o1777)))
        else:
            match chance.randrange(4):
                case 0 if depth < 3:
                    path.mkdir()
                    disturb(path, chance, depth + 1)
                case 1:
                    path.symlink_to(chance.choice(("a", "/etc/passwd", "../..", "nowhere")))
                case _:
                    path.write_bytes(chance.randbytes(chance.choice((0, 3, 70_000))))


def test_random_states_are_restored_exactly(objects: Objects, root: Path, tmp_path: Path):
    chance = random.Random(46)
    tracked, other = Tracked(root, objects), Tracked(tmp_path / "other", objects)
    states: list[tuple[bytes, str]] = []
    for _ in range(15):
        disturb(root, chance)
        tree = tracked.save().tree
        assert tree == Tracked(root, objects).save().tree, "what was known of it does not change what it is"
        states.append((tree, fingerprint(root)))
    for tree, expected in chance.sample(states, len(states)):
        assert restore(tracked, tree).tree == tree
        assert fingerprint(root) == expected
        assert restore(other, tree).tree == tree
        assert fingerprint(other.root) == expected
        assert Tracked(root, objects).save().tree == tree


def test_a_change_without_a_trace_in_size_and_times_is_seen(objects: Objects, root: Path):
    tracked, file = Tracked(root, objects), root / "a"
    for number in range(5):  # within one step of the clock
        file.write_bytes(b"%d" % number)
        assert objects.get(objects.entries(tracked.save().tree)[0].ref) == b"%d" % number
    before = file.stat()
    file.write_bytes(b"9")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert objects.get(objects.entries(tracked.save().tree)[0].ref) == b"9"
    tracked.cached.unsure.clear()  # as if it had lain there for long
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 1) as mapped:
        mapped[:] = b"7"
        assert objects.get(objects.entries(tracked.save({file.stat().st_ino}).tree)[0].ref) == b"7"


def test_what_did_not_change_is_not_read_again(objects: Objects, root: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("treadle._workspace.snapshot.RACY", -(10**12))
    for number in range(20):
        (root / f"{number}").write_bytes(b"x" * 100)
    tracked = Tracked(root, objects)
    assert [tracked.save().read, tracked.save().read] == [2000, 0]
    (root / "3").write_bytes(b"y")
    assert tracked.save().read == 1


def test_what_is_skipped_is_named_and_left_where_it_is(objects: Objects, root: Path):
    (root / "venv").mkdir()
    (root / "venv" / "pyvenv.cfg").write_text("home = /usr")
    (root / "lib" / "venv").mkdir(parents=True)
    (root / "lib" / "venv" / "code.py").write_text("kept: the name alone says nothing")
    (root / "web" / "node_modules" / "left-pad").mkdir(parents=True)
    (root / "big").write_bytes(b"x" * 2000)
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(root / "socket"))
    tracked = Tracked(root, objects, Rules(max_file=1000))
    first = tracked.save()
    assert sorted(first.skipped) == [
        "big (0 MB)", "pipe (not a file)", "socket (not a file)", "venv/ (environment)",
        "web/node_modules/ (installed packages)",
    ]  # fmt: skip
    (root / "lib" / "venv" / "code.py").unlink()
    assert restore(tracked, first.tree).tree == first.tree
    assert (root / "lib" / "venv" / "code.py").exists()
    assert (root / "venv" / "pyvenv.cfg").exists()
    (root / "lib" / "pyvenv.cfg").write_text("")  # a folder that is kept does not disappear behind a mark
    assert len(tracked.save().skipped) == 5


def test_a_skipped_thing_gives_way_to_what_is_restored(objects: Objects, root: Path):
    tracked = Tracked(root, objects)
    (root / "src").mkdir()
    (root / "src" / "a.py").write_text("1")
    tree = tracked.save().tree
    (root / "src" / "CACHEDIR.TAG").write_text("")
    fresh = Tracked(root, objects)
    assert fresh.save().tree != tree
    assert restore(fresh, tree).tree == tree


def test_compiled_files_of_other_sources_are_not_left(objects: Objects, root: Path):
    tracked = Tracked(root, objects)
    (root / "a.py").write_text("x = 1")
    tree = tracked.save().tree
    (root / "a.py").write_text("x = 2")
    (root / "__pycache__").mkdir()
    (root / "__pycache__" / "a.cpython-311.pyc").write_bytes(b"2")
    assert restore(tracked, tree).tree == tree
    assert not (root / "__pycache__").exists()


def test_links_lead_nowhere_when_a_tree_is_stored_or_restored(objects: Objects, root: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    tracked = Tracked(root, objects)
    (root / "sub").mkdir()
    (root / "sub" / "precious").write_text("theirs")
    tree = tracked.save().tree
    for path in (root / "sub" / "precious", root / "sub"):
        path.unlink() if path.is_file() else path.rmdir()
    (root / "sub").symlink_to(outside)
    assert all(entry.kind == "l" for entry in objects.entries(tracked.save().tree))
    assert restore(tracked, tree).tree == tree
    (root / "sub" / "precious").unlink()
    (root / "sub" / "precious").symlink_to(outside / "precious")
    assert restore(tracked, tree).tree == tree
    assert (outside / "precious").read_text() == "mine"


@pytest.mark.parametrize("name", [b"", b".", b"..", b"../x", b"a/b", b"a\0b"])
def test_hostile_trees_are_refused(objects: Objects, root: Path, name: bytes):
    id, data = encoded([Entry(name, "f", 0o644, bytes(32))])
    objects.put({id: data, b"i" * 32: b"no tree", b"k" * 32: msgspec.msgpack.encode([[b"a", "x", 1, b"1"]])})
    for tree in (id, b"i" * 32, b"k" * 32, b"absent" * 5 + b"xx"):
        with pytest.raises(TreeError):
            restore(Tracked(root, objects), tree)
    assert not any(root.iterdir())


def test_bounds(objects: Objects, root: Path):
    for number in range(5):
        (root / f"{number}").write_bytes(b"x" * 100)
    for rules in (Rules(max_files=4), Rules(max_bytes=400)):
        with pytest.raises(TreeError, match="more than"):
            Tracked(root, objects, rules).save()
    deep = root
    for _ in range(220):
        deep /= "d"
        deep.mkdir()
    with pytest.raises(TreeError, match="deep"):
        Tracked(root, objects).save()


def test_trees_go_with_the_last_run_that_needs_them(objects: Objects, root: Path):
    tracked = Tracked(root, objects)
    (root / "a").write_text("first")
    first = tracked.save().tree
    objects.note("one", first, "start", "talk")
    (root / "a").write_text("second")
    second = tracked.save().tree
    objects.note("two", second, "after", "talk")
    objects.share("one", "fork")
    assert (objects.first_of("one"), objects.last_of("two"), objects.last_in("talk")) == (first, second, second)
    assert objects.forget(["one"]) == 0
    assert objects.forget(["two"]) == 2
    assert (objects.has(first), objects.has(second)) == (True, False)
    assert objects.forget(["fork"]) == 2
    assert objects.runs() == []


def test_differences(objects: Objects, root: Path):
    tracked = Tracked(root, objects)
    (root / "sub").mkdir()
    (root / "sub" / "a.txt").write_text("one\ntwo\n")
    (root / "gone").write_bytes(b"\0")
    old = tracked.save().tree
    (root / "sub" / "a.txt").write_text("one\n2")
    (root / "gone").unlink()
    (root / "new\n\x1b[31m").write_text("")
    (root / "empty").mkdir()
    new = tracked.save().tree
    found = summary(objects, old, new)
    assert (found.added, found.changed, found.removed) == (2, 1, 1)
    assert found.paths == ("A empty/", "D gone", "A new\\n\\x1b[31m", "M sub/a.txt")
    text = unified(objects, old, new)
    assert "-two\n+2\n\\ no new line at the end\n" in text
    assert "not compared" in text
    assert "\x1b" not in text
    assert unified(objects, old, old) == ""
    assert "goes on" in unified(objects, EMPTY, new, most=10)
