"""What a caller may write as an intent."""

from __future__ import annotations

from typing import Any

import pytest

from treadle._types.errors import ConfigError
from treadle._types.intent import Intent, Permit, intent_of


@pytest.mark.parametrize(
    "may", ["pay", [{"tool": "pay", "max": 0}], [{"tool": "pay", "args": {"to": {}}}], {"acts": []}, [{"tol": "pay"}],
            [{"tool": "pay", "args": {"to": {"is": ["x"], "any": True}}}]],
)  # fmt: skip
def test_what_is_no_intent_is_refused(may: Any):
    with pytest.raises(ConfigError, match="may= is not an intent"):
        intent_of(may)


def test_names_alone_are_permits():
    assert intent_of(["pay"]) == Intent(act=(Permit("pay"),))
