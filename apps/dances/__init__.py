"""Dances as files, pages and reports."""
