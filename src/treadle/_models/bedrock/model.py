"""Models on Amazon Bedrock, through its Converse API."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from treadle._models.bedrock.credentials import Credentials, open_session
from treadle._models.bedrock.reader import ConverseReader
from treadle._models.bedrock.wire import API, ConverseWriter
from treadle._models.catalog.providers import Provider
from treadle._models.http_model import HttpModel
from treadle._models.media import BEDROCK
from treadle._models.transport.http import Endpoint
from treadle._types.errors import ConfigError, MissingExtraError, ModelError, RequestRefusedError, TransientModelError

_EXPIRED = ("expiredtoken", "token has expired", "security token included in the request is expired")


class BedrockModel(HttpModel):
    """`BedrockModel("us.anthropic.claude-sonnet-4-5-20250929-v1:0", region="us-east-1")`.

    Requests are signed with the keys of the usual places: the environment, a profile (keys, roles, sign-in, a command),
    the container, the instance. A Bedrock API key (`AWS_BEARER_TOKEN_BEDROCK` or `api_key`) is sent instead of a
    signature. Fields of one model alone go into `extra_body={"additionalModelRequestFields": {...}}`.
    """

    api = API
    writer = ConverseWriter
    reader = ConverseReader
    default_provider = "bedrock"
    media = BEDROCK
    encoded_path = True

    def __init__(
        self,
        name: str,
        *,
        region: str = "",
        aws_profile: str = "",
        access_key: str = "",
        secret_key: str = "",
        session_token: str = "",
        base_url: str | None = None,
        provider: str | Provider = "",
        **options: Any,
    ) -> None:
        if find_spec("botocore") is None:
            raise MissingExtraError("Amazon Bedrock", "bedrock")
        entry = self._provider_of(provider)
        address = base_url or os.environ.get(entry.base_env, "")
        self._region = region or _region(address, aws_profile)
        entry = msgspec.structs.replace(entry, base_url=_address(self._region))
        if bool(access_key) != bool(secret_key):
            raise ConfigError("access_key and secret_key belong together: pass both or none of them")
        if access_key:
            options = {"api_key": "", **options}
        super().__init__(name, base_url=base_url, provider=entry, **options)
        self._credentials = Credentials(
            self._origin,
            self._region,
            profile=aws_profile,
            access_key=access_key,
            secret_key=secret_key,
            session_token=session_token,
        )

    def _path(self, streaming: bool) -> str:
        return f"/model/{quote(self._name, safe='-_.~')}/{'converse-stream' if streaming else 'converse'}"

    async def _signed(self, streaming: bool, body: bytes) -> tuple[Endpoint, Mapping[str, str] | None]:
        endpoint = self._endpoint(streaming)
        if self._connection.api_key:
            return endpoint, None
        covered = {"content-type": self._connection.headers["content-type"]}
        return endpoint, await self._credentials.sign(endpoint.url, covered, body)

    def _reconsidered(self, error: ModelError) -> ModelError:
        expired = isinstance(error, RequestRefusedError) and any(word in str(error).lower() for word in _EXPIRED)
        if not expired or not self._credentials.forget():
            return error
        return TransientModelError(str(error), status=error.status, usage=error.usage, provider=error.provider)


def _region(address: str, profile: str) -> str:
    labels = (urlsplit(address).hostname or "").split(".")
    if len(labels) > 3 and labels[0].startswith("bedrock-runtime"):
        return labels[1]
    # botocore reads only AWS_DEFAULT_REGION, which the profile's region comes after.
    if region := os.environ.get("AWS_REGION") or open_session(profile).get_config_variable("region"):
        return region
    if address:
        return "us-east-1"  # a server of one's own: the signature needs some name
    raise ConfigError("bedrock needs a region: pass region='us-east-1', set AWS_REGION, or set it in the AWS profile")


def _address(region: str) -> str:
    if not re.fullmatch(r"[a-z0-9-]+", region):
        raise ConfigError(f"{region!r} is not a region of AWS: it is written like 'us-east-1'")
    return f"https://bedrock-runtime.{region}.amazonaws.com{'.cn' if region.startswith('cn-') else ''}"
