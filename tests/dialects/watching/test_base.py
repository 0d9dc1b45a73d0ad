"""A reply that is only an answer, or only a thought, is shown as it comes."""

from __future__ import annotations

from kit import row
from treadle._dialects.watching.base import Everything, Piece


def test_everything_is_one_thing():
    for answer in [True, False]:
        with row(answer):
            watcher = Everything(answer=answer)
            assert watcher.feed("a ") + watcher.feed("b") == [Piece("a ", answer, False), Piece("b", answer, False)]
