"""Experiments on a recorded run: what is changed, how it is run safely, who judges, and what is written down."""
