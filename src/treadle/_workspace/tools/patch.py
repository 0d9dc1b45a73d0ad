"""Patches in the form that models write: files by name, hunks by the lines around them instead of by numbers.

*** Begin Patch
*** Update File: src/a.py
@@ def area(self):
-    return self.w
+    return self.w * self.h
*** Add File: src/b.py
+print("new")
*** Delete File: old.py
*** End Patch
"""

from __future__ import annotations

from msgspec import Struct

from treadle._types.errors import ToolError

_FORM = "write *** Update File: NAME, *** Add File: NAME or *** Delete File: NAME, then lines with a space, - or +"


class Hunk(Struct, frozen=True):
    lines: tuple[str, ...]
    """Each with its space, - or + before it."""
    below: str = ""
    """A line after which it stands."""
    at_end: bool = False

    @property
    def before(self) -> list[str]:
        """Return the lines that must stand in the file."""
        return [line[1:] for line in self.lines if not line.startswith("+")]


class FilePatch(Struct, frozen=True):
    kind: str
    """add | update | delete"""
    path: str
    hunks: tuple[Hunk, ...] = ()
    text: str = ""
    """Of a new file."""
    moved_to: str = ""


def read_patch(text: str) -> list[FilePatch]:
    """Return what a patch does to each file; one that cannot be read is an error, and nothing of it is done."""
    lines = text.strip("\n").splitlines()
    if lines and lines[0].strip() == "*** Begin Patch":
        lines = lines[1:]
    if lines and lines[-1].strip() == "*** End Patch":
        lines = lines[:-1]
    sections: list[tuple[str, str, list[str]]] = []
    for number, line in enumerate(lines, 1):
        kind, named, path = line.partition(" File: ")
        if named and kind in ("*** Add", "*** Update", "*** Delete"):
            sections.append((kind[4:].lower(), path.strip(), []))
        elif sections:
            sections[-1][2].append(line)
        elif line.strip():
            raise ToolError(f"line {number} of the patch belongs to no file: {_FORM}")
    if not sections:
        raise ToolError(f"the patch names no file: {_FORM}")
    patches = [_section(kind, path, body) for kind, path, body in sections]
    names = [patch.path for patch in patches]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ToolError(f"the patch names {twice} twice: put all of its hunks under one name")
    return patches


def _section(kind: str, path: str, body: list[str]) -> FilePatch:
    if kind == "delete":
        return FilePatch(kind, path)
    if kind == "add":
        if wrong := next((line for line in body if line and not line.startswith("+")), ""):
            raise ToolError(f"{path}: each line of a new file begins with +, not {wrong[:60]!r}")
        return FilePatch(kind, path, text="".join(f"{line[1:]}\n" for line in body))
    moved_to = ""
    if body and body[0].startswith("*** Move to: "):
        moved_to = body[0].removeprefix("*** Move to: ").strip()
        body = body[1:]
    hunks: list[Hunk] = []
    lines: list[str] = []
    below = ""

    def close(*, at_end: bool = False) -> None:
        if lines:
            hunks.append(Hunk(tuple(lines), below, at_end))
        lines.clear()

    for line in body:
        if line.startswith("@@"):
            close()
            below = line[2:].strip()
        elif line.strip() == "*** End of File":
            close(at_end=True)
        elif line[:1] in ("", " ", "-", "+"):
            lines.append(line or " ")
        else:
            raise ToolError(f"{path}: a line begins with a space, -, + or @@, not {line[:60]!r}")
    close()
    if not hunks and not moved_to:
        raise ToolError(f"{path}: nothing is changed: {_FORM}")
    return FilePatch("update", path, tuple(hunks), moved_to=moved_to)


def patched(text: str, hunks: tuple[Hunk, ...], path: str, line_end: str = "\n") -> str:
    """Return a text with the hunks done, in their order; each must fit in exactly one place, spaces at line ends
    apart. What only surrounds a change stays as the file has it."""
    lines = text.split("\n")
    at = 0
    for number, hunk in enumerate(hunks, 1):
        start = here = _place(lines, hunk, at, f"{path}, hunk {number}")
        new: list[str] = []
        for line in hunk.lines:
            if line.startswith("+"):
                new.append(line[1:] + line_end[:-1])
                continue
            if line.startswith(" "):
                new.append(lines[here])
            here += 1
        lines[start:here] = new
        at = start + len(new)
    return "\n".join(lines)


def _place(lines: list[str], hunk: Hunk, at: int, where: str) -> int:
    before = hunk.before
    if hunk.below:
        anchors = [index for index in range(at, len(lines)) if lines[index].strip() == hunk.below]
        if not anchors:
            raise ToolError(f"{where}: there is no line {hunk.below[:100]!r}")
        at = anchors[0] + (not before or before[0].strip() != hunk.below)
    if not before:
        return at if hunk.below and not hunk.at_end else len(lines) - (lines[-1] == "")
    wanted, size = [line.rstrip() for line in before], len(before)
    plain = [line.rstrip() for line in lines]
    places = [index for index in range(at, len(lines) - size + 1) if plain[index : index + size] == wanted]
    if not places:
        raise ToolError(f"{where}: these lines are not in the file: {chr(10).join(before)[:300]!r}; read it again")
    if hunk.at_end:
        return places[-1]
    if len(places) > 1 and not hunk.below:
        raise ToolError(f"{where}: its lines stand in {len(places)} places; give more lines, or @@ with one above them")
    return places[0]
