"""Command-line options: their declaration by typed functions, shared groups, former names."""
