"""The HTTP client of the tools against servers and addresses that mean harm."""

from __future__ import annotations

import asyncio
import gc
import re
import socket
import weakref
from itertools import product
from typing import Any

import pytest
from aiohttp import web

from kit import row, until
from tools.builtin.loopback import Site, serving
from treadle._tools.builtin.http import client as http_client
from treadle._tools.builtin.http.client import GuardedClient
from treadle._types.errors import ToolError

SECRET = "key-4711"


def allowed(site: Site, **options: object) -> GuardedClient:
    return GuardedClient(allow_hosts=[f"{site.host}:{site.port}"], **options)  # pyright: ignore[reportArgumentType]


def refused(url: str, **options: object) -> str:
    async def main() -> str:
        client = GuardedClient(timeout=60, **options)  # pyright: ignore[reportArgumentType]
        with pytest.raises(ToolError) as caught:
            await client.get(url)
        return str(caught.value)

    return asyncio.run(main())


REFUSED = {
    "not a public address|in its usual form": [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://0177.0.0.1/",
        "http://017700000001/",
        "http://127.0.0.1./",
        "http://0/",
        "http://0.0.0.0:80/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[0:0:0:0:0:ffff:127.0.0.1]/",
        "http://[fe80::1%25lo]/",
        "http://[fd00:ec2::254]/latest/meta-data/",
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/",
        "http://\u2460\u2461\u2466.0.0.1/",
        "http://127\u30020\u30020\u30021/",
        "http://localhost/",
        "http://LOCALHOST/",
    ],
    "only http and https": [
        "file:///etc/passwd",
        "ftp://example.org/",
        "gopher://127.0.0.1:6379/_INFO",
        "javascript:alert(1)",
        "data:text/html,x",
        "//x/",
        "x",
    ],
    "user name": [
        "http://user:pw@example.org/",
        "http://user@example.org/",
        "http://example.org@127.0.0.1/",
        "http://:pw@example.org",
    ],
    "": [
        "http://",
        "http:///path",
        "http://exa mple.org/",
        "http://example.org/\r\nX: y",
        "http://a\0b/",
        "http://[::1/",
        "http://x:99999/",
        "http://x/" + "y" * 9000,
    ],
}


def test_addresses_that_are_private_in_any_form_or_no_web_addresses_are_refused():
    for why, urls in REFUSED.items():
        for url in urls:
            assert re.search(why, refused(url)), url


async def test_a_server_on_loopback_is_never_reached_unless_allowed():
    async with serving({"/": "secret"}) as site:
        with pytest.raises(ToolError, match="not a public address"):
            await GuardedClient().get(site.url)
        with pytest.raises(ToolError, match="not a public address"):
            await GuardedClient(allow_hosts=["127.0.0.1:1"]).get(site.url)
        assert site.requests == []
        for client in (
            allowed(site),
            GuardedClient(allow_hosts=["127.0.0.1"]),
            GuardedClient(allow_private=True),
        ):
            assert (await client.get(site.url)).text == "secret"


KEYS = {"Authorization": SECRET, "X-Api-Key": SECRET, "api-key": SECRET, "Cookie": f"session={SECRET}"}


def redirecting(status: int, to: str):
    return lambda _: web.Response(status=status, headers={"Location": to, "Set-Cookie": f"session={SECRET}"})


async def test_a_redirect_is_judged_like_a_first_request():
    pages: dict[str, Any] = {}
    async with serving({"*": "inner secret"}) as inner, serving(pages) as outer:
        for target in (
            f"http://127.0.0.1:{inner.port}/inner",
            f"http://localhost:{inner.port}/inner",
            f"http://[::ffff:127.0.0.1]:{inner.port}/",
            f"http://2130706433:{inner.port}/",
            f"//127.0.0.1:{inner.port}/x",
            "file:///etc/passwd",
            "http://u:p@example.org/",
        ):
            pages["/go"] = redirecting(302, target)
            with row(target), pytest.raises(ToolError):
                await allowed(outer).get(f"{outer.url}/go")
        assert inner.requests == []


async def test_redirects_are_followed_to_an_end():
    def hop(request: web.Request) -> web.Response:
        left = int(request.query["left"])
        return (
            web.Response(text="there")
            if not left
            else web.Response(status=307, headers={"Location": f"/hop?left={left - 1}"})
        )

    async with serving({"/hop": hop}) as site:
        answer = await allowed(site).get(f"{site.url}/hop?left=5")
        assert (answer.text, answer.url) == ("there", f"{site.url}/hop?left=0")
        with pytest.raises(ToolError, match="redirects more than 5 times"):
            await allowed(site).get(f"{site.url}/hop?left=6")


STATUSES = (301, 302, 303, 307, 308)


