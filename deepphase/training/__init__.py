"""The frame of every training: segments with resume points, devices, processes and metrics."""
