"""Editing: a convolutional autoencoder of motion, and what an animator does in its space."""
