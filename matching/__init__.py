"""Motion matching: search a mocap database by phase and trajectory, and play what fits."""
