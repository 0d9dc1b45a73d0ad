"""Connections that leave the machine: with TLS, and through a proxy of the network."""

from __future__ import annotations

import asyncio
import ssl
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from record.wire import listening, post, request_at
from treadle._record import proxy as proxy_module
from treadle._record import upstreams
from treadle._record.exchange import HttpExchange
from treadle._record.proxy import Proxy
from treadle._record.upstreams import Routes, upstream_at


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now()
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=2))
        .not_valid_after(now + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = tmp_path_factory.mktemp("tls") / "both.pem"
    form = serialization.PrivateFormat.PKCS8
    private = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    file.write_bytes(private + made.public_bytes(serialization.Encoding.PEM))
    return file


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        _, body = await request_at(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))


@pytest.mark.parametrize("through", [False, True], ids=["straight", "through a proxy of the network"])
async def test_a_server_with_tls(certificate: Path, monkeypatch: pytest.MonkeyPatch, through: bool):
    asked: list[bytes] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    monkeypatch.setattr(proxy_module, "tls_context", lambda: ssl.create_default_context(cafile=str(certificate)))

    async def gate(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        inner, outer = await asyncio.open_connection("localhost", int(asked[-1].split()[1].rpartition(b":")[2]))
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")

        async def copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(1000):
                sink.write(data)

        try:
            await asyncio.gather(copy(reader, outer), copy(inner, writer))
        finally:
            outer.close()

    exchanges: list[HttpExchange] = []
    server = await asyncio.start_server(echo_quietly, "localhost", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    async with listening(gate) as gate_port:
        if through:
            named = {"https": f"http://user:word@127.0.0.1:{gate_port}"}
            monkeypatch.setattr(upstreams, "getproxies", lambda: named)
            monkeypatch.setattr(upstreams, "is_local", lambda host: False)
            monkeypatch.setattr(upstreams, "proxy_bypass", lambda host: False)
        proxy = Proxy(Routes({"": upstream_at(f"https://localhost:{port}")}), exchanges.append)
        address = await proxy.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        for number in range(2):
            writer.write(post("/v1", b"hello %d" % number))
            assert (await request_at(reader))[1] == b"hello %d" % number
        writer.close()
        await proxy.close()
    server.close()
    assert [one.ending for one in exchanges] == ["complete", "complete"]
    assert bool(asked) is through
    if through:
        assert b"Proxy-Authorization: Basic dXNlcjp3b3Jk" in asked[0]


async def echo_quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await echo(reader, writer)
    except (asyncio.IncompleteReadError, OSError):
        writer.close()


async def test_a_proxy_of_the_network_that_refuses_is_named(monkeypatch: pytest.MonkeyPatch):
    async def gate(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 No\r\n\r\n")

    async with listening(gate) as port:
        monkeypatch.setattr(upstreams, "getproxies", lambda: {"http": f"127.0.0.1:{port}"})
        monkeypatch.setattr(upstreams, "proxy_bypass", lambda host: False)
        proxy = Proxy(Routes({"": upstream_at("http://api.example")}), HttpExchange.forget)
        address = await proxy.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(address.rpartition(":")[2]))
        writer.write(post("/v1", b"hello"))
        answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 502")
        assert b"the network's proxy 127.0.0.1" in answer
        writer.close()
        await proxy.close()
