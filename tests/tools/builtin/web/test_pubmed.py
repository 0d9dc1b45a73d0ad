"""PubMed against a server that answers like the real one."""

from __future__ import annotations

import pytest
from aiohttp import web

from tools.builtin.loopback import ask
from treadle._tools.builtin.web.pubmed import pubmed
from treadle._types.errors import ToolError

ARTICLES = """<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2025//EN"
"https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_250101.dtd">
<PubmedArticleSet><PubmedArticle><MedlineCitation Status="MEDLINE" Owner="NLM"><PMID Version="1">31978945</PMID>
<Article PubModel="Print"><Journal><ISSN IssnType="Electronic">1533-4406</ISSN>
<JournalIssue CitedMedium="Internet"><PubDate><Year>2020</Year><Month>Feb</Month><Day>20</Day></PubDate>
</JournalIssue>
<Title>The New England journal of medicine</Title></Journal>
<ArticleTitle>A novel <i>coronavirus</i> in 2019.</ArticleTitle>
<Abstract><AbstractText Label="BACKGROUND" NlmCategory="BACKGROUND">In December 2019&#x2026;</AbstractText>
<AbstractText Label="RESULTS">Found H<sub>2</sub>.</AbstractText></Abstract>
<AuthorList CompleteYN="Y">
<Author ValidYN="Y">
<LastName>Zhu</LastName><ForeName>Na</ForeName><Initials>N</Initials></Author>
<Author><CollectiveName>China Team</CollectiveName></Author></AuthorList></Article></MedlineCitation>
<PubmedData><ArticleIdList><ArticleId IdType="pubmed">31978945</ArticleId>
<ArticleId IdType="doi">10.1056/NEJMoa2001017</ArticleId></ArticleIdList></PubmedData></PubmedArticle>
</PubmedArticleSet>"""


FOUND = {
    "header": {"type": "esearch", "version": "0.3"},
    "esearchresult": {"count": "7", "retmax": "1", "retstart": "0", "idlist": ["31978945"], "querytranslation": "x"},
}


def test_pubmed():
    pages = {"/esearch.fcgi": FOUND, "/efetch.fcgi": lambda _: web.Response(text=ARTICLES, content_type="text/xml")}
    result, requests = ask(
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
    assert requests[0].query["term"] == "novel coronavirus"
    assert requests[1].query == {
        "db": "pubmed",
        "tool": "treadle",
        "email": "a@b.example",
        "api_key": "k",
        "id": "31978945",
        "retmode": "xml",
        "rettype": "abstract",
    }


def test_pubmed_finds_nothing_or_refuses():
    result, requests = ask(
        lambda url: pubmed(base_url=url),
        {"/esearch.fcgi": {"esearchresult": {"count": "0", "idlist": []}}},
        query="xyzzy",
    )
    assert (result.articles, len(requests)) == ((), 1)
    with pytest.raises(ToolError, match="Empty term"):
        ask(
            lambda url: pubmed(base_url=url),
            {"/esearch.fcgi": {"esearchresult": {"ERROR": "Empty term and query_key"}}},
            query="x",
        )
