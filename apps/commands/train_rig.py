"""`deepphase train rig`."""

from __future__ import annotations

import json
from pathlib import Path

from apps.options.groups import StoreOptions, TrainingOptions
from apps.terminal import note, progress, table
from apps.training.processes import processes, shared_corpus
from apps.training.resumable import finish, resumable, work_folder
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
    from deepphase.atomic_write import atomic_write, check_writable
    from deepphase.formats.load import load
    from deepphase.rigs.blender_rig import BlenderRig
    from deepphase.rigs.body_rig import BodyRig
    from deepphase.rigs.train import rig_report_rows, train_rig

    in_blender = rig.suffix.lower() == ".blend"
    if poses is None and not in_blender:
        raise ParameterError("no poses are given", hint="give --poses: a store, folder or file")
    if controls is not None and not in_blender:
        raise ParameterError("--controls names bones of a .blend file", path=rig)
    report_file = output.with_name(f"{output.name}.report.json")
    options = reading.corpus
    trainer = run.trainer(output)
    with processes(trainer) as world, progress() as report_progress:
        work = world.first(lambda: work_folder(output, resume=run.resume, restart=run.restart))
        world.together(lambda: check_writable(report_file))
        body: BodyRig | BlenderRig
        if in_blender:
            report_progress("opening the rig in Blender", 0, 1, rig.name)
            body = BlenderRig.open(rig, options["description"])
        else:
            body = BodyRig.of_clip(load(rig, **reading.reader), options["description"])
        corpus = None
        if poses is not None:
            corpus = shared_corpus(world, poses, work, progress=report_progress, **options)
        with resumable(world, work, restart=run.restart):
            inverse = train_rig(
                corpus,
                body,
                RigConfig(process, network, training),
                folder=work,
                controls=[each.strip() for each in (controls or "").split(",") if each.strip()],
                resume=run.resume,
                progress=report_progress,
                **trainer,
            )
    if inverse is None:  # a process of another device; the first one saves the rig
        return
    inverse.save(output)
    finish(work, output)
    with atomic_write(report_file) as file:
        file.write(json.dumps(inverse.report, indent=1).encode())
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
    note(f"rig: {output}")
    note(f"report: {report_file}")
