"""Evaluation of trained controllers along a course, and with a ball."""
