"""What people run: the `deepphase` program, its reports and the dashboard."""
