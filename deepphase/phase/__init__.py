"""Phases of motion: parameters, periodic autoencoders, training, models and baselines."""
