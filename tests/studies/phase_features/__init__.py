"""DeepPhase's comparison of learnt phases with other features of a frame."""