async def test_keys_and_bodies_do_not_travel_to_another_host():
    pages: dict[str, Any] = {}
    async with serving({"*": "ok"}) as other, serving(pages) as first:
        pages.update({f"/{status}": redirecting(status, f"{other.url}/b") for status in STATUSES})
        client = GuardedClient(allow_hosts=["127.0.0.1"])
        for status in STATUSES:
            await client.get(f"{first.url}/{status}", headers=KEYS)
            assert first.requests[-1].headers["authorization"] == SECRET
            assert other.requests[-1].method == "GET"
        assert len(other.requests) == len(STATUSES)
        assert SECRET not in str(other.requests)
        for method, status in product(("POST", "PUT", "DELETE"), STATUSES):
            message = rf"refused: 127.0.0.1 redirects a {method} request to 127.0.0.1"
            with row(method, status), pytest.raises(ToolError, match=message):
                await client.request(method, f"{first.url}/{status}", headers=KEYS, json={"key": SECRET})
        assert len(other.requests) == len(STATUSES)


async def test_a_body_follows_within_its_host():
    async with serving({"/a": lambda _: web.Response(status=308, headers={"Location": "/b"}), "/b": "ok"}) as site:
        await allowed(site).request("POST", f"{site.url}/a", headers=KEYS, json={"key": SECRET})
        first, second = site.requests
        assert (second.method, second.body, second.headers["x-api-key"]) == ("POST", first.body, SECRET)


async def test_a_name_that_changes_its_address_gains_nothing(monkeypatch: pytest.MonkeyPatch):
    """DNS rebinding: 127.0.0.2 plays the public address, 127.0.0.1 the one that must not be reached."""
    try:
        with socket.create_server(("127.0.0.2", 0)):
            pass
    except OSError:
        pytest.skip("this system has one loopback address only")
    monkeypatch.setattr(http_client, "is_public", lambda address: address == "127.0.0.2")
    answers = [["127.0.0.2"], ["127.0.0.1"], ["127.0.0.2", "127.0.0.1"], []]
    lookups: list[str] = []

    async def changing(host: str, port: int) -> list[str]:
        lookups.append(host)
        return answers[len(lookups) - 1]

    async with serving(
        {"/": lambda _: web.Response(text="public", headers={"Connection": "close"})}, "127.0.0.2"
    ) as site:
        client = GuardedClient(resolver=changing)
        url = f"http://rebind.example:{site.port}/"
        assert (await client.get(url)).text == "public"
        assert lookups == ["rebind.example"], "one look-up for check and connection"
        for _ in range(3):
            with pytest.raises(ToolError, match="not a public address"):
                await client.get(url)
        assert len(site.requests) == 1


async def test_a_name_that_resolves_inside_is_refused_and_not_connected():
    async def inside(host: str, port: int) -> list[str]:
        return ["::ffff:127.0.0.1"]

    async with serving({"/": "secret"}) as site:
        with pytest.raises(ToolError, match="not a public address"):
            await GuardedClient(resolver=inside).get(f"http://innocent.example:{site.port}/")
        assert site.requests == []


def test_failures_name_the_host_and_never_the_query():
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    async def main() -> str:
        client = GuardedClient(allow_private=True, timeout=60)
        with pytest.raises(ToolError) as caught:
            await client.get(f"http://127.0.0.1:{port}/?key={SECRET}", params={"k": SECRET}, headers={"X": SECRET})
        return str(caught.value)

    message = asyncio.run(main())
    assert "127.0.0.1" in message
    assert SECRET not in message


def test_an_unknown_name():
    async def nowhere(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    assert "could not reach nowhere.example" in refused("http://nowhere.example/", resolver=nowhere)


def test_one_session_per_loop_closed_with_it():
    async def main(client: GuardedClient) -> int:
        async with serving({"/": "ok"}) as site:
            for _ in range(3):
                await client.get(site.url)
            return len({request.headers["host"] for request in site.requests})

    client = GuardedClient(allow_private=True)
    assert [asyncio.run(main(client)) for _ in range(3)] == [1, 1, 1]
    del client
    gc.collect()  # an unclosed session would warn here, and warnings are errors


async def test_close_and_go_on():
    async with serving({"/": "ok"}) as site:
        client = allowed(site)
        await client.get(site.url)
        await client.close()
        assert (await client.get(site.url)).status == 200


def test_a_client_that_is_dropped_is_gone_at_once_and_its_connections_are_closed():
    """Were it left to the garbage collector, that would find its connections open."""

    async def main() -> None:
        async with serving({"*": "ok"}) as site:
            client = allowed(site)
            await client.get(f"{site.url}/a")
            session = next(iter(client._sessions.values()))[0]
            gone = weakref.ref(client)
            del client
            assert gone() is None
            await until(lambda: session.closed)

    gc.disable()
    try:
        asyncio.run(main())
    finally:
        gc.enable()


async def test_a_client_in_a_garbage_cycle_leaves_no_connection_open():
    """An agent and its tools often are one. An unclosed session would warn, and warnings are errors."""
    async with serving({"*": "ok"}) as site:
        client: Any = allowed(site)
        await client.get(f"{site.url}/a")
        session = next(iter(client._sessions.values()))[0]
        client.itself = client
        del client
        gc.collect()
        await until(lambda: session.closed)

    async with serving({"*": "ok"}) as site:
        client = allowed(site)
        await client.get(f"{site.url}/a")
        client.itself = client
        del client
        gc.collect()
