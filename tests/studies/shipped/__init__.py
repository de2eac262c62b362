"""Trainings of the shipped files."""
