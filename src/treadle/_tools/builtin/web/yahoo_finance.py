"""Prices of shares, funds, indices, currencies and crypto-currencies, from Yahoo Finance."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from urllib.parse import quote

from msgspec import Meta, Struct

from treadle._safety.bounds import Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import client_for, clip, read_as
from treadle._tools.builtin.http.client import GuardedClient, HttpResponse
from treadle._tools.function import tool
from treadle._types.errors import ToolError

_SYMBOL = re.compile(r"[A-Za-z0-9.^=\-]{1,20}")
_INTERVALS = {"1d": "30m", "5d": "1d", "1mo": "1d", "3mo": "1wk", "6mo": "1wk", "1y": "1mo", "5y": "3mo"}


class Close(Struct, frozen=True):
    date: str
    close: float


class Quote(Struct, frozen=True, omit_defaults=True):
    symbol: str
    price: float
    currency: str
    time: str
    name: str = ""
    exchange: str = ""
    change_percent: float | None = None
    """Over the whole period."""
    day_low: float | None = None
    day_high: float | None = None
    year_low: float | None = None
    year_high: float | None = None
    volume: int | None = None
    history: tuple[Close, ...] = ()


class _Meta(Struct, rename="camel"):
    symbol: str
    regular_market_price: float
    regular_market_time: int = 0
    currency: str | None = None
    long_name: str | None = None
    short_name: str | None = None
    full_exchange_name: str | None = None
    chart_previous_close: float | None = None
    regular_market_day_low: float | None = None
    regular_market_day_high: float | None = None
    fifty_two_week_low: float | None = None
    fifty_two_week_high: float | None = None
    regular_market_volume: int | None = None
    gmtoffset: int = 0


class _Prices(Struct):
    close: tuple[float | None, ...] = ()


class _Indicators(Struct):
    quote: tuple[_Prices, ...] = ()


class _Chart(Struct):
    meta: _Meta
    indicators: _Indicators
    timestamp: tuple[int, ...] = ()


class _Charts(Struct):
    result: tuple[_Chart, ...] | None = None
    error: dict[str, Any] | None = None


class _Response(Struct):
    chart: _Charts


class _Match(Struct):
    symbol: str = ""
    shortname: str = ""


class _Matches(Struct):
    quotes: tuple[_Match, ...] = ()


_Symbol = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=60,
        description="Yahoo symbol (AAPL, SAP.DE, ^GSPC, EURUSD=X, BTC-USD), or a name",
    ),
]
_Period = Annotated[
    str, Meta(description="How far the history goes back", extra_json_schema={"enum": list(_INTERVALS)})
]


@bounded
def yahoo_finance(
    *,
    base_url: str = "https://query1.finance.yahoo.com",
    timeout: Seconds = 15.0,
    client: GuardedClient | None = None,
) -> Tool:
    web = client_for(client, base_url, timeout)

    async def search(text: str) -> tuple[_Match, ...]:
        response = await web.get(
            f"{base_url}/v1/finance/search", params={"q": text, "quotesCount": 5, "newsCount": 0}, timeout=timeout
        )
        return tuple(match for match in read_as(response, _Matches, "Yahoo Finance").quotes if match.symbol)

    async def chart(symbol: str, period: str) -> HttpResponse:
        address = f"{base_url}/v8/finance/chart/{quote(symbol.upper(), safe='')}"
        return await web.get(address, params={"range": period, "interval": _INTERVALS[period]}, timeout=timeout)

    @tool(effect="pure", timeout=2 * timeout + 5, untrusted="Yahoo Finance")
    async def yahoo_finance(symbol: _Symbol, period: _Period = "1mo") -> Quote:
        """The price of a share, fund, index, currency pair or crypto-currency and its recent history."""
        response = await chart(symbol, period) if _SYMBOL.fullmatch(symbol) else None
        if response is None or response.status == 404:
            matches = await search(symbol)
            if response is not None or not matches:  # a symbol that does not exist is not silently replaced by another
                similar = "; ".join(f"{match.symbol} ({match.shortname})" for match in matches[:5])
                raise ToolError(
                    f"Yahoo Finance has no symbol {symbol!r}" + (f". Similar: {similar}" if similar else "")
                )
            response = await chart(matches[0].symbol, period)
        charts = read_as(response, _Response, "Yahoo Finance").chart
        if not charts.result:
            raise ToolError(f"Yahoo Finance: {clip(str((charts.error or {}).get('description', 'no data')), 200)}")
        return _quote(charts.result[0], period)

    return yahoo_finance


def _quote(chart: _Chart, period: str) -> Quote:
    meta = chart.meta
    prices = chart.indicators.quote[0].close if chart.indicators.quote else ()
    form = "%Y-%m-%d %H:%M" if period == "1d" else "%Y-%m-%d"
    points = ((at, price) for at, price in zip(chart.timestamp, prices, strict=False) if price is not None)
    previous = meta.chart_previous_close
    return Quote(
        symbol=meta.symbol,
        price=meta.regular_market_price,
        currency=meta.currency or "",
        time=_to_datetime(meta.regular_market_time).isoformat(),
        name=meta.long_name or meta.short_name or "",
        exchange=meta.full_exchange_name or "",
        change_percent=round((meta.regular_market_price / previous - 1) * 100, 2) if previous else None,
        day_low=meta.regular_market_day_low,
        day_high=meta.regular_market_day_high,
        year_low=meta.fifty_two_week_low,
        year_high=meta.fifty_two_week_high,
        volume=meta.regular_market_volume,
        history=tuple(Close(_to_datetime(at + meta.gmtoffset).strftime(form), round(price, 4)) for at, price in points)[
            -60:
        ],
    )


def _to_datetime(seconds: int) -> datetime:
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    except OverflowError:
        raise ToolError("Yahoo Finance sent an invalid timestamp") from None
