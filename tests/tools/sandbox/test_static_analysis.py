"""Which calls of a piece of code are awaited later."""

from __future__ import annotations

import pytest

from treadle._tools.sandbox.static_analysis import deferred_calls, parse

pytest.importorskip("pydantic_monty")


def test_which_calls_are_waited_for():
    code = "a = f(1)\nb = await g(f(2))\nc = await asyncio.gather(f(3), f(4))\nd = [f(5)]\n'é'; await f(6)"
    tree = parse(code)
    assert tree is not None
    data = code.encode()
    assert sorted(data[at : at + 4].decode() for at in deferred_calls(tree, code)) == [
        "asyn",
        "f(3)",
        "f(4)",
        "f(6)",
        "g(f(",
    ]
