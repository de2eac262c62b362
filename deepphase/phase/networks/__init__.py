"""Periodic autoencoders and their layers."""
