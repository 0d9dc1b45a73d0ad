"""The journal in memory keeps the contract."""

from __future__ import annotations

import pytest

from treadle._journal.memory import MemoryJournal

from .contract import JournalContract, Make


class TestContract(JournalContract):
    @pytest.fixture
    def make(self) -> Make:
        journal = MemoryJournal()
        return lambda: journal
