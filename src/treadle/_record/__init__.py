"""Recording what programs of other engines exchange with their models."""
