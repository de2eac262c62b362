"""Balls at the feet: fitted to motion, read from captures, and played by controllers."""
