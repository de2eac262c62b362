"""Controllers: networks that turn phases and a desired trajectory into motion, frame by frame.

From clips to a network, and from a network to frames; each arrow is one call:

    ClipStore, SchemaConfig        -> samples.schema_of_store        -> ControllerSchema
    ClipStore, schema, PhaseModel  -> samples.ControllerSamples.read -> ControllerSamples (raw)
    samples                        -> samples.normalisations(rows)   -> three Normalisations
    name, schema.dims, config      -> networks.registry.make_network -> ControllerNetwork
    network, normalisations        -> normalised.NormalisedController (raw in, raw out)
    controller, schema             -> onnx_export.export_controller  -> ONNX

A training step takes rows of the samples through `NormalisedController.normalised` and `.target`
and compares there; a Gaussian process is fitted on the same instead of trained. Runs of samples
(`run_starts`, `run_stops`) are what sequences for recurrent networks are cut from, and their
`sources` what is held out by.

A run, for a batch of characters: `FrameBlocks` of the clip that they start from gives the first
inputs and gate; `state = network.initial_state(characters)`; then `controller.step(inputs, gate,
state)` gives the next frame's `outputs`, whose blocks `schema.outputs.slices` names. Their root
velocity and turn, times 1 / fps, lead from the old root to the new one; everything else is seen
from the new one. The next gate of a phase is phase + phase_rate / fps; that of a manifold has its
present and future moments from `networks.phase_update.updated_phases`, and its past ones from
memory. A network that draws (`Variational`) gets its next noise from `redrawn`.

Recipes (configs/controller) are `configuration.ControllerConfig`s.
"""
