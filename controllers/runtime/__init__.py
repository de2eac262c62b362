"""Run time of controllers: the state of characters, frame by frame."""
