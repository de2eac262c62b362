"""Commands of the program in the process of a test."""

from deepphase.apps.cli import main


def run(*words: object) -> int:
    """Exit status of a command."""
    return main([str(word) for word in words])
