"""The text of a file, for models that cannot read the file itself. A hostile one costs bounded time and memory."""

from __future__ import annotations

import subprocess
import sys

import msgspec

from treadle._models.media import Kind
from treadle._python_process import SAFE_FOLDER, module_command
from treadle._tools.builtin.reading.charset import decode_text
from treadle._tools.results import cut
from treadle._types.errors import MissingExtraError, ToolError

MAX_CHARS = 400_000
"""Of the text of one file; the middle of a longer one is left out, and the model is told."""
SECONDS = 30.0
MEMORY = 1_000_000_000


def text_of_file(kind: Kind, data: bytes, max_chars: int = MAX_CHARS) -> str:
    """The text of a PDF, of a Word, Excel or PowerPoint file, or of a text file; `ToolError` when there is none."""
    text = decode_text(data) if kind == "text" else _elsewhere(kind, data)
    if not text.strip():
        raise ToolError("there is no text in it (a scan?)")
    return cut(text, min(max_chars, MAX_CHARS))


def _elsewhere(kind: Kind, data: bytes) -> str:
    """In a process of its own: a few hundred bytes of PDF or zip can ask for gigabytes, or for hours."""
    if kind == "office" and not data.startswith(b"PK"):
        raise ToolError("it is no Word, Excel or PowerPoint file of today's format (docx, xlsx, pptx)")
    try:
        done = subprocess.run(
            module_command("treadle._tools.media.file_worker"),
            input=data, capture_output=True, timeout=SECONDS, cwd=SAFE_FOLDER, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ToolError(f"reading the file took more than {SECONDS:g} s") from None
    if done.returncode == 3:
        raise MissingExtraError("reading PDF", "pdf")
    if done.returncode:
        lines = done.stderr.decode(sys.getdefaultencoding(), "replace").strip().splitlines()
        why = lines[-1] if lines else "the file cannot be read"
        raise ToolError(why if done.returncode == 4 else "the file asks for too much memory")
    return msgspec.json.decode(done.stdout, type=str)
