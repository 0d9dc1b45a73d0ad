"""Read, write and change the files of a workspace."""

from __future__ import annotations

from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta, Struct

from treadle._tools.media.attach import attach
from treadle._types.errors import ToolError
from treadle._types.messages import ImagePart
from treadle._workspace.tools.bench import Bench
from treadle._workspace.tools.patch import FilePatch, patched, read_patch
from treadle._workspace.tools.text_file import Replacement, TextFile, difference, read_text

PathText = Annotated[str, Meta(max_length=1_000, description="Path in the workspace, like src/main.py")]
Line = Annotated[int, Meta(ge=1, description="First line to read")]
Lines = Annotated[int, Meta(ge=1, le=5_000, description="How many lines to read")]
Content = Annotated[str, Meta(description="The whole text of the file")]
Old = Annotated[str, Meta(description="The text to replace, exactly as it stands in the file, without line numbers")]
New = Annotated[str, Meta(description="The text to put there")]
All = Annotated[bool, Meta(description="Replace every occurrence; otherwise there must be exactly one")]
Edits = Annotated[
    list[Replacement], Meta(max_length=100, description="Several replacements in order, instead of old and new")
]
PatchText = Annotated[
    str,
    Meta(
        description="*** Begin Patch, then for each file *** Update File: NAME (or Add, Delete) and its hunks: "
        "@@ with a line above it, then lines that begin with a space, - or +; then *** End Patch"
    ),
]
_LONGEST_LINE = 2_000
_CELL_OUTPUT = 2_000


def read(bench: Bench, path: str, start_line: int, lines: int) -> Any:
    """Return the lines of a file with their numbers; an image as an image, a notebook as its cells."""
    parts = bench.parts(path)
    data = bench.read(parts)
    name = "/".join(parts)
    if name.endswith(".ipynb"):
        text = notebook_text(data)
    elif (file := read_text(data)) is not None:
        text = file.shown
    else:
        part = attach(data, name=parts[-1])
        if isinstance(part, ImagePart):
            return part
        raise ToolError(f"{name} is not a text file ({part.mime}, {len(data)} bytes)")
    every = text.splitlines()
    if not every:
        return f"({name} is empty)"
    if start_line > len(every):
        raise ToolError(f"{name} has only {len(every)} lines")
    end = min(start_line - 1 + lines, len(every))
    numbered = (f"{number:>6}\t{_clipped(every[number - 1])}" for number in range(start_line, end + 1))
    more = f"\n[lines {start_line} to {end} of {len(every)}]" if end < len(every) or start_line > 1 else ""
    return "\n".join(numbered) + more


def _clipped(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]} [... {len(line)} characters]"


class _Notebook(Struct, frozen=True):
    cells: list[dict[str, Any]]


def notebook_text(data: bytes) -> str:
    """Return the cells of a notebook with their texts and what they have printed."""
    try:
        cells = msgspec.json.decode(data, type=_Notebook).cells
    except (msgspec.DecodeError, msgspec.ValidationError):
        return data.decode("utf-8", "replace")
    pieces: list[str] = []
    for number, cell in enumerate(cells, 1):
        pieces.append(f"# cell {number} ({cell.get('cell_type', 'unknown')})\n{_joined(cell.get('source'))}")
        outputs: Any = cell.get("outputs")
        shown = map(_cell_output, cast("list[Any]", outputs) if isinstance(outputs, list) else [])
        pieces.extend(f"# output of cell {number}\n{text[:_CELL_OUTPUT]}" for text in shown if text)
    return "\n\n".join(pieces)


def _cell_output(value: Any) -> str:
    output: dict[str, Any] = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    data: Any = output.get("data")
    plain = cast("dict[str, Any]", data).get("text/plain") if isinstance(data, dict) else None
    error = f"{output.get('ename')}: {output.get('evalue')}" if "ename" in output else ""
    return _joined(output.get("text") or plain) or error


def _joined(value: Any) -> str:
    return "".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else str(value or "")


def write(bench: Bench, path: str, content: str) -> str:
    """Write a whole file; one that is there keeps its encoding and line ends."""
    parts = bench.parts(path)
    name = "/".join(parts)
    data = bench.before_change(parts, must_be_known=True)
    before = read_text(data) if data is not None else TextFile("")
    if before is None:
        raise ToolError(f"{name} is not a text file: remove it first")
    text = before.with_line_ends(content) if data else content
    bench.write(parts, before.encoded(text))
    if data is None:
        return f"{name} is new: {len(content.splitlines())} lines"
    return difference(before.text, text, name) or f"{name} is as it was"


def edit(bench: Bench, path: str, changes: list[Replacement]) -> str:
    """Make all changes of a file, or none."""
    parts = bench.parts(path)
    name = "/".join(parts)
    before = _text_of(bench, path)
    after = before
    for number, change in enumerate(changes, 1):
        try:
            after = after.replaced(change)
        except ToolError as error:
            which = f"{name}, edit {number} of {len(changes)}" if len(changes) > 1 else name
            raise ToolError(f"{which}: {error}; nothing was changed") from None
    bench.write(parts, after.encoded(after.text))
    return difference(before.text, after.text, name)


def _text_of(bench: Bench, path: str) -> TextFile:
    parts = bench.parts(path)
    data = bench.before_change(parts)
    if data is None:
        raise ToolError(f"there is no file {'/'.join(parts)}: write makes a new one")
    if (file := read_text(data)) is None:
        raise ToolError(f"{'/'.join(parts)} is not a text file")
    return file


def apply_patch(bench: Bench, text: str) -> str:
    """Do a patch over several files: all of it is checked before the first file is written."""
    steps = [_prepared(bench, patch) for patch in read_patch(text)]
    shown: list[str] = []
    for patch, data, difference_text in steps:
        target = bench.parts(patch.moved_to or patch.path)
        if data is not None:
            bench.write(target, data)
        if patch.kind == "delete" or patch.moved_to:
            bench.remove(bench.parts(patch.path))
        shown.append(difference_text)
    return "\n".join(shown)


def _prepared(bench: Bench, patch: FilePatch) -> tuple[FilePatch, bytes | None, str]:
    """Return a part of a patch with the bytes to write and what is shown of it."""
    parts = bench.parts(patch.path)
    name = "/".join(parts)
    if patch.kind == "add":
        if bench.before_change(parts) is not None:
            raise ToolError(f"{name} is there already: use *** Update File; nothing was changed")
        return patch, patch.text.encode("utf-8", "surrogatepass"), f"{name} is new"
    before = _text_of(bench, patch.path)
    if patch.kind == "delete":
        return patch, None, f"{name} is removed"
    if patch.moved_to and bench.before_change(bench.parts(patch.moved_to)) is not None:
        raise ToolError(f"{patch.moved_to} is there already; nothing was changed")
    try:
        after = patched(before.text, patch.hunks, name, before.line_end)
    except ToolError as error:
        raise ToolError(f"{error}; nothing was changed") from None
    return patch, before.encoded(after), difference(before.text, after, patch.moved_to or name)
