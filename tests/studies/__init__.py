"""Studies: each reproduces a table of docs/measurements with one command."""
