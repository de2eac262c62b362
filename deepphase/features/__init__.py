"""What a frame looks like to a search or a network: layouts of named blocks, and their values."""
