"""Calling plug-ins: in list order, a failure is logged and ignored."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from treadle._engine.plugin import Pause
from treadle._types.errors import JournalError, LimitError

if TYPE_CHECKING:
    from treadle._engine.run import Run

logger = logging.getLogger("treadle")

PASSED_ON = (Pause, LimitError, JournalError)
"""What a plug-in may raise on purpose."""


async def run_hooks(run: Run, name: str, *args: Any) -> None:
    for hook in getattr(run.hooks, name):
        try:
            await hook(run, *args)
        except PASSED_ON:
            raise
        except Exception:
            logger.warning("plug-in %s failed in %s and is ignored", plugin_name(hook), name, exc_info=True)


def plugin_name(hook: Any) -> str:
    """Whose hook this is."""
    plugin = getattr(hook, "__self__", None)
    return getattr(plugin, "name", "") or type(plugin).__name__
