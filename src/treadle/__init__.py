"""Treadle turns any language model into a tool-using agent."""
