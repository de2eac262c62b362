"""Causal encoders: current phases out of the past alone."""
