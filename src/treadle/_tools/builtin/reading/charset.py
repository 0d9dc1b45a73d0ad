"""Bytes of unknown encoding as text."""

from __future__ import annotations

import codecs
import re

_REFUSED_CODECS = frozenset(
    {"idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "utf_7", "utf-7", "mbcs", "oem"}
)
_META_CHARSET = re.compile(
    rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([a-zA-Z0-9_:.-]{1,40})|<\?xml[^>]{0,100}?encoding=["']([\w.-]{1,40})""",
    re.I,
)


def decode_text(body: bytes, content_type: str = "") -> str:
    """Decodes by the byte order mark, else the header's charset, else the one the document declares, else UTF-8."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8-sig"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if body.startswith(mark):
            return body.decode(encoding, "replace")
    declared = re.search(r"charset=[\"']?([\w.:-]{1,40})", content_type, re.I)
    inside = _META_CHARSET.search(body[:2048])
    candidates = [declared[1] if declared else "", (inside[1] or inside[2]).decode("ascii") if inside else ""]
    for name in candidates:
        try:
            if name and codecs.lookup(name).name not in _REFUSED_CODECS:
                return body.decode(name, "replace")
        except (LookupError, ValueError):
            continue
    return body.decode("utf-8", "replace")
