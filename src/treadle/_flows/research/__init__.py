"""Research: a plan, notes with sources, and an answer whose citations are checked sentence by sentence."""
