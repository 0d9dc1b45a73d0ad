"""Reads a PDF from its input and writes its text, as JSON. `reading.py` runs it in a process of its own."""

from __future__ import annotations

import sys

import msgspec

from treadle._tools.builtin.reading.pdf import pdf_pages
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
        pages = pdf_pages(sys.stdin.buffer.read())
    except MissingExtraError:
        return NO_LIBRARY
    except ToolError as error:
        sys.stderr.write(f"{error}\n")
        return UNREADABLE
    sys.stdout.buffer.write(msgspec.json.encode("\n\n".join(pages)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
