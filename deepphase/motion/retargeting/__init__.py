"""Motion of one skeleton put on another of the same kind of body."""
