"""Full-body motion from the paths of hands and feet, as of punches and kicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from scipy.interpolate import PchipInterpolator

from deepphase.arrays import Array, brief_repr
from deepphase.edit.config import no_networks
from deepphase.edit.editor import EditedMotion, MotionEditor
from deepphase.edit.held_feet import faded_to, limbs_of_roles, with_held_feet
from deepphase.edit.motion_rows import ROOT_VALUES, MotionSpace, root_velocities, smoothed_root
from deepphase.edit.networks import EffectorNetworks
from deepphase.edit.path_motion import made_clip, padded, root_on
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.markers.tables import read_csv_table
from deepphase.formats.reading import LARGEST_LENGTH_M
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.foot_ik import LegChains
from deepphase.motion.limbs import rest_clip
from deepphase.motion.resample import resample
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import RootTrajectory, from_root_space, to_root_space
from deepphase.solving.feet import HOLD_BLEND_S, with_tips_at
from deepphase.steering.path import GroundPath

# Share by which a path may exceed the speed and the reach of the training clips.
_TOLERANCE = 1.15
_COLUMNS = ("t", "joint", "x", "y", "z")
# Longest file of paths, and shortest time between two rows, in seconds.
_LONGEST_S, _SHORTEST_S = 600.0, 1e-6
_ROLES = ("left_hand", "right_hand", "left_foot", "right_foot")


@brief_repr
@dataclass(frozen=True, eq=False)
class EffectorPaths:
    """Where hands and feet are over time, at the rate of an editor."""

    joints: tuple[str, ...]  # names of the hands and feet
    places: Array  # (frames, joints, 3) metres in the world; the floor is at height 0
    known: Array  # (frames, joints) bool: where a place is given
    root: RootTrajectory  # the smoothed path of the root
    name: str = "effectors"  # of the motion that is made

    @classmethod
    def from_clip(
        cls, clip: Clip, editor: MotionEditor, joints: Sequence[str] = ()
    ) -> EffectorPaths:
        """The paths of a clip's hands and feet, on the editor's body: all, or the named joints."""
        points = effector_joints(editor.space)
        chosen = _checked(tuple(joints) or tuple(points), tuple(points))
        sampled = resample(editor.space.on_hips(clip), editor.fps)
        rows, root = editor.space.rows(sampled)
        size = editor.space.size_of(sampled)
        body = RootTrajectory.from_ground(root.positions[:, ::2] / size, root.angles)
        places = from_root_space(rows.points[:, [points[name] for name in chosen]], body)
        known = np.ones(places.shape[:2], bool)
        return cls(chosen, places, known, smoothed_root(body, editor.fps), clip.name)


def effector_joints(space: MotionSpace) -> dict[str, int]:
    """Names of the hands and feet of a body that it has, and the point of each."""
    roles = find_roles(space.skeleton, space.description, clip=rest_clip(space.skeleton))
    points = dict(zip(space.points.joints.tolist(), space.points.of_joints.tolist(), strict=True))
    joints = [getattr(roles, role) for role in _ROLES]
    return {space.skeleton.names[joint]: points[joint] for joint in joints if joint in points}


def effector_networks(editor: MotionEditor) -> EffectorNetworks:
    """The editor's networks. Raises ParameterError where it has none."""
    if editor.effectors is None:
        raise no_networks("effectors")
    return editor.effectors


def motion_of_effectors(paths: EffectorPaths, editor: MotionEditor) -> EditedMotion:
    """A clip of the editor's body whose hands and feet follow paths.

    A network leads from the paths to hidden units of the editor, which decode to the motion of
    the whole body, and to a correction of it; inverse kinematics of arms and legs removes what is
    left. Feet without a path stay in the contacts of the motion.

    Raises ParameterError if the editor has no networks for hands and feet (`train_path` with
    `effectors`), or no place of the paths is known.

    References
    ----------
    Holden 2017 (thesis), section 5.6.
    """
    networks = effector_networks(editor)
    names = networks.limits.joints
    chosen = [names.index(name) for name in _checked(paths.joints, names)]
    if not paths.known.any():
        raise ParameterError(
            "the paths state no place of a hand or a foot",
            hint="give at least one place with its time",
        )
    frames = len(paths.places)
    places = np.zeros((frames, len(names), 3))
    known = np.zeros((frames, len(names)), np.float32)
    places[:, chosen] = to_root_space(paths.places, paths.root)
    known[:, chosen] = paths.known
    flat = np.where(known[..., None] > 0, places, 0.0).reshape(frames, -1)
    rows = np.column_stack([root_velocities(paths.root, editor.fps), flat, known])
    batch, margin = padded(rows, editor)
    velocities, flat_places, flags = batch.split([ROOT_VALUES, flat.shape[1], len(names)], dim=1)
    with torch.inference_mode():
        decoded = networks.motion(velocities, flat_places, flags, editor.network.decode)
    own = editor.rows(decoded[0].T.numpy()[margin : margin + frames])
    clip = made_clip(own, paths.root, paths.name, editor)
    clip = _onto_paths(clip, editor.space, paths, own.contacts > 0.5)
    joints = [clip.skeleton.index(name) for name in paths.joints]
    apart = np.linalg.norm(joint_positions(clip)[:, joints] - paths.places, axis=-1)
    distances = np.where(paths.known, apart, 0.0).max(axis=0)
    findings = _findings(paths, places[:, chosen], networks, editor.fps)
    return EditedMotion(clip, distances, findings)


