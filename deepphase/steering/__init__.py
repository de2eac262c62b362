"""What the user wants: paths, sticks, the trajectory wished for, and smooth ways to follow it."""
