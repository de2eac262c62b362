"""Networks of controllers, which all extend `ControllerNetwork` (network.py):

    outputs = network(inputs, gate)                       training, (batch, dims) each
    outputs, state = network.step(inputs, gate, state)    running, frame by frame

in normalised values. `normalised.NormalisedController` wraps a network for raw values, and
`registry` makes networks by name. The weights depend on the gate: a phase in cycles (pfnn, vinn),
the phase manifold (experts, lmp), foot velocities (mann), or the desired trajectory (no_phase).
"""
