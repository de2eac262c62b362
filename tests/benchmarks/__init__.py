"""Speed as ratios against a rival in the same run: python -m tests.benchmarks.<name>."""
