"""Tools that do something."""

from __future__ import annotations

import random

from training.worlds import words as w
from training.worlds.domains import KINDS
from training.worlds.tools import Args, parameters, text_schema
from treadle import Tool


def actions(r: random.Random) -> list[tuple[Tool, Args, tuple[str, ...], str]]:
    """Tools that do something, with the arguments, ways to ask for it, and what to say then."""

    def done(**_: object) -> str:
        return r.choice(("done", "ok", "Done.", f"confirmed, number {r.randint(100, 9999)}", '{"ok": true}'))

    def tool(
        names: tuple[str, ...], description: str, properties: dict[str, Args], required: tuple[str, ...] | None = None
    ) -> Tool:
        return Tool(r.choice(names), description, parameters(properties, required), done, effect="unsafe")

    clock, date, who, n = w.clock(r), w.date(r), w.person(r), r.randint(1, 12)
    job = r.choice(
        (
            "water the plants",
            "call the plumber",
            "renew the passport",
            "send the contract",
            "buy stamps",
            "book the ferry",
        )
    )
    room, goods, song = KINDS["room"].keys(r), r.choice(w.PRODUCTS), KINDS["song"].keys(r)
    old, new, place, there = w.file_name(r), w.file_name(r), r.choice(w.CITIES), r.choice(w.CITIES)
    level = r.choice(("low", "normal", "high"))
    trouble = r.choice(("printer broken", "door does not lock", "screen flickers", "no network on floor two"))
    text, time, day, number = text_schema(), text_schema("HH:MM"), text_schema("YYYY-MM-DD"), {"type": "number"}
    whole = {"type": "integer"}
    return [
        (
            tool(("set_reminder", "add_reminder", "remind_me"), "Sets a reminder.", {"text": text, "time": time}),
            {"text": job, "time": clock},
            (f"Remind me at {clock} to {job}.", f"Set a reminder for {clock}: {job}."),
            f"I set a reminder for {clock}: {job}.",
        ),
        (
            tool(("book_room", "reserve_room"), "Reserves a room for a day.", {"room": text, "date": day}),
            {"room": room, "date": date},
            (f"Book {room} for {date}.", f"Please reserve {room} on {date}."),
            f"{w.capital(room)} is booked for {date}.",
        ),
        (
            tool(
                ("add_to_cart", "cart_add", "put_in_basket"),
                "Puts a product into the shopping cart.",
                {"product": text, "quantity": whole},
            ),
            {"product": goods, "quantity": n},
            (f"Put {n} of the {goods} into my cart.", f"Add the {goods} to the cart, {n} times."),
            f"{n} of the {goods} are in your cart.",
        ),
        (
            tool(
                ("set_thermostat", "heat_room"),
                "Sets the temperature of a room in degrees.",
                {"room": text, "degrees": number},
            ),
            {"room": room, "degrees": n + 14},
            (f"Set {room} to {n + 14} degrees.", f"Make it {n + 14} degrees in {room}."),
            f"{w.capital(room)} is set to {n + 14} degrees.",
        ),
        (
            tool(
                ("create_event", "calendar_add", "new_appointment"),
                "Puts an appointment into the calendar.",
                {"title": text, "date": day, "time": time},
            ),
            {"title": f"Meeting with {who}", "date": date, "time": clock},
            (
                f"Put a meeting with {who} into my calendar on {date} at {clock}.",
                f"Schedule a meeting with {who}: {date}, {clock}.",
            ),
            f"The meeting with {who} is in your calendar on {date} at {clock}.",
        ),
        (
            tool(("rename_file", "move_file"), "Renames a file.", {"old_name": text, "new_name": text}),
            {"old_name": old, "new_name": new},
            (f"Rename {old} to {new}.", f"The file {old} should be called {new}."),
            f"{old} is now called {new}.",
        ),
        (
            tool(
                ("open_ticket", "create_ticket", "report_issue"),
                "Creates a support ticket.",
                {"title": text, "priority": text_schema(enum=["low", "normal", "high"])},
            ),
            {"title": trouble, "priority": level},
            (
                f"Open a ticket with {level} priority: {trouble}.",
                f"Create a {level} priority ticket titled '{trouble}'.",
            ),
            f"The ticket '{trouble}' is open with {level} priority.",
        ),
        (
            tool(
                ("transfer_money", "pay", "bank_transfer"),
                "Transfers euros to someone.",
                {"recipient": text, "amount": number},
            ),
            {"recipient": who, "amount": n * 25},
            (f"Transfer {n * 25} euros to {who}.", f"Pay {who} {n * 25} euros."),
            f"I transferred {n * 25} euros to {who}.",
        ),
        (
            tool(
                ("play_music", "play_song"), "Plays a song on the speakers.", {"song": text, "volume": whole}, ("song",)
            ),
            {"song": song},
            (f"Play {song}.", f"I would like to hear {song}."),
            f"{song} is playing.",
        ),
        (
            tool(
                ("request_leave", "vacation_request"),
                "Files a request for vacation.",
                {"employee": text, "start": day, "days": whole},
            ),
            {"employee": who, "start": date, "days": n},
            (f"Request {n} days of vacation for {who} from {date}.", f"{who} wants {n} days off, starting {date}."),
            f"The request of {n} vacation days for {who} from {date} is filed.",
        ),
        (
            tool(
                ("book_ticket", "buy_ticket"),
                "Buys tickets between two cities.",
                {"origin": text, "destination": text, "date": day, "passengers": whole},
            ),
            {"origin": place, "destination": there, "date": date, "passengers": n},
            (
                f"Buy {n} tickets from {place} to {there} for {date}.",
                f"I need tickets from {place} to {there} on {date} for {n} people.",
            ),
            f"{n} tickets from {place} to {there} on {date} are booked.",
        ),
        (
            tool(
                ("turn_on", "switch_device"),
                "Switches a device on or off.",
                {"device": text, "on": {"type": "boolean"}},
            ),
            {"device": goods, "on": (state := r.random() < 0.5)},
            (
                f"Switch the {goods} {'on' if state else 'off'}.",
                f"Turn {'on' if state else 'off'} the {goods}, please.",
            ),
            f"The {goods} is {'on' if state else 'off'}.",
        ),
    ]
