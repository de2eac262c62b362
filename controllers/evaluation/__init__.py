"""Measurements of controllers."""
