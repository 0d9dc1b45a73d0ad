"""The readable content of an HTML page: title, main text, links; without scripts, menus and hidden parts."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from html.parser import HTMLParser
from urllib.parse import urljoin

from msgspec import Struct

MAX_HTML = 1_000_000
"""The parser is linear, but slow on a million broken tags; longer pages are cut here."""
MAX_PIECES = 100_000
MAX_DEPTH = 2_000

_HIDDEN, _NOISE, _BODY, _MAIN = -1, 0, 1, 2
_HIDDEN_TAGS = "script style noscript template svg math iframe object canvas head select textarea"
_NOISE_TAGS = "nav footer aside header button dialog menu"
_ZONES = {
    **dict.fromkeys(_HIDDEN_TAGS.split(), _HIDDEN),
    **dict.fromkeys(_NOISE_TAGS.split(), _NOISE),
    **dict.fromkeys(("main", "article"), _MAIN),
}
_VOID = frozenset(
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"]
)
_SELF_CLOSING = frozenset(["p", "li", "dt", "dd", "tr", "td", "th", "option", "thead", "tbody", "tfoot", "colgroup"])
_PARAGRAPH_TAGS = (
    "p div section main article header footer aside nav ul ol dl dt dd table tr blockquote pre figure form fieldset"
)
_PARAGRAPHS = frozenset(_PARAGRAPH_TAGS.split())
_WHITESPACE = re.compile(r"\s+")
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}


class Link(Struct, frozen=True):
    text: str
    url: str


class Readable(Struct, frozen=True):
    title: str
    text: str
    links: tuple[Link, ...] = ()


def read_html(html: str, base_url: str = "", *, max_links: int = 30) -> Readable:
    """The readable part of an HTML document; never raises on broken markup."""
    reader = _Reader(base_url)
    with suppress(AssertionError, _Enough):  # the standard parser asserts on some malformed declarations
        reader.feed(html[:MAX_HTML])
    reader.flush_link()
    return reader.result(max_links)


class _Enough(Exception):
    """The page has more than MAX_PIECES pieces of text."""


class _Reader(HTMLParser):
    def __init__(self, base_url: str) -> None:
        super().__init__(convert_charrefs=True)
        self._base = base_url
        self._open: list[tuple[str, int]] = []
        self._counts: Counter[str] = Counter()
        self._pieces: list[tuple[int, str]] = []
        self._links: list[tuple[int, str, str]] = []
        self._title: list[str] = []
        self._in_title = False
        self._pre = 0
        self._href = ""
        self._anchor: list[str] = []

    @property
    def _zone(self) -> int:
        return self._open[-1][1] if self._open else _BODY

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "title":
            self._in_title = not self._title
        if tag == "body":  # ends a head that was never closed
            self._open.clear()
            self._counts.clear()
        if tag not in _VOID and tag not in _SELF_CLOSING and len(self._open) < MAX_DEPTH:
            self._open.append((tag, self._zone_of(tag, dict(attrs))))
            self._counts[tag] += 1
        self._pre += tag == "pre"
        if tag in _HEADINGS:
            self._put("\n\n" + _HEADINGS[tag])
        elif tag == "li":
            self._put("\n- ")
        elif tag in ("td", "th"):
            self._put(" | ")
        elif tag == "br":
            self._put("\n")
        elif tag in _PARAGRAPHS:
            self._put("\n\n")
        elif tag == "a":
            self.flush_link()
            self._href = dict(attrs).get("href") or ""

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "br":
            self._put("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "title":
            self._in_title = False
        if tag == "a":
            self.flush_link()
        if tag == "pre" and self._pre:
            self._pre -= 1
        if tag in _HEADINGS or tag in _PARAGRAPHS:
            self._put("\n\n")
        if self._counts[tag]:
            while self._open:
                name, _ = self._open.pop()
                self._counts[name] -= 1
                if name == tag:
                    break

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self._title.append(data)
            return
        text = data if self._pre else _WHITESPACE.sub(" ", data)
        self._put(text)
        if self._href:
            self._anchor.append(text)

    def flush_link(self) -> None:
        """Ends an open link: at its end tag, at the next link, or at the end of the page."""
        text = " ".join("".join(self._anchor).split())
        if self._href and text and self._zone > _HIDDEN:
            self._links.append((self._zone, text[:100], self._href))
        self._href, self._anchor = "", []

    def result(self, max_links: int) -> Readable:
        zone = self._best_zone()
        title = " ".join("".join(self._title).split())
        links: dict[str, Link] = {}
        for link_zone, text, href in self._links:
            if link_zone < zone or len(links) >= max_links:
                continue
            try:
                url = urljoin(self._base, href.strip())
            except ValueError:
                continue
            if url.startswith(("http://", "https://")) and url.partition("#")[0] != self._base.partition("#")[0]:
                links.setdefault(url, Link(text, url))
        return Readable(title[:300], self._text(zone), tuple(links.values()))

    def _zone_of(self, tag: str, attrs: dict[str, str | None]) -> int:
        inherited = self._zone
        own = _ZONES.get(tag, inherited)
        style = (attrs.get("style") or "").replace(" ", "").lower()
        if (
            inherited == _HIDDEN
            or own == _HIDDEN
            or "hidden" in attrs
            or attrs.get("aria-hidden") == "true"
            or "display:none" in style
        ):
            return _HIDDEN
        if tag == "header" and inherited == _MAIN:
            return _MAIN  # an article's own heading, not the site's
        return own

    def _best_zone(self) -> int:
        """The smallest part of the page with a fair share of its text."""
        sizes = {
            zone: sum(len(text) for piece_zone, text in self._pieces if piece_zone >= zone and not text.isspace())
            for zone in (_NOISE, _BODY, _MAIN)
        }
        if sizes[_MAIN] >= 200 or sizes[_MAIN] * 2 >= sizes[_BODY] > 0:
            return _MAIN
        return _BODY if sizes[_BODY] * 5 >= sizes[_NOISE] else _NOISE

    def _text(self, zone: int) -> str:
        joined = "".join(text for piece_zone, text in self._pieces if piece_zone >= zone)
        lines = [line.strip(" \t") if not line.startswith("    ") else line.rstrip() for line in joined.splitlines()]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()

    def _put(self, text: str) -> None:
        zone = self._zone
        if zone > _HIDDEN:
            self._pieces.append((zone, text))
            if len(self._pieces) > MAX_PIECES:
                raise _Enough
