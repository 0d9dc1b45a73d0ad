"""Dialects: how a model is asked for an action and how its reply is read. `base` has the interface, `registry` the
choice."""
