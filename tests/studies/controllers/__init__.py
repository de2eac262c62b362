"""Controllers against each other, and their trials in closed loop."""
