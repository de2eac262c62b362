"""Motion matching: playback, transitions and the search along a trajectory."""
