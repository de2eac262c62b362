"""Runs of controllers and motion databases: request, files, page and report."""
