"""arXiv: preprints in physics, mathematics, computer science and more, through its Atom API."""

from __future__ import annotations

import re
from xml.etree.ElementTree import Element

from msgspec import Struct

from treadle._safety.bounds import Count, Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import Query, check_status, client_for, clip
from treadle._tools.builtin.http.client import GuardedClient
from treadle._tools.builtin.reading.xml import parse_xml, text_of
from treadle._tools.function import tool
from treadle._types.errors import ToolError

_ID = re.compile(r"(?:arxiv:)?(\d{4}\.\d{4,5}(?:v\d+)?|[a-z-]+(?:\.[A-Z]{2})?/\d{7}(?:v\d+)?)", re.I)
_FIELD = re.compile(r"\b(?:ti|au|abs|co|jr|cat|rn|all):")


class Paper(Struct, frozen=True, omit_defaults=True):
    id: str
    title: str
    authors: tuple[str, ...]
    published: str
    summary: str
    url: str
    pdf: str = ""
    categories: tuple[str, ...] = ()


class ArxivResult(Struct, frozen=True):
    query: str
    papers: tuple[Paper, ...]


@bounded
def arxiv(
    *,
    base_url: str = "https://export.arxiv.org/api/query",
    limit: Count = 3,
    max_chars: Count = 1_500,
    timeout: Seconds = 20.0,
    client: GuardedClient | None = None,
) -> Tool:
    """`max_chars` limits the length of each abstract."""
    web = client_for(client, base_url, timeout)

    async def ask(**params: str | int) -> tuple[Paper, ...]:
        response = await web.get(base_url, params={"start": 0, "max_results": limit, **params}, timeout=timeout)
        check_status(response, "arXiv")
        return tuple(_paper(entry, max_chars) for entry in parse_xml(response.body).findall("entry")[:limit])

    @tool(effect="pure", timeout=2 * timeout + 5, untrusted="arxiv.org")
    async def arxiv(query: Query) -> ArxivResult:
        """Search arXiv for papers by words, fields (ti: au: abs: cat:) or arXiv id. Returns titles, authors and
        abstracts."""
        paper_id = _ID.fullmatch(query.strip())
        if paper_id:
            return ArxivResult(query, await ask(id_list=paper_id[1]))
        papers = await ask(search_query=_expression(query, "AND"), sortBy="relevance")
        if not papers and not _FIELD.search(query):
            papers = await ask(search_query=_expression(query, "OR"), sortBy="relevance")
        return ArxivResult(query, papers)

    return arxiv


def _expression(query: str, operator: str) -> str:
    """A query in arXiv's own syntax as it is; plain words joined, each searched in all fields."""
    if _FIELD.search(query):
        return query
    terms = re.findall(r"[\w-]+", query)[:20]
    if not terms:
        raise ToolError("the query contains no words")
    return f" {operator} ".join(f"all:{term}" for term in terms)


def _paper(entry: Element, max_chars: int) -> Paper:
    address = text_of(entry, "id")
    if "/api/errors" in address:
        raise ToolError(f"arXiv refused the query: {clip(text_of(entry, 'summary'), 200)}")
    links = entry.findall("link")
    return Paper(
        id=address.rpartition("/abs/")[2],
        title=text_of(entry, "title"),
        authors=tuple(text_of(author, "name") for author in entry.findall("author")[:10]),
        published=text_of(entry, "published")[:10],
        summary=clip(text_of(entry, "summary"), max_chars),
        url=address,
        pdf=next((link.get("href", "") for link in links if link.get("title") == "pdf"), ""),
        categories=tuple(category.get("term", "") for category in entry.findall("category")[:5]),
    )
