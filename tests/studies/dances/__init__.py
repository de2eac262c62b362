"""Dances measured against their songs, and trials of what makes dances."""
