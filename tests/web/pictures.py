"""Reviewed pictures of the page: they are made in few colours, and compared with what the page looks like now."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

from .conftest import IMAGES, ROOT

REVIEWED = IMAGES / "page"
LEFT = ROOT / ".cache" / "pictures"
COMPARE = (Path(__file__).parent / "compare.js").read_text("utf-8")
SENSITIVITY = 0.02
"""Of pixelmatch: colours that differ less are the same. A panel that loses its ground in the dark differs more."""
MOST = 0.0005
"""The share of a picture that may differ: a newer Chromium draws some curves differently."""


class Pictures:
    """`blank` is a page with pixelmatch in it. With `review` those are made anew that differ."""

    def __init__(self, blank: Any, *, review: bool, reviewed: Path = REVIEWED, left: Path = LEFT) -> None:
        self.blank, self.review, self._reviewed, self._left = blank, review, reviewed, left
        self.faults: list[str] = []

    def look(self, page: Any, name: str) -> None:
        """Compare what is shown with its reviewed picture."""
        taken = base64.b64encode(page.screenshot(animations="disabled", caret="hide", scale="css")).decode()
        kept = self._reviewed / f"{name}.png"
        if not kept.is_file() and not self.review:
            self.faults.append(f"{name}: nobody has reviewed it: python3 tasks.py pictures --review")
            return
        if kept.is_file():
            before = base64.b64encode(kept.read_bytes()).decode()
            found = self.blank.evaluate(COMPARE, [taken, before, SENSITIVITY])
            if found["share"] <= MOST:
                return
            if not self.review:
                self._leave(name, reviewed=before, now=taken, difference=found.get("difference", ""))
                self.faults.append(f"{name}: {found['share']:.2%} of it differs, see {self._left}")
                return
        kept.parent.mkdir(exist_ok=True)
        kept.write_bytes(png(**self.blank.evaluate(COMPARE, [taken, "", 0])))

    def _leave(self, name: str, **pictures: str) -> None:
        self._left.mkdir(parents=True, exist_ok=True)
        for what, picture in pictures.items():
            (self._left / f"{name}.{what}.png").write_bytes(base64.b64decode(picture))


def png(width: int, height: int, palette: list[int], indices: str) -> bytes:
    """A picture by the places of its colours in a palette."""
    rows = base64.b64decode(indices)
    lines = b"".join(b"\0" + rows[at : at + width] for at in range(0, width * height, width))
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = {b"IHDR": head, b"PLTE": bytes(palette), b"IDAT": zlib.compress(lines, 9), b"IEND": b""}
    chunks = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts.items()
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