def read_effector_paths(
    path: str | Path, editor: MotionEditor, root: GroundPath | None = None
) -> EffectorPaths:
    """Read paths of hands and feet from CSV: columns t (s), joint, x, y, z (m).

    Between its first and its last time a joint follows a smooth curve through its places; before
    and after them it is not known.

    `root` is the path of the body over the same seconds; without one it stands at the origin and
    faces +Z. Raises FormatError with the line of what cannot be read, ParameterError if a joint is
    not a hand or foot of the editor's body.
    """
    path = Path(path)
    hint = f"columns: {', '.join(_COLUMNS)}; times in seconds from 0, places in metres"
    table = read_csv_table(path, _COLUMNS, hint)
    read: dict[str, list[tuple[float, float, float, float]]] = {}
    for line, cells in table.rows:
        values = dict(zip(table.columns, cells, strict=True))
        try:
            time, x, y, z = (float(values[name]) for name in ("t", "x", "y", "z"))
        except ValueError:
            time = x = y = z = float("nan")
        keys = read.setdefault(values["joint"], [])
        wrong = None
        if not np.abs([x, y, z]).max() <= LARGEST_LENGTH_M or not 0 <= time <= _LONGEST_S:
            wrong = f"{','.join(cells)!r} is not a time and a place of a hand or foot"
        elif keys and time < keys[-1][0] + _SHORTEST_S:
            wrong = f"the times of {values['joint']} must rise from row to row"
        if wrong is not None:
            raise FormatError(wrong, hint=hint, path=path, line=line)
        keys.append((time, x, y, z))
    if not read:
        raise FormatError("the table has no rows", hint=hint, path=path)
    joints = _checked(tuple(read), tuple(effector_joints(editor.space)))
    stop = max(keys[-1][0] for keys in read.values())
    frames = max(round(stop * editor.fps), 1) + 1
    times = np.arange(frames) / editor.fps
    places, known = np.zeros((frames, len(joints), 3)), np.zeros((frames, len(joints)), bool)
    for index, name in enumerate(joints):
        given = np.array(read[name])
        first, last = (round(float(time) * editor.fps) for time in given[[0, -1], 0])
        known[first : last + 1, index] = True
        places[:, index] = given[0, 1:]
        if len(given) > 1:
            curve = PchipInterpolator(given[:, 0], given[:, 1:])
            places[:, index] = curve(np.clip(times, given[0, 0], given[-1, 0]))
    way = root or GroundPath(np.array([0.0, stop + 1.0]), np.zeros((2, 2)), np.zeros(2))
    body = root_on(replace(way, times=way.times - way.times[0]), editor.fps, frames)
    return EffectorPaths(joints, places, known, body, path.stem)


def _checked(joints: tuple[str, ...], known: tuple[str, ...]) -> tuple[str, ...]:
    for name in joints:
        if name not in known:
            raise ParameterError(
                f"{name!r} is not a hand or foot of the editor's body",
                hint=f"choose from {', '.join(known)}",
            )
    return joints


def _onto_paths(clip: Clip, space: MotionSpace, paths: EffectorPaths, contacts: Array) -> Clip:
    """The clip with its hands and feet on the paths, and other feet held in contacts."""
    roles = space.roles_of(clip)
    standing = contacts.copy()
    given = {clip.skeleton.index(name): column for column, name in enumerate(paths.joints)}
    limbs = limbs_of_roles(clip.skeleton, roles).ending_in(given)
    legs = LegChains.from_skeleton(clip.skeleton, roles)
    if contacts.shape[1] == len(legs):
        for foot, ankle in enumerate(legs.last.tolist()):
            if ankle in given:
                standing[:, foot] &= ~paths.known[:, given[ankle]]
    if standing.any():
        clip = with_held_feet(clip, space, standing)
    if not len(limbs):
        return clip
    columns = [given[joint] for joint in limbs.tips.tolist()]
    tips = joint_positions(clip)[:, limbs.tips].astype(np.float64)
    places, known = paths.places[:, columns], paths.known[:, columns]
    wanted = faded_to(tips, places, known, HOLD_BLEND_S, clip.fps)
    return with_tips_at(clip, roles, limbs, wanted)


def _findings(
    paths: EffectorPaths, places: Array, networks: EffectorNetworks, fps: float
) -> tuple[str, ...]:
    """Sentences on what is beyond the training clips."""
    limits, found = networks.limits, []
    far = np.where(paths.known, np.linalg.norm(places, axis=-1), 0.0)
    steps = np.linalg.norm(np.diff(places, axis=0, append=places[-1:]), axis=-1) * fps
    fast = np.where(paths.known & np.roll(paths.known, -1, axis=0), steps, 0.0)
    for values, highest, unit, verb, where in (
        (far, limits.reaches, "m", "is", " from the floor under the hips"),
        (fast, limits.speeds, "m/s", "moves at", ""),
    ):
        for name, own in zip(paths.joints, values.T, strict=True):
            limit, frame = highest[limits.joints.index(name)], int(own.argmax())
            if own[frame] > _TOLERANCE * limit:
                found.append(
                    f"{name} {verb} {own[frame]:.2f} {unit}{where} at {frame / fps:.2f} s; in the "
                    f"training clips it {verb} {limit:.2f} {unit} at most"
                )
    return tuple(found)
