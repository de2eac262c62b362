"""What a phase is, and how it is learnt from motion."""
