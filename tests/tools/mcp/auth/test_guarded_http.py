"""Which addresses an authorization may lead to."""

from __future__ import annotations

import pytest

from kit import go

pytest.importorskip("mcp")
import httpx2

from tools.builtin.loopback import serving
from treadle._tools.mcp.auth.guarded_http import GuardedHttp, RefusedAddressError

REMOTE = "https://mcp.invalid/mcp"
LOCAL = "http://127.0.0.1:1/mcp"
INSIDE = "https://10.1.1.1/mcp"


@pytest.mark.parametrize(
    ("server", "address"),
    [
        (REMOTE, "http://example.com/token"),
        (REMOTE, "http://127.0.0.1/token"),
        (REMOTE, "https://127.0.0.1/token"),
        (REMOTE, "https://localhost/token"),
        (REMOTE, "https://10.1.2.3/token"),
        (REMOTE, "https://169.254.169.254/latest"),
        (REMOTE, "https://[::1]/token"),
        (REMOTE, "https://[fd00::1]/token"),
        (REMOTE, "https://0.0.0.0/token"),
        (REMOTE, "https://user@example.com/token"),
        (LOCAL, "https://192.168.0.1/token"),
        (INSIDE, "https://169.254.169.254/latest"),
        (INSIDE, "https://127.0.0.1/token"),
        (INSIDE, "http://10.1.1.1/token"),
        (REMOTE, "ftp://example.com/token"),
    ],
)
def test_an_address_that_is_not_called(server: str, address: str):
    with pytest.raises((RefusedAddressError, httpx2.HTTPError, httpx2.InvalidURL)) as caught:
        go(GuardedHttp(server).send(httpx2.Request("GET", address)))
    assert isinstance(caught.value, RefusedAddressError), caught.value


def test_a_server_on_this_machine_may_lead_to_this_machine_and_its_host_is_told():
    async def main() -> None:
        async with serving({"/token": {"ok": 1}, "/big": "x" * 300_000}) as site:
            http = GuardedHttp(f"http://localhost:{site.port}/mcp")
            response = await http.send(httpx2.Request("GET", f"http://localhost:{site.port}/token"))
            assert response.json() == {"ok": 1}
            assert site.requests[0].headers["host"] == f"localhost:{site.port}"
            with pytest.raises(RefusedAddressError, match="larger than"):
                await http.send(httpx2.Request("GET", f"{site.url}/big"))

    go(main())
