"""A long text from outside is read in another thread."""

from __future__ import annotations

import threading

import pytest

from treadle._safety.beside import LONG, read_beside


@pytest.mark.parametrize(("size", "here"), [(LONG - 1, True), (LONG, False)])
async def test_a_long_text_is_read_in_another_thread(size: int, here: bool):
    thread = await read_beside(size, threading.current_thread)
    assert (thread is threading.current_thread()) is here
