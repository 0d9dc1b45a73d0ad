"""arXiv against a server that answers like the real one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from kit import row
from tools.builtin.loopback import ask, use
from treadle._tools.builtin.web.arxiv import arxiv
from treadle._types.errors import ToolError

FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
<link href="http://arxiv.org/api/query?x" rel="self" type="application/atom+xml"/>
<title type="html">ArXiv Query</title>
<opensearch:totalResults xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">1</opensearch:totalResults>
<entry><id>http://arxiv.org/abs/2210.03629v3</id><updated>2023-03-10T01:00:32Z</updated><published>2022-10-06T01:00:32Z</published>
<title>ReAct: Synergizing Reasoning
  and Acting</title><summary>  While large language models &lt; humans &amp; more.
</summary><author><name>Shunyu Yao</name></author><author><name>Jeffrey Zhao</name></author>
<link href="http://arxiv.org/abs/2210.03629v3" rel="alternate" type="text/html"/>
<link title="pdf" href="http://arxiv.org/pdf/2210.03629v3" rel="related" type="application/pdf"/>
<arxiv:primary_category xmlns:arxiv="http://arxiv.org/schemas/atom" term="cs.CL"/>
<category term="cs.CL"/><category term="cs.AI"/></entry></feed>"""


NOTHING = '<feed xmlns="http://www.w3.org/2005/Atom"><title>none</title></feed>'


def atom(text: str) -> Any:
    return lambda _: web.Response(text=text, content_type="application/atom+xml")


def test_arxiv():
    result, requests = ask(
        lambda url: arxiv(base_url=f"{url}/api/query"), {"/api/query": atom(FEED)}, query="react: reasoning-acting"
    )
    (paper,) = result.papers
    assert paper.id == "2210.03629v3"
    assert paper.title == "ReAct: Synergizing Reasoning and Acting"
    assert paper.summary == "While large language models < humans & more."
    assert (paper.authors, paper.published) == (("Shunyu Yao", "Jeffrey Zhao"), "2022-10-06")
    assert (paper.pdf, paper.categories) == ("http://arxiv.org/pdf/2210.03629v3", ("cs.CL", "cs.AI"))
    assert requests[0].query["search_query"] == "all:react AND all:reasoning-acting"


def test_arxiv_ids_and_fields():
    for query, sent in (
        ("2210.03629", {"id_list": "2210.03629"}),
        ("arXiv:hep-th/9901001v2", {"id_list": "hep-th/9901001v2"}),
        ("au:yao AND ti:react", {"search_query": "au:yao AND ti:react"}),
    ):
        with row(query, sent):
            _, requests = ask(lambda url: arxiv(base_url=url), {"/": atom(FEED)}, query=query)
            assert sent.items() <= requests[0].query.items()


def test_arxiv_looks_for_any_word_when_all_find_nothing():
    page = lambda request: web.Response(text=NOTHING if "AND" in request.query["search_query"] else FEED)  # noqa: E731
    result, requests = ask(lambda url: arxiv(base_url=url), {"/": page}, query="two words")
    assert len(result.papers) == 1
    assert requests[1].query["search_query"] == "all:two OR all:words"


def test_arxiv_errors():
    entry = "<id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>incorrect id format</summary>"
    page = f'<feed xmlns="http://www.w3.org/2005/Atom"><entry>{entry}</entry></feed>'
    with pytest.raises(ToolError, match="incorrect id format"):
        ask(lambda url: arxiv(base_url=url), {"/": atom(page)}, query="x")
    with pytest.raises(ToolError, match="no words"):
        asyncio.run(use(arxiv(), query="???"))
