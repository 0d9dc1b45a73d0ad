"""The examples in the docstrings of the tools package work."""

from __future__ import annotations

import doctest

from kit import row
from treadle._tools import docstring, spec, validation


def test_examples() -> None:
    for module in (docstring, spec, validation):
        with row(module):
            result = doctest.testmod(module)
            assert result.attempted > 0
            assert result.failed == 0
