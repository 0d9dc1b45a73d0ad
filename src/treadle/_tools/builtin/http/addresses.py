"""Which addresses a request may go to: the open internet only, unless the operator allows more."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from treadle._types.errors import ToolError

if TYPE_CHECKING:
    from yarl import URL

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NOT_PUBLIC = tuple(
    ipaddress.ip_network(network)
    for network in (
        "100.64.0.0/10",  # carrier-grade NAT, and one cloud's metadata service
        "168.63.129.16/32",  # another cloud's metadata service, on an address that looks public
        "192.0.0.0/24",
        "192.88.99.0/24",
        "::/96",  # IPv4-compatible
        "::ffff:0:0/96",  # IPv4-mapped
        "64:ff9b:1::/48",  # local NAT64
        "2001::/23",  # protocol assignments, Teredo among them
        "2002::/16",  # 6to4
        "fec0::/10",  # site-local
    )
)


def is_public(address: str) -> bool:
    """Tell whether an IP address is public. Addresses that embed an IPv4 address are not, except those of NAT64."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address) and ip in _NAT64:
        return is_public(str(ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)))
    if not ip.is_global or ip.is_multicast or ip.is_reserved or ip.is_link_local:
        return False
    return not any(ip.version == network.version and ip in network for network in _NOT_PUBLIC)


async def system_resolve(host: str, port: int) -> Sequence[str]:
    """Look up the IP addresses of a host with the resolver of this machine."""
    entries = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def parse_url(text: str) -> URL:
    from yarl import URL

    if len(text) > 8_000 or any(ord(char) <= 32 or ord(char) == 127 for char in text):
        raise ToolError("the address is too long, or contains spaces or control characters")
    try:
        return URL(text)
    except ValueError:
        raise ToolError(f"not a valid address: {text[:100]!r}") from None


def is_ip_address(host: str) -> bool:
    """Tell whether a host is an IP address, not a name. Unusual notations (one number, octal, hex) are refused."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        pass
    else:
        return True
    try:
        socket.inet_aton(host)
    except (OSError, ValueError):
        return False
    raise ToolError(f"refused: write the address {host!r} in its usual form, like 192.0.2.1")
