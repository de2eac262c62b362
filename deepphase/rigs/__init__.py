"""Rigs: controls of animators as functions of which the joints are the value, and their inverse."""
