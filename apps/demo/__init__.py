"""Synthetic motion, small models and the page of the demo."""
