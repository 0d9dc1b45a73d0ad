"""The styles of one part of the page do not reach into another."""

from __future__ import annotations

import re
from collections import defaultdict

from .conftest import ROOT

SOURCE = ROOT / "web" / "src"
FRAME = {"head", "talk", "answer", "tool", "facts", "totals"}
"""Classes of the frame that a view or an exported file may place anew, inside itself."""


def test_every_rule_is_in_a_layer_and_no_class_is_styled_by_two_parts():
    """The cards of the Agents view had the class of the welcome's: three columns, text 80 pixels wide."""
    by_class: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.rglob("*.css"):
        text = re.sub(r"/\*.*?\*/", "", path.read_text("utf-8"), flags=re.DOTALL)
        rules = re.sub(r"^@layer base, parts, views;\s*", "", text.strip())
        assert re.match(r"@layer (base|parts|views) \{", rules), f"{path.name} is in no layer"
        for selectors in re.findall(r"^(\.[^{}@;]+)\{", rules, re.MULTILINE):
            for selector in selectors.split(","):
                if found := re.match(r"\s*\.([\w-]+)", selector):
                    by_class[found[1]].add(path.name)
    shared = {name: files for name, files in by_class.items() if len(files) > 1}
    assert len(by_class) > 100
    assert not shared.keys() - FRAME, shared
    for name in ("main.tsx", "exported.tsx"):  # the order of the layers is said before any other style is read
        imports = re.findall(r'^import .*"(.*)";', (SOURCE / name).read_text("utf-8"), re.MULTILINE)
        assert imports[0] == "./styles/base.css"
