"""Why a run went wrong: forks of it with one change each, and what came of them."""
