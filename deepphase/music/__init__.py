"""Audio features of songs at 60 frames a second, beat tracking and bar tracking."""
