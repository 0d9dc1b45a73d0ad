"""The examples in the docstrings of the tools package work."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest

from treadle._tools import docstring, spec, validation


@pytest.mark.parametrize("module", [docstring, spec, validation])
def test_examples(module: ModuleType) -> None:
    result = doctest.testmod(module)
    assert result.attempted > 0
    assert result.failed == 0
