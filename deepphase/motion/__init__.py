"""What a motion is: skeleton, clip, and what follows from them by geometry alone."""
