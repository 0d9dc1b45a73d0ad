"""Baidu search against a server that answers like the real one."""

from __future__ import annotations

import json

import pytest

from tools.builtin.loopback import ask
from treadle._tools.builtin.common import Hit
from treadle._tools.builtin.web.search import baidu
from treadle._types.errors import ToolError

KEY = "secret-key-4711"


BAIDU = {
    "request_id": "3a",
    "references": [
        {
            "id": 1,
            "title": "乌龟_百度百科",
            "url": "https://baike.baidu.com/item/x",
            "content": "乌龟是<em>爬行</em>动物",
            "date": "2025-05-01 10:00:00",
            "type": "web",
            "icon": None,
            "web_anchor": "x",
        },
        {"id": 2, "title": "兔子", "url": "https://b.example/", "content": "", "date": None, "type": "web"},
    ],
}


def test_baidu():
    result, requests = ask(
        lambda url: baidu(key=KEY, base_url=url), {"/v2/ai_search/web_search": BAIDU}, query="乌龟" * 50
    )
    assert result.results[0] == Hit(
        "乌龟_百度百科", "https://baike.baidu.com/item/x", "乌龟是爬行动物", "2025-05-01 10:00:00"
    )
    sent = json.loads(requests[0].body)
    assert sent["messages"] == [{"role": "user", "content": ("乌龟" * 50)[:72]}]
    assert requests[0].headers["authorization"] == f"Bearer {KEY}"


def test_baidu_error_inside_a_success():
    with pytest.raises(ToolError, match="quota exceeded"):
        ask(
            lambda url: baidu(key=KEY, base_url=url),
            {"*": {"code": 216003, "message": "quota exceeded", "requestId": "1"}},
            query="x",
        )
