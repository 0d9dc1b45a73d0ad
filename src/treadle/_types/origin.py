"""Where something that enters a run comes from: one label, set where it enters and never raised afterwards."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Origin = Literal["person", "operator", "model", "tool", "outside", "imported"]
"""Who is behind a piece of text or a record, from the most trusted to the least.

person: whoever asks. operator: whoever set the program up (instructions, documents, the engine's own notes). model: a
reply of a model. tool: a result of a tool that reads nothing from outside. outside: pages, mails, files, attachments,
results of servers. imported: a run or a message that was not made here, and old logs that do not say.
"""
_ORDER: tuple[Origin, ...] = ("person", "operator", "model", "tool", "outside", "imported")
STRANGERS: frozenset[str] = frozenset({"outside", "imported"})
"""What may contain instructions of a stranger."""


def least_trusted(origins: Iterable[Origin]) -> Origin:
    """Return the label of something that is made of several: that of the part one must be most careful with."""
    return _ORDER[max((_ORDER.index(origin) for origin in origins), default=0)]
