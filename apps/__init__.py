"""Applications: the `deepphase` program, its reports and the dashboard."""
