"""`deepphase rig-controls`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import deepphase as dp
from deepphase.apps.edit_files import check_output
from deepphase.apps.options import folder_reader, parse_names
from deepphase.apps.terminal import note, table, warn, working
from deepphase.motion.roles import body_parts

_KEYS = ".json"


def command(
    rig: Path,
    clip: Path,
    output: Path,
    effectors: str | None = None,
    player: Path | None = None,
) -> None:
    """Find the controls of a rig that give the joints of a clip, or play keys that were edited.

    Prints how far the joints of the rig remain from those of the clip, by parts of the body, and
    the frames whose poses the rig cannot take. Clips of other bodies are retargeted first.

    Parameters
    ----------
    rig
        Rig of `deepphase train rig`.
    clip
        Motion file, or keys (.json) that this command wrote.
    output
        Keys to write (.json), or the clip that the controls give (.bvh, .glb, .npz, .fbx).
    effectors
        Joints of the clip that are followed, separated by commas: seven (hips, head, hands, feet,
        and chest or tail), feet, hands, roles such as left_hand, or names of joints. The others go
        as in the poses that the rig was trained on. By default all joints are followed.
    player
        Page to write (.html) that plays the clip and the rig.
    """
    suffix = output.suffix.lower()
    check_output(clip, output, player, also=(_KEYS,))
    trained = dp.rigs.RigInverse.load(rig)
    body = trained.rig
    edited = clip.suffix.lower() == _KEYS
    if edited and effectors is not None:
        raise dp.ParameterError(
            "--effectors is for motion files, and these are keys",
            hint="leave it out, or give the motion file",
            path=clip,
        )
    if effectors is not None:
        joints = dp.rigs.named_effectors(body, parse_names(effectors))
        trained = dp.rigs.inverse_of_effectors(trained, joints)
    bodies: dict[str, dp.Clip] = {}
    if edited:
        keys = dp.rigs.RigKeys.load(clip)
    else:
        with working("solving", clip.name):
            read = dp.load(clip, **folder_reader(clip))
            motion = dp.rigs.motion_on_rig(read, body)
            solved = trained.solve(motion.positions, fps=read.fps, smoothing_s=0.03)
        _report(trained, solved)
        bodies["clip"] = read
        keys = dp.rigs.RigKeys.from_rig(body, solved.values, motion.placement, read.fps)
    made = dp.rigs.clip_of_controls(keys.values_of(body), body, keys.placement, keys.fps)
    if suffix == _KEYS:
        keys.save(output)
    else:
        dp.save(made, output)
    if player is not None:
        take = dp.viewer.Take.from_motions({**bodies, "rig": made}, "controls")
        note(f"open {dp.save_player(player, [take], title='Controls of a rig')}")
    moving = int((np.ptp(keys.values, axis=0) > 1e-6).sum())
    note(f"{len(keys.values)} frames of {moving} moving controls: {output}")


def _report(trained: dp.rigs.RigInverse, solved: dp.rigs.RigSolution) -> None:
    body, errors = trained.rig, 100.0 * solved.errors
    if trained.joints is None:
        of_joint = body_parts(body.skeleton, body.roles)
        parts = np.array([*of_joint, *(of_joint[joint] for joint in body.skeleton.end_parents)])
        errors_of = {part: errors[:, parts == part] for part in dict.fromkeys(parts.tolist())}
    else:
        errors_of = {body.joints[joint]: errors[:, joint] for joint in trained.joints}
        errors_of["all others"] = np.delete(errors, trained.joints, axis=1)
    rows = [(part, f"{own.mean():.2f}", f"{own.max():.2f}") for part, own in errors_of.items()]
    table(("part", "joints off, mean cm", "max cm"), rows)
    missed = np.flatnonzero(~solved.reached)
    if len(missed):
        runs = np.split(missed, np.flatnonzero(np.diff(missed) > 1) + 1)
        listed = ", ".join(f"{run[0]}-{run[-1]}" for run in runs[:8])
        more = f" and {len(runs) - 8} more" if len(runs) > 8 else ""
        poses = f"{len(missed)} of {len(solved.reached)} poses"
        warn(f"{poses} are out of the rig's reach: frames {listed}{more}")
