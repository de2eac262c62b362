"""One module a command of the `deepphase` program."""
