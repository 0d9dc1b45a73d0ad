"""The log of a run as view items: folded once, drawn by every surface."""
