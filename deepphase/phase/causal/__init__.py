"""Causal encoders: phases of now out of the past alone."""
