"""Wikipedia, arXiv and PubMed against servers that speak like the real ones."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from aiohttp import web

from treadle._tools.builtin.web.arxiv import arxiv
from treadle._tools.builtin.web.pubmed import pubmed
from treadle._tools.builtin.web.wikipedia import Article, wikipedia
from treadle._tools.builtin.web.xml import parse_xml, text_of
from treadle._types.errors import ToolError

from .web import ask, use

SEARCH = {
    "batchcomplete": True,
    "continue": {"gsroffset": 2, "continue": "gsroffset||"},
    "query": {
        "pages": [
            {
                "pageid": 2,
                "ns": 0,
                "title": "Hare",
                "index": 2,
                "extract": "Hares are mammals.",
                "fullurl": "https://en.wikipedia.org/wiki/Hare",
            },
            {
                "pageid": 1,
                "ns": 0,
                "title": "Tortoise",
                "index": 1,
                "extract": "Tortoises are reptiles. " * 500,
                "fullurl": "https://en.wikipedia.org/wiki/Tortoise",
            },
        ]
    },
}


def test_wikipedia_search():
    result, asked = ask(
        lambda url: wikipedia(base_url=f"{url}/w/api.php", limit=2), {"/w/api.php": SEARCH}, query="slow animal"
    )
    assert [article.title for article in result.articles] == ["Tortoise", "Hare"]
    assert len(result.articles[0].text) <= 3_000
    query = asked[0].query
    assert (query["generator"], query["gsrsearch"], query["gsrlimit"], query["prop"]) == (
        "search",
        "slow animal",
        "2",
        "extracts|info",
    )


def test_wikipedia_reads_a_page_in_parts():
    text = "".join(f"[{n}]" for n in range(3_000))
    page = {"query": {"pages": [{"title": "Long", "extract": text, "fullurl": "https://x"}]}}
    make = lambda url: wikipedia(base_url=url, max_chars=10_000)  # noqa: E731
    first, asked = ask(make, {"/": page}, title="Long")
    assert asked[0].query["titles"] == "Long"
    second, _ = ask(make, {"/": page}, title="Long", start=first.articles[0].next_start)
    assert first.articles[0].text + second.articles[0].text == text
    assert second.articles[0].next_start == 0


def test_wikipedia_without_such_a_page():
    with pytest.raises(ToolError, match="no page titled 'Nix'"):
        ask(
            lambda url: wikipedia(base_url=url),
            {"/": {"query": {"pages": [{"title": "Nix", "missing": True}]}}},
            title="Nix",
        )
    result, _ = ask(lambda url: wikipedia(base_url=url), {"/": {"batchcomplete": True}}, query="xyzzy")
    assert result.articles == ()
    with pytest.raises(ToolError, match="give a query"):
        asyncio.run(use(wikipedia()))


def test_wikipedia_error_inside_a_success():
    page = {"error": {"code": "cirrussearch-too-busy-error", "info": "Search is currently too busy."}}
    with pytest.raises(ToolError, match="too busy"):
        ask(lambda url: wikipedia(base_url=url), {"/": page}, query="x")


def test_wikipedia_in_other_languages():
    assert wikipedia(language="de").timeout == 20.0
    assert Article("t", "u", "x").next_start == 0


FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://arxiv.org/api/query?x" rel="self" type="application/atom+xml"/>
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
    result, asked = ask(
        lambda url: arxiv(base_url=f"{url}/api/query"), {"/api/query": atom(FEED)}, query="react: reasoning-acting"
    )
    (paper,) = result.papers
    assert paper.id == "2210.03629v3"
    assert paper.title == "ReAct: Synergizing Reasoning and Acting"
    assert paper.summary == "While large language models < humans & more."
    assert (paper.authors, paper.published) == (("Shunyu Yao", "Jeffrey Zhao"), "2022-10-06")
    assert (paper.pdf, paper.categories) == ("http://arxiv.org/pdf/2210.03629v3", ("cs.CL", "cs.AI"))
    assert asked[0].query["search_query"] == "all:react AND all:reasoning-acting"


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("2210.03629", {"id_list": "2210.03629"}),
        ("arXiv:hep-th/9901001v2", {"id_list": "hep-th/9901001v2"}),
        ("au:yao AND ti:react", {"search_query": "au:yao AND ti:react"}),
    ],
)
def test_arxiv_ids_and_fields(query: str, sent: dict[str, str]):
    _, asked = ask(lambda url: arxiv(base_url=url), {"/": atom(FEED)}, query=query)
    assert sent.items() <= asked[0].query.items()


def test_arxiv_looks_for_any_word_when_all_find_nothing():
    page = lambda request: web.Response(text=NOTHING if "AND" in request.query["search_query"] else FEED)  # noqa: E731
    result, asked = ask(lambda url: arxiv(base_url=url), {"/": page}, query="two words")
    assert len(result.papers) == 1
    assert asked[1].query["search_query"] == "all:two OR all:words"


def test_arxiv_errors():
    entry = "<id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>incorrect id format</summary>"
    page = f'<feed xmlns="http://www.w3.org/2005/Atom"><entry>{entry}</entry></feed>'
    with pytest.raises(ToolError, match="incorrect id format"):
        ask(lambda url: arxiv(base_url=url), {"/": atom(page)}, query="x")
    with pytest.raises(ToolError, match="no words"):
        asyncio.run(use(arxiv(), query="???"))


ARTICLES = """<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN" "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">
<PubmedArticleSet><PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">31978945</PMID>
<Article PubModel="Print"><Journal><ISSN IssnType="Electronic">1533-4406</ISSN>
<JournalIssue CitedMedium="Internet"><PubDate><Year>2020</Year><Month>Feb</Month><Day>20</Day></PubDate></JournalIssue>
<Title>The New England journal of medicine</Title></Journal><ArticleTitle>A novel <i>coronavirus</i> in 2019.</ArticleTitle>
<Abstract><AbstractText Label="BACKGROUND" NlmCategory="BACKGROUND">In December 2019&#x2026;</AbstractText>
<AbstractText Label="RESULTS">Found H<sub>2</sub>.</AbstractText></Abstract>
<AuthorList CompleteYN="Y"><Author ValidYN="Y"><LastName>Zhu</LastName><ForeName>Na</ForeName><Initials>N</Initials></Author>
<Author><CollectiveName>China Team</CollectiveName></Author></AuthorList></Article></MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="pubmed">31978945</ArticleId>
<ArticleId IdType="doi">10.1056/NEJMoa2001017</ArticleId></ArticleIdList></PubmedData></PubmedArticle></PubmedArticleSet>"""
FOUND = {
    "header": {"type": "esearch", "version": "0.3"},
    "esearchresult": {"count": "7", "retmax": "1", "retstart": "0", "idlist": ["31978945"], "querytranslation": "x"},
}


def test_pubmed():
    pages = {"/esearch.fcgi": FOUND, "/efetch.fcgi": lambda _: web.Response(text=ARTICLES, content_type="text/xml")}
    result, asked = ask(
        lambda url: pubmed(base_url=url, key="k", email="a@b.example"), pages, query="novel coronavirus"
    )
    (article,) = result.articles
    assert result.total == 7
    assert article.title == "A novel coronavirus in 2019."
    assert article.abstract == "BACKGROUND: In December 2019…\nRESULTS: Found H2."
    assert article.authors == ("Na Zhu", "China Team")
    assert (article.date, article.doi, article.url) == (
        "2020 Feb 20",
        "10.1056/NEJMoa2001017",
        "https://pubmed.ncbi.nlm.nih.gov/31978945/",
    )
    assert asked[0].query["term"] == "novel coronavirus"
    assert asked[1].query == {
        "db": "pubmed",
        "tool": "treadle",
        "email": "a@b.example",
        "api_key": "k",
        "id": "31978945",
        "retmode": "xml",
        "rettype": "abstract",
    }


def test_pubmed_finds_nothing_or_refuses():
    result, asked = ask(
        lambda url: pubmed(base_url=url),
        {"/esearch.fcgi": {"esearchresult": {"count": "0", "idlist": []}}},
        query="xyzzy",
    )
    assert (result.articles, len(asked)) == ((), 1)
    with pytest.raises(ToolError, match="Empty term"):
        ask(
            lambda url: pubmed(base_url=url),
            {"/esearch.fcgi": {"esearchresult": {"ERROR": "Empty term and query_key"}}},
            query="x",
        )


LAUGHS = (
    '<!DOCTYPE x [<!ENTITY a "ha">'
    + "".join(f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9))
    + "]><feed>&j;</feed>"
)
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><feed><entry><id>&a;</id></entry></feed>'
PARAMETER = '<!DOCTYPE x [<!ENTITY % p SYSTEM "http://127.0.0.1:1/x.dtd"> %p;]><feed/>'
QUADRATIC = f'<!DOCTYPE x [<!ENTITY a "{"x" * 100_000}">]><feed>{"&a;" * 1000}</feed>'


@pytest.mark.parametrize(
    "document", [LAUGHS, OUTSIDE, PARAMETER, QUADRATIC], ids=["laughs", "outside", "parameter", "quadratic"]
)
def test_entities_are_refused(document: str):
    begun = time.perf_counter()
    with pytest.raises(ToolError, match="declares XML entities"):
        ask(lambda url: arxiv(base_url=url), {"/": atom(document)}, query="x")
    assert time.perf_counter() - begun < 2


@pytest.mark.parametrize(
    "document",
    [
        b"<a>" * 100_000,
        b"<a><b></a>",
        b"",
        b"plain",
        b"<a>&undefined;</a>",
        b'<?xml version="1.0" encoding="nonsense"?><a/>',
        b"\xff\xfe",
    ],
)
def test_broken_xml(document: bytes):
    with pytest.raises(ToolError, match="XML"):
        parse_xml(document)


def test_namespaces_are_left_out():
    tree = parse_xml(b'<x:a xmlns:x="urn:1" x:k="v"><x:b>one <c>two</c></x:b></x:a>')
    assert (tree.tag, tree.get("k"), text_of(tree, "b")) == ("a", "v", "one two")
