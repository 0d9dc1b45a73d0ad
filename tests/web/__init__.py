"""A package, so that its browser is closed after its last test: pytest knows no other end of a folder."""
