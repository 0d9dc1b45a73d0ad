"""The text of PDF files."""

from __future__ import annotations

import io
import time

from treadle._types.errors import MissingExtraError, ToolError

MAX_PAGES = 2_000
MAX_SECONDS = 60.0


def pdf_pages(data: bytes) -> list[str]:
    """The text of each page, as far as it can be read within the limits."""
    try:
        import pypdf
    except ImportError:
        raise MissingExtraError("reading PDF", "pdf") from None
    deadline = time.monotonic() + MAX_SECONDS
    pages: list[str] = []
    try:
        for page in pypdf.PdfReader(io.BytesIO(data)).pages:
            if len(pages) >= MAX_PAGES or time.monotonic() > deadline:
                break
            pages.append(page.extract_text().strip())
    except Exception as error:  # a broken file may make the library raise anything
        if not pages:
            raise ToolError(f"the PDF cannot be read: {type(error).__name__}") from None
    return pages
