"""The page in Firefox: a question with tools, an approval, the inspector, all runs, a phone."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from server.serving import serving

from .firefox import FIREFOX, firefox
from .stage import Gates, guide

ENTER = "\ue007"
ALLOW = "[...document.querySelectorAll('.approval button')].find((one) => one.textContent.trim() === 'Allow')"
SUMMED = "document.querySelector('.totals:not(.not-yet)') && document.querySelectorAll('.run').length === 2"


@pytest.mark.skipif(FIREFOX is None, reason="there is no Firefox: install it (Debian: apt-get install firefox-esr)")
def test_the_page_in_firefox(built_page: None):
    async def main(address: str) -> None:
        async with firefox() as page:
            await page.go(address)
            await page.until("document.querySelector('.welcome')")
            await page.ask("document.getElementById('composer').focus()")
            await page.type(f"Which is taller, the Eiffel Tower or the Empire State Building?{ENTER}")
            await page.until("document.querySelectorAll('.turn-foot').length === 1")
            assert await page.ask("document.querySelectorAll('.tool').length") == 2
            assert await page.ask("document.querySelector('.answer table') !== null")
            assert "$" in await page.ask("document.querySelector('.turn-foot').textContent")
            await page.ask("document.getElementById('composer').focus()")
            await page.type(f"Write Ann a mail.{ENTER}")
            await page.until("document.querySelector('.approval')")
            await page.ask(f"{ALLOW}.click()")
            await page.until("document.querySelectorAll('.turn-foot').length === 2")
            await page.ask("document.querySelector('[aria-label=\"Inspect this run\"]').click()")
            await page.until("document.querySelector('.inspector .record')")
            await page.go(f"{address}/#/runs")
            await page.until(SUMMED)
            await page.go(f"{address}/#/agents")
            await page.until("document.querySelector('.try')")
            await page.resize(390, 844)
            await page.until("innerWidth === 390")
            assert await page.ask("document.documentElement.scrollWidth <= innerWidth")
            assert page.errors == []

    with serving({"guide": guide(Gates())}) as client, ThreadPoolExecutor(1) as other:  # this one has a loop running
        other.submit(asyncio.run, main(client.address)).result()
