"""Embeddings from an OpenAI-compatible provider."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from treadle._models.catalog.providers import connect, provider_named
from treadle._models.transport.http import Endpoint, Exchange, Timeouts
from treadle._types.errors import BadReplyError

_BATCH = 64


class _Row(Struct):
    embedding: list[float]
    index: int = 0


class _Reply(Struct):
    data: list[_Row]


class Embeddings:
    """Called with texts, returns a vector for each, from an OpenAI-compatible provider. The name is `provider:model`,
    like `openai:text-embedding-3-small`.

    The key comes from the provider's environment variable unless it is given; a local server needs none.
    """

    def __init__(self, name: str, *, base_url: str | None = None, api_key: str | None = None) -> None:
        provider, _, model = name.rpartition(":")
        self.model = model
        connection = connect(provider_named(provider or "openai"), base_url, api_key, None)
        url = connection.base_url.rstrip("/") + "/embeddings"
        self._endpoint = Endpoint(url, connection.headers, connection.origin, Timeouts(total=60.0))

    async def __call__(self, texts: Sequence[str]) -> list[list[float]]:
        vectors: list[list[float]] = []
        for start in range(0, len(texts), _BATCH):
            vectors.extend(await self._embed(list(texts[start : start + _BATCH])))
        return vectors

    async def _embed(self, texts: list[str]) -> list[list[float]]:
        body = msgspec.json.encode({"model": self.model, "input": texts})
        async with Exchange(self._endpoint, body) as response:
            payloads = await response.batch()
        try:
            rows = sorted(msgspec.json.decode(payloads[0], type=_Reply).data, key=lambda row: row.index)
        except (msgspec.MsgspecError, IndexError):
            raise BadReplyError(f"the embeddings of {self.model} could not be read") from None
        if len(rows) != len(texts):
            raise BadReplyError(f"{self.model} returned {len(rows)} vectors for {len(texts)} texts")
        return [row.embedding for row in rows]
