"""Weather now and in the coming days, from QWeather."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeVar

from msgspec import Meta, Struct

from treadle._safety.bounds import Seconds, bounded
from treadle._tools.base import Tool
from treadle._tools.builtin.common import client_for, clip, read_as, required_setting
from treadle._tools.builtin.http.client import GuardedClient
from treadle._tools.function import tool
from treadle._types.errors import ToolError


class Now(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename={"observed": "obsTime", "feels_like": "feelsLike", "wind": "windDir", "wind_speed": "windSpeed"},
):
    temp: float
    text: str = ""
    feels_like: float | None = None
    humidity: float | None = None
    wind: str = ""
    wind_speed: float | None = None
    precip: float | None = None
    pressure: float | None = None
    observed: str = ""


class Day(
    Struct,
    frozen=True,
    omit_defaults=True,
    rename={"date": "fxDate", "low": "tempMin", "high": "tempMax", "day": "textDay", "night": "textNight"},
):
    date: str
    low: float
    high: float
    day: str = ""
    night: str = ""
    precip: float | None = None
    humidity: float | None = None
    sunrise: str | None = None
    sunset: str | None = None


class Weather(Struct, frozen=True, omit_defaults=True):
    place: str
    units: str
    now: Now
    forecast: tuple[Day, ...] = ()


class _Place(Struct):
    id: str
    name: str
    adm1: str = ""
    country: str = ""


class _Places(Struct):
    code: str = "200"
    location: tuple[_Place, ...] = ()


class _NowResponse(Struct):
    code: str = "200"
    now: Now | None = None


class _DailyResponse(Struct):
    code: str = "200"
    daily: tuple[Day, ...] = ()


A = TypeVar("A", _Places, _NowResponse, _DailyResponse)
_NOT_FOUND = ("404", "204")
_WHERE_TO_FIND_HOST = "console.qweather.com, Settings, API Host"

_Location = Annotated[
    str, Meta(min_length=2, max_length=100, description="A city, or longitude,latitude like 116.41,39.92")
]
_Days = Annotated[int, Meta(ge=0, le=7, description="How many days of forecast to add")]


@bounded
def qweather(
    *,
    key: str | None = None,
    host: str | None = None,
    base_url: str = "",
    language: str = "en",
    unit: Literal["metric", "imperial"] = "metric",
    timeout: Seconds = 15.0,
    client: GuardedClient | None = None,
) -> Tool:
    """`host` is the account's own API host (or QWEATHER_API_HOST); `base_url` takes precedence over it."""
    web = client_for(client, base_url, timeout, key=key)
    units = "°C, km/h, mm, hPa" if unit == "metric" else "°F, mph, in, hPa"

    async def ask(path: str, shape: type[A], place: str, **params: str) -> A:
        secret = required_setting(key, "QWEATHER_API_KEY", "QWeather", "console.qweather.com")
        server = base_url or f"https://{required_setting(host, 'QWEATHER_API_HOST', 'QWeather', _WHERE_TO_FIND_HOST)}"
        query, headers = {"lang": language, **params}, {"X-QW-Api-Key": secret}
        response = await web.get(f"{server}{path}", params=query, headers=headers, timeout=timeout)
        if response.status in (400, 404) and b"not" in response.body.lower() and b"found" in response.body.lower():
            raise _unknown_place(place)
        result = read_as(response, shape, "QWeather", "QWEATHER_API_KEY", secret)
        _check_code(result.code, place)
        return result

    @tool(effect="pure", timeout=3 * timeout + 5, untrusted="QWeather")
    async def qweather(location: _Location, days: _Days = 0) -> Weather:
        """The weather at a place now, and the forecast for up to 7 days."""
        lookup = {"location": _location(location), "number": "1"}
        places = (await ask("/geo/v2/city/lookup", _Places, location, **lookup)).location
        if not places:
            raise _unknown_place(location)
        place = places[0]
        at = {"location": place.id, "unit": "m" if unit == "metric" else "i"}
        now = (await ask("/v7/weather/now", _NowResponse, location, **at)).now
        if now is None:
            raise ToolError(f"QWeather has no current weather for {place.name}")
        span = 3 if days <= 3 else 7
        daily = (await ask(f"/v7/weather/{span}d", _DailyResponse, location, **at)).daily if days else ()
        full_name = ", ".join(dict.fromkeys(part for part in (place.name, place.adm1, place.country) if part))
        return Weather(full_name, units, now, daily[:days])

    return qweather


def _unknown_place(location: str) -> ToolError:
    return ToolError(f"QWeather knows no place named {location!r}: check the spelling, or give longitude,latitude")


def _location(text: str) -> str:
    """QWeather accepts coordinates with at most two decimals."""
    pair = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*", text)
    return f"{float(pair[1]):.2f},{float(pair[2]):.2f}" if pair else text


def _check_code(code: str, location: str) -> None:
    if code == "200":
        return
    if code in _NOT_FOUND:
        raise ToolError(f"QWeather has no data for {location!r}")
    problems = {
        "401": "the API key was refused: check QWEATHER_API_KEY",
        "402": "the account's quota is used up",
        "429": "too many requests: wait before trying again",
    }
    raise ToolError(f"QWeather: {problems.get(code, f'error code {clip(code, 20)}')}")
