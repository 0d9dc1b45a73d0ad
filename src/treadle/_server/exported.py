"""Runs as one file of HTML that needs nothing else: the page's own script and style, with the items and the log in it.

What models and tools wrote is data: JSON without any `<`, which the script draws as the page does. The file's content
policy lets only that script run, and lets nothing be loaded.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files

import msgspec

from treadle._types.events import Record
from treadle._view.fold import RunView
from treadle._view.items import Item

_NOT_BUILT = "The page has not been built (python3 tasks.py page): these are the questions and answers only."
_BUILT = "static/exported"
_LONGEST_TITLE = 120


class _Run(msgspec.Struct):
    run: str
    items: list[Item]
    records: Sequence[Record]


def html_of(runs: Sequence[Sequence[Record]], title: str = "") -> str:
    """Write the runs of a conversation, or one run and those inside it, oldest first."""
    views = [_view(records) for records in runs]
    embedded = [
        _Run(records[0].run, list(view.items.values()), records) for view, records in zip(views, runs, strict=True)
    ]
    words = title or (views[0].state.question if views else "") or "A run"
    name = " ".join(words.split())
    name = name if len(name) <= _LONGEST_TITLE else name[: _LONGEST_TITLE - 1] + "…"
    data = msgspec.json.encode({"title": name, "runs": embedded}).decode().replace("<", "\\u003c")
    script, style = _built("page.js").replace("<!--", "<\\!--"), _built("page.css")
    policy = (
        f"default-src 'none'; script-src {_digest(script)}; style-src {_digest(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        f'<meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="{policy}">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(name)}</title>'
        f"<style>{style}</style>"
    )
    plain = "" if script else f"<p>{_NOT_BUILT}</p>"
    for view in views:  # for readers without scripts; the script takes them away
        answer = view.state.finished.answer if view.state.finished is not None else ""
        plain += f"<h2>{escape(view.state.question)}</h2><pre>{escape(answer)}</pre>"
    body = f'<div id="app">{plain}</div><script type="application/json" id="embedded">{data}</script>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}<script>{script}</script></body></html>\n'


def _view(records: Sequence[Record]) -> RunView:
    view = RunView()
    for record in records:
        view.feed(record)
    return view


def _built(name: str) -> str:
    """A file of the page that `web/build.py` makes for exports; empty in a checkout where it has not been built."""
    file = files("treadle._server") / _BUILT / name
    return file.read_text("utf-8") if file.is_file() else ""


def _digest(text: str) -> str:
    """The source expression that allows this text, and only this, in the file."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
