"""DAG mode: see `agent`."""
