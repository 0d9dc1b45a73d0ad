"""Agents inside the evaluations of others: the modules `inspect`, `harbor` and `terminal_bench`, with the extras of the
same names, and `run_repository` for a task that is a folder."""

from __future__ import annotations

from treadle._interop.repository import RepositoryResult as RepositoryResult
from treadle._interop.repository import run_repository as run_repository

__all__ = ["RepositoryResult", "run_repository"]
