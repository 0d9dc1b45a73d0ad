"""What a set of conversations is made of: kinds, languages, steps, tools on offer, lengths."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from training.render import Conversation

CHARS_A_TOKEN = 3.6
"""Of such prompts, with Qwen's tokenizer: about."""
MARKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("Japanese, Chinese", re.compile(r"[\u3040-\u30ff\u4e00-\u9fff]")),
    ("Russian", re.compile(r"[\u0400-\u04ff]")),
    ("Arabic", re.compile(r"[\u0600-\u06ff]")),
    ("German", re.compile(r"\b(?:von|bei|wie viel|bitte|ist|nenne|welche|ich|und|das)\b", re.I)),
    (
        "French",
        re.compile(r"\b(?:combien|quel|donne-moi|j'ai|cherche|pour|calcule|est|les|trouve|il me faut)\b| [?:]", re.I),
    ),
    ("Spanish", re.compile(r"[¿¡]|\b(?:dime|busca|necesito|calcula|cuánto|envía|compara)\b", re.I)),
    ("others", re.compile(r"\b(?:quanto|hoeveel|ile to|hur mycket|kaç)\b", re.I)),
)
ENGLISH = re.compile(r"\b(?:the|what|is|how|of|to|my|please|me|and|a|in|which|it|for|who)\b", re.I)


def calls(conversation: Conversation) -> int:
    return sum('"action": "final_answer"' not in t.reply and '"no_tool"' not in t.reply for t in conversation.turns)


def tools(conversation: Conversation) -> int:
    system = conversation.turns[0].prompt.partition("<|im_end|>")[0]
    return len(re.findall(r"^- [\w-]+\(", system, re.M))


def question(conversation: Conversation) -> str:
    """The first that is asked."""
    return conversation.turns[0].prompt.partition("<|im_start|>user\n")[2].partition("<|im_end|>")[0]


def language(text: str) -> str:
    """By a few words that are frequent: a guess, good enough to see what a set is made of."""
    english = len(ENGLISH.findall(text))
    name, best = max(((name, len(mark.findall(text))) for name, mark in MARKS), key=lambda pair: pair[1])
    return name if best > english else "English"


def distribution(conversations: Sequence[Conversation]) -> str:
    lengths = [
        int(sum(len(t.reply) for t in c.turns) / CHARS_A_TOKEN + _longest(c) / CHARS_A_TOKEN) for c in conversations
    ]
    learnt = sum(len(t.reply) for c in conversations for t in c.turns if t.trained) / CHARS_A_TOKEN
    return "\n".join(
        (
            _row("kind", (c.kind for c in conversations)),
            _row("language", (language(question(c)) for c in conversations)),
            _row("calls", (_band(calls(c), (0, 1, 2, 3, 4, 6, 8)) for c in conversations), by_name=True),
            _row("tools", (_band(tools(c), (1, 2, 5, 10, 20, 40)) for c in conversations), by_name=True),
            _row("tokens", (_band(n, (200, 400, 800, 1600, 3200)) for n in lengths), by_name=True),
            f"about {sum(lengths):,} tokens in all, {int(learnt):,} of them learnt",
        )
    )


def _longest(conversation: Conversation) -> int:
    return max(len(turn.prompt) for turn in conversation.turns)


def _band(n: int, limits: Sequence[int]) -> str:
    """The first limit that it does not exceed."""
    return next((f"<= {limit:>4}" for limit in limits if n <= limit), f" > {limits[-1]:>4}")


def _row(title: str, values: Iterable[str], by_name: bool = False) -> str:
    counted = Counter(values)
    total = sum(counted.values()) or 1
    order = sorted(counted.items()) if by_name else counted.most_common()
    return "\n".join([f"{title}:", *(f"  {name:<22}{count:>7}  {count / total:6.1%}" for name, count in order)])
