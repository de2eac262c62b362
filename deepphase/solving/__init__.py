"""Skeletons and joint rotations from point tracks."""
