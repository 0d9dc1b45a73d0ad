"""Records about the folder a run works in."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from treadle._types.value import EventBase

Moment = Literal["start", "after", "between", "interrupted", "restored"]


class TreeChanges(Struct, frozen=True, omit_defaults=True, gc=False):
    """How a tree differs from the one stored before it."""

    added: int = 0
    """Files and empty folders that are new."""
    changed: int = 0
    """Files with another content or other permissions."""
    removed: int = 0
    """Files and empty folders that are gone."""
    paths: tuple[str, ...] = ()
    """The first of them, each after `A`, `M` or `D` and a space."""


class WorkspaceOpened(EventBase, frozen=True, tag="workspace_opened"):
    """The run works in this folder from here on."""

    backend: str
    """host | copy | worktree | sandbox, or the name of another one."""
    folder: str
    """Where it works; with `overlay` only what it has written is there."""
    source: str = ""
    """The person's folder that it was made from."""
    overlay: bool = False
    """What it has not written shows through from `source`. A `sandbox` without it works on a copy."""


class TreeSaved(EventBase, frozen=True, tag="tree_saved"):
    """The files of the folder are stored as this tree: whoever goes on from here gets exactly them."""

    tree: str
    """The id of the tree; empty when it could not be stored."""
    moment: Moment
    """start | after (a call that acts has ended) | between (something else has changed the folder) | interrupted (a
    call was under way when the process ended or the run was stopped) | restored (it was brought back to this tree)."""
    call_id: str = ""
    """The call that has changed it, or was under way."""
    changes: TreeChanges = TreeChanges()
    """The difference from the tree before it."""
    skipped: tuple[str, ...] = ()
    """What is in the folder and not in the tree, with the reason."""
    problem: str = ""
    """Why it could not be stored."""
