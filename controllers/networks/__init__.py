"""The networks, one file each. All of them are `ControllerNetwork`s (network.py):

    outputs = network(inputs, gate)                       training, (batch, dims) each
    outputs, state = network.step(inputs, gate, state)    running, frame by frame

in normalised values; `normalised.NormalisedController` takes and gives raw ones. `registry` makes
them by name. The gate is what the weights depend on: a phase in cycles (pfnn, vinn), a manifold
(experts, lmp), foot velocities (mann), the wish (no_phase).
"""
