"""Dances by motion matching on music features."""
