"""Steering: paths, gamepad recordings, desired trajectories, and runs of characters along them."""
