"""Readers and writers of motion files and array files, one module or folder per format."""
