"""Learned motion matching: motion databases compressed by a network."""
