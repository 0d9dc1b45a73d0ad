"""Tools for testing agents: recorded provider traffic, and assertions about recorded runs."""
