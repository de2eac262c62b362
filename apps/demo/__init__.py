"""The demo: the whole chain on made data."""
