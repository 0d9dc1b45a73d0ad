from __future__ import annotations

from kit import row
from treadle._tools.docstring import parse_docstring

GOOGLE = """Find books.

More about it.

Args:
    title (str): part of the title,
        in any case
    limit (dict(str, int), optional): how many: at most
    **options: the rest

Returns:
    list: the books
"""

NUMPY = """
Find books.

Parameters
----------
title : str
    part of the title,
    in any case
limit, offset : int, optional
    how many

Returns
-------
list
    the books
"""

REST = """Find books.

:param title: part of the title,
    in any case
:param int limit: how many
:type limit: int
:returns: the books
"""


def test_google() -> None:
    assert parse_docstring(GOOGLE) == (
        "Find books.",
        {"title": "part of the title, in any case", "limit": "how many: at most", "options": "the rest"},
    )


def test_numpy() -> None:
    assert parse_docstring(NUMPY) == (
        "Find books.",
        {"title": "part of the title, in any case", "limit": "how many", "offset": "how many"},
    )


def test_rest() -> None:
    assert parse_docstring(REST) == ("Find books.", {"title": "part of the title, in any case", "limit": "how many"})


def test_the_first_paragraph_may_have_several_lines_and_sections_may_follow_directly() -> None:
    assert parse_docstring("Find\n  books.\nArgs:\n    a: x") == ("Find books.", {"a": "x"})
    assert parse_docstring("Find books.\n:param a: x") == ("Find books.", {"a": "x"})


def test_odd_docstrings_do_no_harm() -> None:
    for doc in (
        None,
        "",
        "   \n ",
        "Args:",
        "Parameters\n---",
        ":param:",
        ":param :",
        "Args:\n\n\n",
        "Args:\n  no colon here",
    ):
        with row(doc):
            description, parameters = parse_docstring(doc)
            assert description == ""
            assert not any(parameters.values())
