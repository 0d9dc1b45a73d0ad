"""`treadle memory`: what is remembered about whom, from which run; to be edited and forgotten."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, Any

from treadle._cli.setup.options import count

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
    show.add_argument("id", type=count, metavar="NUMBER")
    edit = actions.add_parser("edit", help="let a memory say something else")
    edit.add_argument("id", type=count, metavar="NUMBER")
    edit.add_argument("text", help="what it is to say")
    forget = actions.add_parser("forget", help="remove memories for good")
    forget.add_argument("ids", nargs="*", type=count, metavar="NUMBER")
    forget.add_argument("--user", help="everything about this user")


def run(args: argparse.Namespace) -> int:
    from treadle._plugins.memory.store import MemoryStore

    actions = {"list": _list, "show": _show, "edit": _edit, "forget": _forget}
    return actions[args.action](args, MemoryStore(args.memory))


def _list(args: argparse.Namespace, store: MemoryStore) -> int:
    from treadle._cli.display.table import table

    users = store.users()
    wanted = [user for user in users if args.user in (None, user)]
    memos = [memo for user in wanted for memo in store.all(user, args.n)]
    rows = [[str(memo.id), memo.user, _day(memo), memo.run[:8], memo.summary] for memo in memos]
    print(table(("NUMBER", "ABOUT", "SINCE", "FROM RUN", "WHAT IS REMEMBERED"), rows) if rows else _nothing(args.user))
    left = sum(users[user] for user in wanted) - len(memos)
    if left:
        print(f"\nand {_memories(left)} that {'is' if left == 1 else 'are'} older: -n shows more")
    return 0


def _memories(number: int) -> str:
    return "1 memory" if number == 1 else f"{number} memories"


def _nothing(user: str | None) -> str:
    from treadle._cli.display.text import clean

    return "nothing is remembered" + (f" about {clean(user)}" if user else "")


def _show(args: argparse.Namespace, store: MemoryStore) -> int:
    from treadle._cli.display.text import clean

    memo = _found(store, args.id)
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
    from treadle._types.errors import ConfigError

    _found(store, args.id)
    if not args.text.strip():
        raise ConfigError(f"a memory must say something: treadle memory forget {args.id} removes it")
    store.edit(args.id, args.text.strip()[:MAX_SUMMARY])
    print(f"memory {args.id} is changed")
    return 0


def _forget(args: argparse.Namespace, store: MemoryStore) -> int:
    from treadle._cli.display.text import clean
    from treadle._types.errors import ConfigError

    if bool(args.ids) == bool(args.user):
        raise ConfigError("what is to be forgotten? Give the numbers of memories, or --user NAME")
    if args.user:
        print(f"forgotten: {_memories(store.forget(args.user))} about {clean(args.user)}")
        return 0
    for number in args.ids:
        _found(store, number)
    for number in args.ids:
        store.forget_one(number)
    print(f"forgotten: {_memories(len(args.ids))}")
    return 0


def _found(store: MemoryStore, number: int) -> Memo:
    from treadle._types.errors import ConfigError

    memo = store.get(number)
    if memo is None:
        raise ConfigError(f"there is no memory {number}: treadle memory list shows those there are")
    return memo


def _day(memo: Memo) -> str:
    return time.strftime("%Y-%m-%d", time.localtime(memo.created))
