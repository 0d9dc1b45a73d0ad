"""A reply that is only an answer, or only a thought, is shown as it comes."""

from __future__ import annotations

import pytest

from treadle._dialects.watching.base import Everything, Piece


@pytest.mark.parametrize("answer", [True, False])
def test_everything_is_one_thing(answer: bool):
    watcher = Everything(answer=answer)
    assert watcher.feed("a ") + watcher.feed("b") == [Piece("a ", answer, False), Piece("b", answer, False)]
