"""PubMed: biomedical literature, through the E-utilities of the US National Library of Medicine."""

from __future__ import annotations

import os
from typing import Any
from xml.etree.ElementTree import Element

from msgspec import Struct, field

from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import Query, check_status, client_for, clip, read_as
from treadle._tools.builtin.http.client import GuardedClient
from treadle._tools.builtin.reading.xml import parse_xml, text_of
from treadle._tools.function import tool
from treadle._types.errors import ToolError


class MedicalArticle(Struct, frozen=True, omit_defaults=True):
    pmid: str
    title: str
    authors: tuple[str, ...]
    journal: str
    date: str
    abstract: str
    url: str
    doi: str = ""


class PubmedResult(Struct, frozen=True):
    query: str
    total: int
    articles: tuple[MedicalArticle, ...]


class _SearchResult(Struct):
    idlist: tuple[str, ...] = ()
    count: int = 0
    error: Any = field(default=None, name="ERROR")


class _Search(Struct):
    esearchresult: _SearchResult


@bounded
def pubmed(
    *,
    key: str | None = None,
    email: str = "",
    base_url: str = "https://eutils.ncbi.nlm.nih.gov/entrez/eutils",
    limit: Count = 3,
    max_chars: Count = 2_000,
    timeout: Seconds = 20.0,
    client: GuardedClient | None = None,
) -> Tool:
    """Needs no API key; one (or NCBI_API_KEY) allows more requests a second. `max_chars` limits each abstract."""
    web = client_for(client, base_url, timeout, key=key)

    def common() -> dict[str, str | int]:
        secret = key or os.environ.get("NCBI_API_KEY", "")
        return {
            "db": "pubmed",
            "tool": "treadle",
            **({"email": email} if email else {}),
            **({"api_key": secret} if secret else {}),
        }

    @tool(effect="pure", timeout=2 * timeout + 5, untrusted="PubMed")
    async def pubmed(query: Query) -> PubmedResult:
        """Search PubMed for biomedical articles. Returns titles, authors, journals and abstracts."""
        search = {**common(), "term": query, "retmax": limit, "retmode": "json", "sort": "relevance"}
        response = await web.get(f"{base_url}/esearch.fcgi", params=search, timeout=timeout)
        result = read_as(response, _Search, "PubMed", "NCBI_API_KEY", str(search.get("api_key", ""))).esearchresult
        if result.error:
            raise ToolError(f"PubMed refused the query: {clip(str(result.error), 200)}")
        if not result.idlist:
            return PubmedResult(query, result.count, ())
        fetch = {**common(), "id": ",".join(result.idlist[:limit]), "retmode": "xml", "rettype": "abstract"}
        response = await web.get(f"{base_url}/efetch.fcgi", params=fetch, timeout=timeout)
        check_status(response, "PubMed", "NCBI_API_KEY", str(fetch.get("api_key", "")))
        articles = tuple(_article(entry, max_chars) for entry in parse_xml(response.body).findall("PubmedArticle"))
        return PubmedResult(query, result.count, articles)

    return pubmed


def _article(entry: Element, max_chars: int) -> MedicalArticle:
    article = entry.find("MedlineCitation/Article")
    pmid = text_of(entry, "MedlineCitation/PMID")
    parts = article.findall("Abstract/AbstractText") if article is not None else []
    abstract = "\n".join(
        f"{label}: {text_of(part)}" if (label := part.get("Label")) else text_of(part) for part in parts
    )
    names = article.findall("AuthorList/Author")[:10] if article is not None else []
    doi = next(
        (text_of(id) for id in entry.findall("PubmedData/ArticleIdList/ArticleId") if id.get("IdType") == "doi"), ""
    )
    return MedicalArticle(
        pmid=pmid,
        title=text_of(article, "ArticleTitle"),
        authors=tuple(
            text_of(name, "CollectiveName") or f"{text_of(name, 'ForeName')} {text_of(name, 'LastName')}".strip()
            for name in names
        ),
        journal=text_of(article, "Journal/Title"),
        date=_date(article.find("Journal/JournalIssue/PubDate") if article is not None else None),
        abstract=clip(abstract, max_chars),
        url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
        doi=doi,
    )


def _date(element: Element | None) -> str:
    parts = (text_of(element, name) for name in ("Year", "Month", "Day", "MedlineDate"))
    return " ".join(part for part in parts if part)
