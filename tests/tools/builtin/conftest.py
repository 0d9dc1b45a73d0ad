from __future__ import annotations

from tools.builtin.workspaces import workspace

__all__ = ["workspace"]
