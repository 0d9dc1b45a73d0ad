"""Reads a PDF or an office file from its input and writes its text, as JSON. `reading.py` runs it in a process of its
own."""

from __future__ import annotations

import sys

import msgspec

from treadle._tools.builtin.reading.pdf import pdf_pages
from treadle._tools.media.office import office_text
from treadle._tools.media.reading import MEMORY, SECONDS
from treadle._types.errors import MissingExtraError, ToolError

NO_LIBRARY, UNREADABLE = 3, 4


def _limit() -> None:
    """Limits of the system, where it has them; elsewhere only the time is limited, by whoever started this."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS) + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main() -> int:
    _limit()
    try:
        data = sys.stdin.buffer.read()
        text = office_text(data) if data.startswith(b"PK") else "\n\n".join(pdf_pages(data))
    except MissingExtraError:
        return NO_LIBRARY
    except ToolError as error:
        sys.stderr.write(f"{error}\n")
        return UNREADABLE
    sys.stdout.buffer.write(msgspec.json.encode(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
