"""New ids."""

from __future__ import annotations

import string

from treadle._types.ids import fresh_id


def test_an_id_is_32_hexadecimal_digits():
    made = fresh_id()
    assert len(made) == 32
    assert set(made) <= set(string.hexdigits.lower())


def test_ids_do_not_repeat():
    assert len({fresh_id() for _ in range(2_000)}) == 2_000
