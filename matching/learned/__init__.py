"""Learned motion matching: networks in place of the rows of a database."""
