"""An agent for Terminal-Bench (`pip install "treadle[terminal_bench]"`)."""

from treadle._interop.terminal_bench import TerminalBenchAgent as TerminalBenchAgent

__all__ = ["TerminalBenchAgent"]
