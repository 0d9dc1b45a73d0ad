"""Where a redirect leads, for every client that follows one: what a request carries belongs to one origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from yarl import URL

MOST = 5
"""How many redirects are followed, one after the other."""
_STATUSES = frozenset({301, 302, 303, 307, 308})
_FOR_ANYBODY = frozenset({"accept", "range"})
"""Headers that say what is wanted, not who wants it."""


class RedirectRefused(Exception):
    """A redirect that is not followed; its text names hosts only."""


class Hop(Struct, frozen=True):
    """One request of those that redirects make of one."""

    method: str
    url: URL
    headers: Mapping[str, str] = {}
    body: bytes | None = None

    def after(self, status: int, location: str | None) -> Hop | None:
        """The request that a response sends this one to; None when it is the answer itself."""
        from yarl import URL

        if status not in _STATUSES or not location:
            return None
        try:
            target = self.url.join(URL(location.strip().replace(" ", "%20")))
        except ValueError:
            raise RedirectRefused(f"{self.url.host} redirects to an address that cannot be read") from None
        if target.scheme not in ("http", "https") or not target.host or target.user or target.password:
            raise RedirectRefused(f"{self.url.host} redirects to an address that is no plain http or https address")
        if self.url.scheme == "https" and target.scheme == "http":
            raise RedirectRefused(f"{self.url.host} redirects from https to http")
        method, body, headers = self.method, self.body, self.headers
        if target.origin() != self.url.origin():
            if method not in ("GET", "HEAD"):
                raise RedirectRefused(
                    f"{self.url.host} redirects a {method} request to {target.host}, which its content is not for"
                )
            headers = {name: value for name, value in headers.items() if name.lower() in _FOR_ANYBODY}
        if status == 303 or (status in (301, 302) and method == "POST"):
            method, body = "GET", None
        return Hop(method, target, headers, body)
