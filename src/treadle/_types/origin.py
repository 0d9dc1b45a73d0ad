"""Where something that enters a run comes from: one label, set where it enters and never raised afterwards."""

from __future__ import annotations

from typing import Literal

Origin = Literal["person", "operator", "model", "tool", "outside", "imported"]
"""Who is behind a piece of text or a record.

person: whoever asks. operator: whoever set the program up (instructions, documents, the engine's own notes). model: a
reply of a model. tool: a result of a tool that reads nothing from outside. outside: pages, mails, files, attachments,
results of servers. imported: a run or a message that was not made here, and old logs that do not say.
"""
Unlabelled = Literal[""]
"""Not said yet: whoever takes it in says it, and where nobody does it is nobody's word."""
STRANGERS: frozenset[str] = frozenset({"outside", "imported"})
"""What may contain instructions of a stranger."""
