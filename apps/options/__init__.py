"""Command-line options: their declaration by typed functions, and shared groups of them."""
