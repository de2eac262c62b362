"""Dancers: controllers conditioned on music."""
