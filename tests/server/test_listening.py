"""Where a server listens, and what is said when it cannot."""

from __future__ import annotations

import errno
import os
import socket

import pytest

from treadle._server.listening import listen
from treadle._types.errors import ConfigError


def test_a_free_port_is_chosen_and_kept():
    [listening] = listen("127.0.0.1", 0)
    with listening:
        port = listening.getsockname()[1]
        assert port > 0
        with pytest.raises(ConfigError, match=rf"port {port} on 127.0.0.1 is in use .* --port 0 for any free one"):
            listen("127.0.0.1", port)
        with pytest.raises(ConfigError, match="choose another with --http"):
            listen("127.0.0.1", port, "--http")
        with socket.create_connection(("127.0.0.1", port)):
            pass


def test_every_address_of_a_name_gets_the_same_port():
    sockets = listen("localhost", 0)
    try:
        assert len({each.getsockname()[1] for each in sockets}) == 1
    finally:
        for each in sockets:
            each.close()


@pytest.mark.parametrize(
    ("host", "says"),
    [
        ("192.0.2.1", "no address of this machine"),
        ("nowhere.invalid", "there is no address 'nowhere.invalid'"),
        ("a" * 300, "there is no address"),
    ],
)
def test_addresses_that_cannot_be_had(host: str, says: str):
    with pytest.raises(ConfigError, match=says):
        listen(host, 0)


@pytest.mark.parametrize(
    ("code", "says"), [(errno.EACCES, "choose one from 1024 up with --port"), (errno.EIO, "cannot listen on 127.0.0.1")]
)
def test_what_the_system_refuses(code: int, says: str, monkeypatch: pytest.MonkeyPatch):
    def refuse(self: socket.socket, address: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(ConfigError, match=says):
        listen("127.0.0.1", 80)
