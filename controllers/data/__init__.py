"""Training data of controllers: pairs of frames, what is held out, and configurations."""
