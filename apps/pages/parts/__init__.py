"""What the dashboard's pages share: the open collection, caches, figures and the player."""
