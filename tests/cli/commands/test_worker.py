"""`treadle worker`."""

from __future__ import annotations

import pytest

from treadle._cli.commands.worker import shared_journal
from treadle._types.errors import ConfigError


@pytest.mark.parametrize("spec", [None, "", "runs.db", "none", "memory:"])
def test_workers_need_a_shared_journal(spec: str | None):
    with pytest.raises(ConfigError, match="--journal postgres://"):
        shared_journal(spec)


def test_postgres_can_be_shared():
    assert shared_journal("postgresql://ada@db/runs") == "postgresql://ada@db/runs"
