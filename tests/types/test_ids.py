"""New ids."""

from __future__ import annotations

import re

from treadle._types.ids import fresh_id, tenant_of


def test_an_id_is_32_hexadecimal_digits_and_a_user_may_name_a_tenant():
    assert re.fullmatch("[0-9a-f]{32}", fresh_id())
    assert (tenant_of("acme/ann"), tenant_of("ann")) == ("acme", "ann")
