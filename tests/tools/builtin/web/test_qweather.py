"""Weather against a server that answers like QWeather."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from aiohttp import web

from kit import row
from tools.builtin.loopback import ask, use
from treadle._tools.builtin.web.qweather import qweather
from treadle._types.errors import ToolError

CITY = {
    "code": "200",
    "location": [{"name": "Beijing", "id": "101010100", "lat": "39.90", "adm1": "Beijing", "country": "China"}],
    "refer": {"sources": ["QWeather"]},
}


NOW = {
    "code": "200",
    "updateTime": "2020-06-30T22:00+08:00",
    "now": {
        "obsTime": "2020-06-30T21:40+08:00",
        "temp": "24",
        "feelsLike": "26",
        "icon": "101",
        "text": "Cloudy",
        "windDir": "SE",
        "windSpeed": "3",
        "humidity": "72",
        "precip": "0.0",
        "pressure": "1003",
    },
}


DAY = {
    "fxDate": "2021-11-15",
    "sunrise": "06:58",
    "sunset": "16:59",
    "tempMax": "12",
    "tempMin": "-1",
    "iconDay": "101",
    "textDay": "Cloudy",
    "textNight": "Sunny",
    "humidity": "65",
    "precip": "0.0",
}


WEATHER: dict[str, Any] = {
    "/geo/v2/city/lookup": CITY,
    "/v7/weather/now": NOW,
    "/v7/weather/3d": {"code": "200", "daily": [DAY] * 3},
    "/v7/weather/7d": {"code": "200", "daily": [DAY] * 7},
}


def test_weather_now_and_later():
    result, requests = ask(lambda url: qweather(key="k", base_url=url), WEATHER, location="beijing", days=2)
    assert (result.place, result.now.temp, result.now.text, result.now.observed) == (
        "Beijing, China",
        24.0,
        "Cloudy",
        "2020-06-30T21:40+08:00",
    )
    assert [(day.date, day.low, day.high) for day in result.forecast] == [("2021-11-15", -1.0, 12.0)] * 2
    assert [request.path for request in requests] == ["/geo/v2/city/lookup", "/v7/weather/now", "/v7/weather/3d"]
    assert all(request.headers["x-qw-api-key"] == "k" for request in requests)
    assert requests[1].query == {"lang": "en", "location": "101010100", "unit": "m"}


def test_weather_without_forecast_and_for_a_week():
    _, requests = ask(
        lambda url: qweather(key="k", base_url=url, unit="imperial"), WEATHER, location="116.412345, 39.9"
    )
    assert (len(requests), requests[0].query["location"], requests[1].query["unit"]) == (2, "116.41,39.90", "i")
    result, _ = ask(lambda url: qweather(key="k", base_url=url), WEATHER, location="beijing", days=7)
    assert len(result.forecast) == 7


def test_weather_that_is_not_available():
    not_found = {"error": {"status": 400, "title": "Not Found", "detail": "No location"}}
    invalid = {"error": {"status": 403, "title": "Invalid Host"}}
    for page, message in (
        ({"code": "404"}, "no data for 'nowhere'"),
        ({"code": "200", "location": []}, "no place named 'nowhere'"),
        (lambda _: web.json_response(not_found, status=400), "no place named"),
        ({"code": "401"}, "check QWEATHER_API_KEY"),
        ({"code": "402"}, "quota"),
        (lambda _: web.json_response(invalid, status=403), "check QWEATHER_API_KEY"),
    ):
        with row(message), pytest.raises(ToolError, match=message):
            ask(lambda url: qweather(key="k", base_url=url), {"*": page}, location="nowhere")


def test_weather_needs_a_key_and_a_host(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("QWEATHER_API_KEY", raising=False)
    monkeypatch.delenv("QWEATHER_API_HOST", raising=False)
    with pytest.raises(ToolError, match="set QWEATHER_API_KEY"):
        asyncio.run(use(qweather(), location="x"))
    with pytest.raises(ToolError, match="set QWEATHER_API_HOST"):
        asyncio.run(use(qweather(key="k"), location="x"))
