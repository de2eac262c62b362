"""Features of frames: layouts of named blocks, and their values."""
