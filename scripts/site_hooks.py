"""What the site adds to the pages: a name of ours in backticks is a link to its place in the reference."""

from __future__ import annotations

import posixpath
import re
from functools import cache
from pathlib import Path
from typing import Any

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
NAME = re.compile(r"(?<![\[`])`([A-Z][A-Za-z]{3,})(\([^`]*\))?`(?![\]`])")
LEFT_ALONE = ("reference/cli.md", "behaviours.md")
"""Pages of long tables, in which links would only be noise."""


@cache
def targets() -> dict[str, str]:
    """Where each public class is described: its fields if they have a page, else its entry in the reference."""
    found: dict[str, str] = {}
    for page in ("api.md", "events.md", "settings.md"):
        headings = re.findall(r"^##+ ([A-Za-z_.]+)$", (REFERENCE / page).read_text("utf-8"), re.MULTILINE)
        seen: set[str] = set()
        for name in headings:
            anchor = name.lower()
            if anchor not in seen and name[0].isupper():
                found[name] = f"reference/{page}#{anchor}"
            seen.add(anchor)
    for name in re.findall(r"- (\w+Error)\b", (REFERENCE / "errors.md").read_text("utf-8")):
        found.setdefault(name, "reference/errors.md#errors")
    return found


def linked(text: str, here: str) -> str:
    """A page with links: outside of code, headings and links that are there already."""
    parts = re.split(r"(^```.*?^```\n?|^#[^\n]*$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(
        part if part.startswith(("```", "#")) else NAME.sub(lambda match: _link(match, here), part) for part in parts
    )


def _link(match: re.Match[str], here: str) -> str:
    target = targets().get(match.group(1))
    is_signature = match.group(2) and target and target.startswith(f"{here}#")
    if target is None or is_signature:
        return match.group(0)
    page, anchor = target.split("#")
    way = "" if page == here else posixpath.relpath(page, posixpath.dirname(here) or ".")
    return f"[{match.group(0)}]({way}#{anchor})"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    here = page.file.src_uri
    return markdown if here in LEFT_ALONE else linked(markdown, here)
