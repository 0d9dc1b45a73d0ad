"""What a run spent."""

from __future__ import annotations

from msgspec import Struct


class Usage(Struct, frozen=True, omit_defaults=True, gc=False):
    """Tokens, requests and money. `cost` is in US dollars and None when a price is not known."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """The part of `input_tokens` the provider read from its cache."""
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    """The part of `output_tokens` spent on reasoning."""
    requests: int = 0
    tool_calls: int = 0
    cost: float | None = None
    estimated_tokens: int = 0
    """The part of the tokens that nobody reported: what a budget counted them as."""

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        cost = None
        if self.cost is not None or other.cost is not None:
            cost = (self.cost or 0.0) + (other.cost or 0.0)
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.requests + other.requests,
            self.tool_calls + other.tool_calls,
            cost,
            self.estimated_tokens + other.estimated_tokens,
        )

    def __sub__(self, other: Usage) -> Usage:
        return self + Usage(
            -other.input_tokens,
            -other.output_tokens,
            -other.cached_tokens,
            -other.cache_write_tokens,
            -other.reasoning_tokens,
            -other.requests,
            -other.tool_calls,
            None if other.cost is None else -other.cost,
            -other.estimated_tokens,
        )


NO_USAGE = Usage()
