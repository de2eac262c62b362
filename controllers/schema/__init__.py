"""Layout of the inputs and outputs of controller networks."""
