"""Motion databases: feature rows of clips, and their files."""
