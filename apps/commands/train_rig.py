"""`deepphase train rig`."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from apps.options.groups import StoreOptions, TrainingOptions
from apps.terminal import note, table
from apps.training.command import TrainingInputs, note_files, run_training
from deepphase.errors import ParameterError
from deepphase.rigs.config import NetworkOptions, ProcessOptions, RigConfig, RigTraining

CONFIGS = RigConfig


def command(
    rig: Path,
    output: Path,
    poses: Path | None = None,
    config: str = "default",
    controls: str | None = None,
    process: ProcessOptions = ProcessOptions(),  # noqa: B008 (frozen; the config replaces it)
    network: NetworkOptions = NetworkOptions(),  # noqa: B008
    training: RigTraining = RigTraining(),  # noqa: B008
    run: TrainingOptions = TrainingOptions(),  # noqa: B008
    reading: StoreOptions = StoreOptions(),  # noqa: B008
) -> None:
    """Learn the controls of a rig for any pose: of a .blend file, or of a rig made for a body.

    The armature of a .blend file keeps its own controls, constraints and drivers, which Blender
    evaluates; controls are fitted to the poses. For a motion file a rig is made: FK for all joints,
    IK with pole vectors for arms and legs, blends, stretch, foot rolls and bends of spine, neck and
    tail. Its poses are keyed by rule, as an animator would set them.

    Parameters
    ----------
    rig
        A .blend file with a rig, or a motion file of the body that a rig is made for.
    output
        Rig file to write. OUTPUT.report.json is the report.
    poses
        A store, a folder of motion files, or one motion file with the poses that are learnt. Other
        bodies are retargeted. Without it the motion in the .blend file is learnt.
    config
        Config of the inverse: a YAML file, or one of default, blender and paper (configs/rig). For
        .blend files take blender: the others need far more poses, which Blender evaluates slowly.
    controls
        Names of the bones of a .blend file that may move, separated by commas, with * for any
        letters. By default few bones are chosen that move the body as the poses do.
    """
    from deepphase.formats.load import load
    from deepphase.rigs.blender_rig import BlenderRig
    from deepphase.rigs.body_rig import BodyRig
    from deepphase.rigs.inverse import RigInverse
    from deepphase.rigs.train import rig_report_rows, train_rig

    in_blender = rig.suffix.lower() == ".blend"
    if poses is None and not in_blender:
        raise ParameterError("no poses are given", hint="give --poses: a store, folder or file")
    if controls is not None and not in_blender:
        raise ParameterError("--controls names bones of a .blend file", path=rig)

    def prepare(inputs: TrainingInputs) -> partial[RigInverse | None]:
        body: BodyRig | BlenderRig
        if in_blender:
            inputs.progress("opening the rig in Blender", 0, 1, rig.name)
            body = BlenderRig.open(rig, inputs.description)
        else:
            body = BodyRig.of_clip(load(rig, **reading.reader), inputs.description)
        return partial(
            train_rig,
            None if poses is None else inputs.clips(poses),
            body,
            RigConfig(process, network, training),
            controls=[each.strip() for each in (controls or "").split(",") if each.strip()],
        )

    inverse = run_training(output, run, reading, prepare, json_report=True)
    if inverse is None:  # a process of another device; the first one saves the rig
        return
    body = inverse.rig
    if isinstance(body, BlenderRig):
        bones = dict.fromkeys(body.groups[column] for column in inverse.used)
        note(f"bones that move: {', '.join(bones)}")
        body.close()
    note(
        f"{len(body.controls)} controls, {len(inverse.used)} of them move in the poses; errors on "
        f"{inverse.report['poses']} poses of held-out clips:"
    )
    table(
        ("method", "joints, cm", "controls, mean square", "frames/s"),
        rig_report_rows(inverse.report),
    )
    note_files("rig", output, json_report=True)
