"""A skeleton and its rotations out of point tracks."""
