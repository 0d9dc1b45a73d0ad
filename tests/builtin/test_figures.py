"""Weather and prices against servers that speak like the real ones."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from treadle._tools.builtin.web.qweather import qweather
from treadle._tools.builtin.web.yahoo_finance import Close, yahoo_finance
from treadle._types.errors import ToolError

from .web import ask, use

CITY = {
    "code": "200",
    "location": [
        {
            "name": "Beijing",
            "id": "101010100",
            "lat": "39.90",
            "lon": "116.40",
            "adm2": "Beijing",
            "adm1": "Beijing",
            "country": "China",
            "tz": "Asia/Shanghai",
            "utcOffset": "+08:00",
            "isDst": "0",
            "type": "city",
            "rank": "10",
            "fxLink": "x",
        }
    ],
    "refer": {"sources": ["QWeather"]},
}
NOW = {
    "code": "200",
    "updateTime": "2020-06-30T22:00+08:00",
    "fxLink": "http://hfx.link/2ax1",
    "now": {
        "obsTime": "2020-06-30T21:40+08:00",
        "temp": "24",
        "feelsLike": "26",
        "icon": "101",
        "text": "Cloudy",
        "wind360": "123",
        "windDir": "SE",
        "windScale": "1",
        "windSpeed": "3",
        "humidity": "72",
        "precip": "0.0",
        "pressure": "1003",
        "vis": "16",
        "cloud": "10",
        "dew": "21",
    },
}
DAY = {
    "fxDate": "2021-11-15",
    "sunrise": "06:58",
    "sunset": "16:59",
    "moonrise": "15:16",
    "tempMax": "12",
    "tempMin": "-1",
    "iconDay": "101",
    "textDay": "Cloudy",
    "textNight": "Sunny",
    "humidity": "65",
    "precip": "0.0",
    "uvIndex": "3",
}
WEATHER: dict[str, Any] = {
    "/geo/v2/city/lookup": CITY,
    "/v7/weather/now": NOW,
    "/v7/weather/3d": {"code": "200", "daily": [DAY] * 3},
    "/v7/weather/7d": {"code": "200", "daily": [DAY] * 7},
}


def test_weather_now_and_later():
    result, asked = ask(lambda url: qweather(key="k", base_url=url), WEATHER, location="beijing", days=2)
    assert (result.place, result.now.temp, result.now.text, result.now.observed) == (
        "Beijing, China",
        24.0,
        "Cloudy",
        "2020-06-30T21:40+08:00",
    )
    assert [(day.date, day.low, day.high) for day in result.forecast] == [("2021-11-15", -1.0, 12.0)] * 2
    assert [one.path for one in asked] == ["/geo/v2/city/lookup", "/v7/weather/now", "/v7/weather/3d"]
    assert all(one.headers["x-qw-api-key"] == "k" for one in asked)
    assert asked[1].query == {"lang": "en", "location": "101010100", "unit": "m"}


def test_weather_without_forecast_and_for_a_week():
    _, asked = ask(lambda url: qweather(key="k", base_url=url, unit="imperial"), WEATHER, location="116.412345, 39.9")
    assert (len(asked), asked[0].query["location"], asked[1].query["unit"]) == (2, "116.41,39.90", "i")
    result, _ = ask(lambda url: qweather(key="k", base_url=url), WEATHER, location="beijing", days=7)
    assert len(result.forecast) == 7


@pytest.mark.parametrize(
    ("pages", "said"),
    [
        ({"*": {"code": "404"}}, "nothing for 'nowhere'"),
        ({"*": {"code": "200", "location": []}}, "no place called 'nowhere'"),
        (
            {
                "*": lambda _: web.json_response(
                    {"error": {"status": 400, "title": "Not Found", "detail": "No location"}}, status=400
                )
            },
            "no place called",
        ),
        ({"*": {"code": "401"}}, "check QWEATHER_API_KEY"),
        ({"*": {"code": "402"}}, "quota"),
        (
            {"*": lambda _: web.json_response({"error": {"status": 403, "title": "Invalid Host"}}, status=403)},
            "check QWEATHER_API_KEY",
        ),
    ],
)
def test_weather_that_cannot_be_had(pages: dict[str, Any], said: str):
    with pytest.raises(ToolError, match=said):
        ask(lambda url: qweather(key="k", base_url=url), pages, location="nowhere")


def test_weather_needs_a_key_and_a_host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("QWEATHER_API_KEY", raising=False)
    monkeypatch.delenv("QWEATHER_API_HOST", raising=False)
    with pytest.raises(ToolError, match="set QWEATHER_API_KEY"):
        asyncio.run(use(qweather(), location="x"))
    with pytest.raises(ToolError, match="set QWEATHER_API_HOST"):
        asyncio.run(use(qweather(key="k"), location="x"))


CHART = {
    "chart": {
        "error": None,
        "result": [
            {
                "meta": {
                    "currency": "USD",
                    "symbol": "AAPL",
                    "exchangeName": "NMS",
                    "fullExchangeName": "NasdaqGS",
                    "instrumentType": "EQUITY",
                    "regularMarketTime": 1700000000,
                    "gmtoffset": -18000,
                    "timezone": "EST",
                    "regularMarketPrice": 187.44,
                    "fiftyTwoWeekHigh": 198.23,
                    "fiftyTwoWeekLow": 124.17,
                    "regularMarketDayHigh": 188.11,
                    "regularMarketDayLow": 186.3,
                    "regularMarketVolume": 60108400,
                    "longName": "Apple Inc.",
                    "shortName": "Apple Inc.",
                    "chartPreviousClose": 178.85,
                    "priceHint": 2,
                },
                "timestamp": [1699626600, 1699885800, 1699972200],
                "indicators": {
                    "quote": [{"close": [186.3999938964844, None, 187.44000244140625], "volume": [1, None, 2]}],
                    "adjclose": [{"adjclose": [186.4, None, 187.4]}],
                },
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
    result, asked = ask(lambda url: yahoo_finance(base_url=url), {"/v8/finance/chart/AAPL": CHART}, symbol="aapl")
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
    assert asked[0].query == {"range": "1mo", "interval": "1d"}


def test_a_name_is_looked_up():
    result, asked = ask(
        lambda url: yahoo_finance(base_url=url),
        {"/v1/finance/search": MATCHES, "/v8/finance/chart/AAPL": CHART},
        symbol="Apple Inc",
        period="1y",
    )
    assert result.symbol == "AAPL"
    assert asked[0].query["q"] == "Apple Inc"
    assert asked[1].query == {"range": "1y", "interval": "1mo"}


def test_an_unknown_symbol_gets_offers_and_no_silent_replacement():
    pages = {"/v1/finance/search": MATCHES, "*": lambda _: web.json_response(NOT_FOUND, status=404)}
    with pytest.raises(ToolError, match=r"no symbol 'APPL'. Similar: AAPL \(Apple Inc.\)"):
        ask(lambda url: yahoo_finance(base_url=url), pages, symbol="APPL")


def test_a_symbol_cannot_leave_its_place_in_the_path():
    pages = {"/v1/finance/search": {"quotes": []}}
    for symbol in ("../../x", "AAPL?x=1", "a/b", "AAPL#"):
        with pytest.raises(ToolError, match="no symbol"):
            ask(lambda url: yahoo_finance(base_url=url), pages, symbol=symbol)


@pytest.mark.parametrize(
    "chart",
    [
        {"chart": {"result": None, "error": {"description": "Internal"}}},
        {"chart": {"result": []}},
        {},
        {"chart": {"result": [{"meta": {}}]}},
    ],
)
def test_prices_that_cannot_be_had(chart: Any):
    with pytest.raises(ToolError):
        ask(lambda url: yahoo_finance(base_url=url), {"*": chart}, symbol="AAPL")


def test_impossible_times():
    broken = {"chart": {"result": [{**CHART["chart"]["result"][0], "timestamp": [10**18, 1, 2]}]}}
    with pytest.raises(ToolError, match="time that is none"):
        ask(lambda url: yahoo_finance(base_url=url), {"*": broken}, symbol="AAPL")
