"""Runs as a page of HTML."""
