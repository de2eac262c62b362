"""Nearest-neighbour search over a motion database."""
