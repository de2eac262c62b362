"""Controllers: networks that turn phases and a desired trajectory into motion."""
