"""Terrain: heightmaps, motion laid on them, and ground fitted to motion."""
