"""Adapters of this package in a llama.cpp server: what it is asked, and which one it names."""

from __future__ import annotations

import re
from typing import Any

from treadle._local.weights.adapters import TAUGHT
from treadle._models.transport.wire import as_dict, as_text

_HASH = re.compile(r"(?:-[0-9a-f]{8})?\.gguf$")
"""How the file of an adapter of this package ends."""


def path_for(family: str) -> str:
    """Where a server lists the adapters that were loaded with such a model; empty when there is none of this package
    for it."""
    return "/lora-adapters" if any(model in family.lower() for model in TAUGHT) else ""


def tuning_in(listed: list[Any], family: str) -> str:
    """The name of our adapter in a server's list of adapters; empty unless it is the only one, and for this model: what
    another one was trained on is not known."""
    entries = [as_dict(entry) for entry in listed]
    if len(entries) != 1 or entries[0].get("id") != 0:
        return ""
    name = _HASH.sub("", re.split(r"[/\\]", as_text(entries[0].get("path")))[-1])
    names = {model: (ours.name, *ours.earlier) for model, ours in TAUGHT.items()}
    return next((name for model, ours in names.items() if name in ours and model in family.lower()), "")
