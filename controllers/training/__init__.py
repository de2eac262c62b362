"""Training of controllers with Lightning."""
