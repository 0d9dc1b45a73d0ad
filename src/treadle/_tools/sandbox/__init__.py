"""Sandboxes for code that a model wrote: `monty` is the default, `bwrap` runs full CPython; neither has a network."""
