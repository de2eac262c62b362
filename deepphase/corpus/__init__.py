"""Many clips as one: labels, preparation, the store."""
