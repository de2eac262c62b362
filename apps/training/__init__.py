"""Trainings: interrupted and resumed by commands, or in processes of their own."""
