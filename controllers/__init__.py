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

A run, for a batch of characters:

    Clip, schema, PhaseModel       -> starts.Starts.of_clip          -> Starts
    Controller, Starts             -> character.Character            -> step(follower) -> Frame
    Character, Follower, seconds   -> rollout.rollout                -> Rollout -> Clip

Each step is `seen_frame` (rows of inputs and gate, from `recorded_past`, `wished_trajectory`,
`wished_labels` and `running_phases`), then `running_network` (or `onnx_network`), whose raw
outputs' blocks `schema.outputs.slices` names. Their root velocity and turn, times 1 / fps, lead
from the old root to the new one; everything else is seen from the new one. `character_pose` puts
them back on the skeleton, `character_feet` holds its feet, `obstacles` keep it off.

Recipes (configs/controller) are `configuration.ControllerConfig`s.
"""
