"""Training of phase models with Lightning."""
