"""How good a model and settings are at using tools: task files, deterministic tools and checks, runs, reports."""
