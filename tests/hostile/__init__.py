"""Odd and bad motion files, made by code: what must be read, and what refused for which reason."""
