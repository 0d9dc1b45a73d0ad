"""Signatures, compared with Amazon's own library."""

from __future__ import annotations

from datetime import UTC, datetime
from unittest.mock import patch
from urllib.parse import quote

import botocore.auth
import pytest
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given, settings
from hypothesis import strategies as st

from treadle._models.bedrock.sigv4 import Keys, signed_headers

NOW = datetime(2026, 11, 16, 1, 2, 3, tzinfo=UTC)
KEYS = Keys("AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY")


def oracle(keys: Keys, method: str, url: str, body: bytes, headers: dict[str, str], region: str, service: str) -> str:
    """The Authorization header as botocore writes it at `NOW`."""
    request = AWSRequest(method=method, url=url, data=body, headers=headers)
    credentials = Credentials(keys.access_key, keys.secret_key, keys.token or None)
    signer = botocore.auth.SigV4Auth(credentials, service, region)
    with patch.object(botocore.auth, "get_current_datetime", lambda remove_tzinfo=True: NOW.replace(tzinfo=None)):
        signer.add_auth(request)
    return request.headers["Authorization"]


def ours(keys: Keys, method: str, url: str, body: bytes, headers: dict[str, str], region: str, service: str) -> str:
    signed = signed_headers(keys, method, url, body, region=region, service=service, now=NOW, headers=headers)
    return signed["authorization"]


MODEL = quote("us.anthropic.claude-sonnet-4-5-20250929-v1:0", safe="-_.~")
ARN = quote("arn:aws:bedrock:us-east-1:123456789012:inference-profile/abc", safe="-_.~")


@pytest.mark.parametrize("token", ["", "a/session+token=="])
@pytest.mark.parametrize(
    ("method", "url", "service"),
    [
        ("POST", f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{MODEL}/converse", "bedrock"),
        ("POST", f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{ARN}/converse-stream", "bedrock"),
        ("POST", "https://sts.us-east-1.amazonaws.com/", "sts"),
        ("GET", "https://sts.us-east-1.amazonaws.com", "sts"),
        ("GET", "http://127.0.0.1:8123/a%20b/?z=1&a=%2F%20x&a=&empty", "bedrock"),
    ],
)
def test_the_signature_is_the_one_of_botocore(method: str, url: str, service: str, token: str):
    keys = Keys(KEYS.access_key, KEYS.secret_key, token)
    case = (keys, method, url, b'{"messages":[]}', {"content-type": "application/json"}, "us-east-1", service)
    assert ours(*case) == oracle(*case)


text = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FFF, exclude_categories=["Cs", "Cc"]), max_size=20)


@settings(max_examples=60, deadline=None)
@given(text, text, st.binary(max_size=50), st.sampled_from(["eu-central-1", "us-gov-west-1", "cn-north-1"]))
def test_any_path_query_and_body(path: str, query: str, body: bytes, region: str):
    url = f"https://example.com/model/m{quote(path, safe='')}/converse?q={quote(query, safe='')}"
    case = (KEYS, "POST", url, body, {"content-type": "application/json"}, region, "bedrock")
    assert ours(*case) == oracle(*case)


def test_what_is_sent_with_the_signature():
    signed = signed_headers(Keys("a", "b", "token"), "POST", "https://h/x", b"", region="r", service="bedrock", now=NOW)
    assert signed.keys() == {"x-amz-date", "x-amz-security-token", "authorization"}
    assert signed["x-amz-date"] == "20261116T010203Z"


def test_keys_are_not_shown():
    assert KEYS.secret_key not in repr(KEYS)
    assert KEYS.access_key not in repr(KEYS)
