"""`treadle memory`: what is remembered about whom, from which run; to be edited and forgotten."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from treadle._cli.display.table import table
from treadle._cli.display.text import clean
from treadle._cli.setup.options import count, flag
from treadle._cli.workspace.consent import can_ask, confirm
from treadle._types.errors import ConfigError

if TYPE_CHECKING:
    from treadle._plugins.memory.store import Memo, MemoryStore


def register(commands: Any) -> None:
    parser = commands.add_parser(
        "memory", description="What agents with the plug-in Memory remember about their users, and from which run."
    )
    parser.add_argument("--memory", metavar="FILE", help="the file of memories (default: your own)")
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the memories, the newest first")
    listing.add_argument("--user", help="only those about this user")
    listing.add_argument("-n", type=count, default=50, metavar="N", help="at most so many of each user (50)")
    show = actions.add_parser("show", help="show one memory with all that is known about it")
    show.add_argument("id", type=count, metavar="NUMBER", help="which, by its number in the list")
    edit = actions.add_parser("edit", help="let a memory say something else")
    edit.add_argument("id", type=count, metavar="NUMBER", help="which, by its number in the list")
    edit.add_argument("text", help="what it is to say")
    forget = actions.add_parser("forget", help="remove memories for good")
    forget.add_argument("ids", nargs="*", type=count, metavar="NUMBER", help="which, by their numbers in the list")
    forget.add_argument("--user", help="everything about this user")
    flag(forget, "-y", "--yes", help="do not ask")


def run(args: argparse.Namespace) -> int:
    from treadle._plugins.memory.store import MemoryStore

    return act(args, MemoryStore(args.memory))


def act(args: argparse.Namespace, store: MemoryStore) -> int:
    actions = {"list": _list, "show": _show, "edit": _edit, "forget": _forget}
    return actions[args.action](args, store)


def chat_arguments(rest: str) -> argparse.Namespace:
    """Read what follows `/memory` in a chat, as the options of the command."""
    action, _, more = rest.partition(" ")
    numbers = more.split()
    match action:
        case "" | "list":
            return argparse.Namespace(action="list", user=more.strip() or None, n=50)
        case "show" if len(numbers) == 1 and _number(numbers[0]):
            return argparse.Namespace(action="show", id=int(numbers[0]))
        case "edit" if numbers and _number(numbers[0]):
            return argparse.Namespace(action="edit", id=int(numbers[0]), text=more.strip().partition(" ")[2])
        case "forget" if numbers and all(map(_number, numbers)):
            return argparse.Namespace(action="forget", ids=[int(number) for number in numbers], user=None, yes=False)
        case _:
            raise ConfigError("write /memory, /memory show NUMBER, /memory edit NUMBER TEXT or /memory forget NUMBER")


def _number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 15


def _list(args: argparse.Namespace, store: MemoryStore) -> int:
    users = store.users()
    wanted = [user for user in users if args.user in (None, user)]
    memos = [memo for user in wanted for memo in store.all(user, args.n)]
    rows = [[str(memo.id), memo.user, _day(memo), memo.run[:8], memo.summary] for memo in memos]
    if rows:
        print(table(("NUMBER", "ABOUT", "SINCE", "FROM RUN", "WHAT IS REMEMBERED"), rows))
    else:
        print("nothing is remembered" + (f" about {clean(args.user)}" if args.user else ""))
    left = sum(users[user] for user in wanted) - len(memos)
    if left:
        print(f"\nand {_memories(left)} that {'is' if left == 1 else 'are'} older: -n shows more")
    return 0


def _memories(number: int) -> str:
    return "1 memory" if number == 1 else f"{number} memories"


def _show(args: argparse.Namespace, store: MemoryStore) -> int:
    memo = _memo(store, args.id)
    for name, text in (
        ("about", memo.user),
        ("since", _day(memo)),
        ("from run", memo.source.replace("/", ", call ", 1)),
        ("agent", memo.agent),
        ("question", memo.question),
        ("answer", memo.answer),
        ("remembered", memo.summary),
    ):
        print(f"{name:12}{clean(text)}")
    print(f"\nthe run: treadle runs show {clean(memo.run[:8])}")
    return 0


def _edit(args: argparse.Namespace, store: MemoryStore) -> int:
    from treadle._plugins.memory.store import MAX_SUMMARY

    _memo(store, args.id)
    if not args.text.strip():
        raise ConfigError(f"a memory must say something: treadle memory forget {args.id} removes it")
    store.edit(args.id, args.text.strip()[:MAX_SUMMARY])
    print(f"memory {args.id} is changed")
    return 0


def _forget(args: argparse.Namespace, store: MemoryStore) -> int:
    if bool(args.ids) == bool(args.user):
        raise ConfigError("what is to be forgotten? Give the numbers of memories, or --user NAME")
    memos = store.all(args.user, 20) if args.user else [_memo(store, number) for number in args.ids]
    about = f" about {clean(args.user)}" if args.user else ""
    number = store.users().get(args.user, 0) if args.user else len(args.ids)
    if not number:
        return _list(args, store)
    if not _sure(args, f"{_memories(number)}{about}", memos):
        return 0
    if args.user:
        number = store.forget(args.user)
    for memo_id in args.ids:
        store.forget_one(memo_id)
    print(f"forgotten: {_memories(number)}{about}")
    return 0


def _sure(args: argparse.Namespace, what: str, memos: Sequence[Memo]) -> bool:
    """Ask at a terminal: what is forgotten does not come back."""
    if args.yes or not can_ask():
        return True
    if confirm(f"forget {what} for good?", lambda: "\n".join(memo.summary for memo in memos)):
        return True
    print("nothing is forgotten")
    return False


def _memo(store: MemoryStore, number: int) -> Memo:
    memo = store.get(number)
    if memo is None:
        raise ConfigError(f"there is no memory {number}: treadle memory list lists them")
    return memo


def _day(memo: Memo) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(memo.created))
