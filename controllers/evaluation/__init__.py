"""Evaluation of trained controllers: trials in closed loop, and sensitivity to the phase."""
