"""Prices against a server that answers like Yahoo Finance."""

from __future__ import annotations

import pytest
from aiohttp import web

from kit import row
from tools.builtin.loopback import ask
from treadle._tools.builtin.web.yahoo_finance import Close, yahoo_finance
from treadle._types.errors import ToolError

CHART = {
    "chart": {
        "error": None,
        "result": [
            {
                "meta": {
                    "currency": "USD",
                    "symbol": "AAPL",
                    "fullExchangeName": "NasdaqGS",
                    "regularMarketTime": 1700000000,
                    "gmtoffset": -18000,
                    "regularMarketPrice": 187.44,
                    "fiftyTwoWeekHigh": 198.23,
                    "fiftyTwoWeekLow": 124.17,
                    "regularMarketDayHigh": 188.11,
                    "regularMarketDayLow": 186.3,
                    "regularMarketVolume": 60108400,
                    "longName": "Apple Inc.",
                    "shortName": "Apple Inc.",
                    "chartPreviousClose": 178.85,
                },
                "timestamp": [1699626600, 1699885800, 1699972200],
                "indicators": {"quote": [{"close": [186.3999938964844, None, 187.44000244140625]}]},
            }
        ],
    }
}


MATCHES = {
    "count": 1,
    "quotes": [
        {"exchange": "NMS", "shortname": "Apple Inc.", "quoteType": "EQUITY", "symbol": "AAPL", "isYahooFinance": True},
        {"index": "x", "name": "no symbol"},
    ],
    "news": [],
}


NOT_FOUND = {
    "chart": {"result": None, "error": {"code": "Not Found", "description": "No data found, symbol may be delisted"}}
}


def test_a_price():
    result, requests = ask(lambda url: yahoo_finance(base_url=url), {"/v8/finance/chart/AAPL": CHART}, symbol="aapl")
    assert (result.symbol, result.price, result.currency, result.name, result.exchange) == (
        "AAPL",
        187.44,
        "USD",
        "Apple Inc.",
        "NasdaqGS",
    )
    assert result.change_percent == 4.8
    assert result.history == (Close("2023-11-10", 186.4), Close("2023-11-14", 187.44))
    assert result.time == "2023-11-14T22:13:20+00:00"
    assert requests[0].query == {"range": "1mo", "interval": "1d"}


def test_a_name_is_looked_up():
    result, requests = ask(
        lambda url: yahoo_finance(base_url=url),
        {"/v1/finance/search": MATCHES, "/v8/finance/chart/AAPL": CHART},
        symbol="Apple Inc",
        period="1y",
    )
    assert result.symbol == "AAPL"
    assert requests[0].query["q"] == "Apple Inc"
    assert requests[1].query == {"range": "1y", "interval": "1mo"}


def test_an_unknown_symbol_gets_offers_and_no_silent_replacement():
    pages = {"/v1/finance/search": MATCHES, "*": lambda _: web.json_response(NOT_FOUND, status=404)}
    with pytest.raises(ToolError, match=r"no symbol 'APPL'. Similar: AAPL \(Apple Inc.\)"):
        ask(lambda url: yahoo_finance(base_url=url), pages, symbol="APPL")


def test_a_symbol_cannot_leave_its_place_in_the_path():
    pages = {"/v1/finance/search": {"quotes": []}}
    for symbol in ("../../x", "AAPL?x=1", "a/b", "AAPL#"):
        with pytest.raises(ToolError, match="no symbol"):
            ask(lambda url: yahoo_finance(base_url=url), pages, symbol=symbol)


def test_prices_that_are_not_available():
    for chart, message in (
        ({"chart": {"result": None, "error": {"description": "Internal"}}}, "Internal"),
        ({"chart": {"result": []}}, "no data"),
        ({}, "expected form"),
        ({"chart": {"result": [{"meta": {}}]}}, "expected form"),
        ({"chart": {"result": [{**CHART["chart"]["result"][0], "timestamp": [10**18, 1, 2]}]}}, "invalid timestamp"),
    ):
        with row(message), pytest.raises(ToolError, match=message):
            ask(lambda url: yahoo_finance(base_url=url), {"*": chart}, symbol="AAPL")
