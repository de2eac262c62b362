"""NumPy archives: bounded reading, and motion in the project's own schema."""
