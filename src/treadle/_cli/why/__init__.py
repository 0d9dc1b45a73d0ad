"""The command that looks for the cause of a run that went wrong."""
