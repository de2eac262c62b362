"""Generated motion told from captured motion by a classifier, as a judge without an eye."""
