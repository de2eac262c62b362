"""Repair of clips: what is missing or noisy is restored, what is whole stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.transform import Rotation, Slerp

from deepphase.arrays import Array, true_runs
from deepphase.easing import smoothstep
from deepphase.edit.damage import Damage, find_damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.grounding import grounded, with_gaps_held
from deepphase.edit.missing import NOISY
from deepphase.edit.motion_rows import (
    JointStatistics,
    MotionRows,
    MotionSpace,
    SampledMotion,
    integrated_root,
    root_velocities,
)
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.mirror import mirrored
from deepphase.motion.resample import low_passed
from deepphase.motion.retargeting.correspondence import match_joints
from deepphase.motion.retargeting.retarget import retarget
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.steering.springs import rotation_vectors

# Seconds over which a difference of velocity at the edge of a restored stretch fades.
_FADE_S = 0.1
# Missing stretches up to the first duration are interpolated by a smooth curve, stretches from the
# second one on are the network's, and between both are blended.
_CURVE_S, _NETWORK_S = 0.15, 0.25
# The curve: length and noise of its covariance, chosen on other clips than those reported; the part
# of a clip that is computed at once, and what is read on both sides of it, in seconds.
_CURVE_LENGTH_S, _CURVE_NOISE = 0.2, 1e-6
_CURVE_PART_S, _CURVE_BESIDE_S = 1.6, 0.8
# Noisy rotations are low-passed before the network reads them, and its estimate afterwards, in Hz.
# Noise of this root mean square angle, radians, counts as much as the network's own error.
_NOISE_HZ, _RESULT_HZ = 4.0, 6.0
_NETWORK_ERROR = 0.09
_LIMBS = ("hip", "knee", "shoulder", "elbow")


@dataclass(eq=False, kw_only=True)
class BoundEditor(MotionEditor):
    """An editor for clips of another skeleton, for `repaired` and `in_between`.

    Noise and jumps are not found: what is rough differs between captures.

    Its body is that of the clips; the network's estimates are those of the trained editor, of the
    clips retargeted to its own body. Where a clip is whole, it stays as it is, and estimates are
    moved to continue it: what retargeting changes on both ways cancels out there.
    """

    bound: ClassVar[bool] = True

    trained: MotionEditor
    # (joints of the trained body, 2) columns of `Damage.known` that each is retargeted from; or -1
    sources: Array
    sample: Clip

    def on_trained(self, clip: Clip, damage: Damage) -> tuple[Clip, Damage]:
        """A clip without gaps, and its damage, on the body of the trained editor."""
        space = self.trained.space
        known = np.ones((len(clip), len(space.joints) + 1), np.float32)
        known[:, 0] = damage.known[:, 0]
        for column, pair in enumerate(self.sources, start=1):
            if pair[0] >= 0:
                known[:, column] = damage.known[:, pair].min(axis=1)
        return space.on_hips(retarget(clip, space.skeleton).clip), Damage(known, space.joints)

    def on_body(self, clip: Clip) -> Clip:
        """A clip of the trained editor's body on the body of the clips."""
        return self.space.on_hips(retarget(clip, self.sample).clip)


def bound_editor(editor: MotionEditor, clip: Clip) -> BoundEditor:
    """An editor for clips of another body, with an editor that was trained on its own."""
    roles = find_roles(clip.skeleton, clip=clip)
    space = MotionSpace.from_clip(clip, editor.fps)
    trained = editor.space.skeleton
    trained_roles = find_roles(trained, editor.space.description)
    columns = {int(joint): at + 1 for at, joint in enumerate(space.points.joints)}
    places = {int(joint): at for at, joint in enumerate(editor.space.points.joints)}
    sources = np.full((len(places), 2), -1)
    for match in match_joints(clip.skeleton, roles, trained, trained_roles):
        if match.joint in places and match.first in columns and match.second in columns:
            sources[places[match.joint]] = columns[match.first], columns[match.second]
    count = len(space.points.joints)
    # Limbs may be missing: hands and toes do not turn in every capture. No joint is rough.
    spread, rough = np.zeros(count), np.full(count + 1, np.inf)
    for part in _LIMBS:
        pairs = roles.both(part), trained_roles.both(part)
        # A body may lack arms.
        for own, other in zip(pairs[0] or (), pairs[1] or (), strict=False):
            spread[columns[own] - 1] = editor.statistics.spread[places[other]]
    at_rest = np.tile(quaternions.IDENTITY, (count, 1))
    return BoundEditor(
        editor.network,
        editor.config,
        space,
        foot_contacts(clip, roles).joints,
        editor.normalisation,
        JointStatistics(at_rest, spread, rough),
        editor.report,
        editor.provenance,
        trained=editor,
        sources=sources,
        sample=clip,
    )


def repaired(
    clip: Clip,
    editor: MotionEditor | None = None,
    damage: Damage | None = None,
    *,
    feet: bool = True,
    guess: Clip | None = None,
) -> Clip:
    """A clip with its damage repaired.

    Without an editor, gaps follow smooth curves, then the floor is levelled and feet are held in
    all contacts (`grounded`, which also states what it did).

    With one, rotations and hips' places that are known stay as they are. The network's estimate of
    the others is moved so that it continues the known ones in value and velocity.

    Parameters
    ----------
    clip
        A clip of the editor's body; of any body with legs without an editor.
    editor
        The editor.
    damage
        What is missing or noisy in it, by `find_damage` (the default) or `Damage.stated`.
    feet
        Hold feet still by inverse kinematics in the contacts of repaired stretches.
    guess
        The clip with a guess of what is missing, which the network corrects as it does noise.
        By default it starts from interpolation.

    Returns
    -------
    The clip at its rate, float64, with its travel on the hips.

    Raises
    ------
    SkeletonError
        If the clip's hierarchy is not the editor's, or, without an editor, no legs were found.
    ParameterError
        If the damage is of another clip, or no frame is whole.
    """
    space = MotionSpace.from_clip(clip, clip.fps) if editor is None else editor.space
    clip = space.on_hips(clip)
    damage = find_damage(clip, editor) if damage is None else damage
    if len(damage.known) != len(clip):
        raise ParameterError(
            "the damage and the clip must have the same number of frames, but have "
            f"{len(damage.known)} and {len(clip)}"
        )
    if damage.any and not (damage.known[:, 0] > 0).any():
        raise ParameterError(
            f"{clip.name}: every frame is damaged",
            hint="repair needs some frames in which the place of the body is known",
        )
    if editor is None:
        result = _with_curves(clip, space, damage) if damage.any else clip
        return grounded(result, space).clip if feet else result
    return _with_estimates(clip, editor, damage, feet, guess) if damage.any else clip


def _with_curves(clip: Clip, space: MotionSpace, damage: Damage) -> Clip:
    """The clip with smooth curves in short gaps and straight ones in long gaps."""
    missing = damage.known == 0
    rotations, places = _interpolated_pose(clip, space, damage, None)
    short = 1.0 - _length_weights(missing, clip.fps)
    curves = _rotation_curves(rotations, ~missing[:, 1:], clip.fps)
    places = places + short[:, :1] * (_curve(places, ~missing[:, 0], clip.fps) - places)
    return space.with_pose(clip, _blended(curves, rotations, short[:, 1:]), places)


def _with_estimates(
    clip: Clip, editor: MotionEditor, damage: Damage, feet: bool, guess: Clip | None
) -> Clip:
    """The clip with the network's estimate of what is damaged."""
    space, fps = editor.space, clip.fps
    missing, noisy = damage.known == 0, damage.known[:, 1:] == NOISY
    own, places = _interpolated_pose(clip, space, damage, editor.statistics.mean)
    if noisy.any():
        own = np.where(noisy[..., None], _low_passed_rotations(own, _NOISE_HZ, fps), own)
    plain = space.with_pose(clip, own, places)
    if guess is None:
        estimate, contacts = _estimate(plain, editor, damage)
    else:
        noise = np.where(missing, NOISY, damage.known)
        estimate, contacts = _estimate(guess, editor, Damage(noise, damage.joints))
    rotations, estimated_places = space.pose(estimate)
    if noisy.any():
        weights = _noise_weights(space.pose(clip)[0], own, noisy)
        rotations = _blended(rotations, own, weights)
    rotations = _low_passed_rotations(rotations, _RESULT_HZ, fps)
    result = own.copy()
    for joint, known in enumerate(damage.known[:, 1:].T):
        result[:, joint] = bridged_rotations(rotations[:, joint], own[:, joint], known < 1, fps)
    weights = _length_weights(missing, fps)
    result = _blended(result, _rotation_curves(own, ~missing[:, 1:], fps), weights[:, 1:])
    result = np.where(damage.known[:, 1:, None] == 1, own, result)
    moved = bridged(
        low_passed(estimated_places, _RESULT_HZ, fps), places, damage.known[:, 0] < 1, fps
    )
    curve = _curve(places, ~missing[:, 0], fps)
    repaired_clip = space.with_pose(
        plain, result, weights[:, :1] * moved + (1.0 - weights[:, :1]) * curve
    )
    if not feet:
        return repaired_clip
    # Where a curve bridges single frames, feet are where their neighbours in time are.
    return with_gaps_held(repaired_clip, space, contacts, missing & (weights == 1.0))


def bridged(estimate: Array, own: Array, broken: Array, fps: float) -> Array:
    """Values (frames, values) whose broken stretches are estimates that continue the others.

    Outside of `broken` (frames,) they are `own`.
    """
    result = own.copy()
    result[broken] = estimate[broken] + _offsets(own - estimate, broken, fps)[broken]
    return result


def bridged_rotations(estimate: Array, own: Array, broken: Array, fps: float) -> Array:
    """As `bridged`, for quaternions (frames, 4)."""
    result = own.copy()
    if not broken.any():
        return result
    apart = rotation_vectors(quaternions.multiply(own, quaternions.conjugate(estimate)))
    turns = Rotation.from_rotvec(_offsets(apart, broken, fps)[broken]).as_quat()
    result[broken] = quaternions.multiply(turns, estimate[broken])
    return quaternions.sign_continuous(result)


def _offsets(apart: Array, broken: Array, fps: float) -> Array:
    """(frames, values) differences at whole frames, continued over broken stretches.

    Between its ends a stretch takes them over smoothly; a difference of velocity fades. A stretch
    at an end of the clip keeps the difference of its one neighbour.
    """
    offsets = apart.copy()
    frames = len(broken)
    for first, stop in true_runs(broken):
        here = slice(first, stop)
        if first == 0 or stop == frames:
            offsets[here] = apart[stop] if stop < frames else apart[first - 1] if first else 0.0
            continue
        length = stop - first + 1
        share = (np.arange(1, length) / length)[:, None]
        offsets[here] = apart[first - 1] + (apart[stop] - apart[first - 1]) * smoothstep(share)
        for edge, inner, away in ((first - 1, first - 2, share), (stop, stop + 1, 1.0 - share)):
            if 0 <= inner < frames and not broken[inner]:
                slope = apart[edge] - apart[inner]
                fade = np.exp(-away * length / (_FADE_S * fps))
                offsets[here] += slope * length * away * (1.0 - away) ** 2 * fade
    return offsets


def interpolated(clip: Clip, editor: MotionEditor, damage: Damage) -> Clip:
    """The clip with missing rotations by spherical, and places by linear interpolation.

    A joint that is missing throughout has the mean rotation of the editor.
    """
    pose = _interpolated_pose(clip, editor.space, damage, editor.statistics.mean)
    return editor.space.with_pose(clip, *pose)


def _interpolated_pose(
    clip: Clip, space: MotionSpace, damage: Damage, mean: Array | None
) -> tuple[Array, Array]:
    """Rotations (frames, body joints, 4) and places (frames, 3), as `interpolated` has them.

    Without mean rotations (body joints, 4), a joint that is missing throughout keeps its own.
    """
    rotations, places = space.pose(clip)
    for joint, known in enumerate(damage.known[:, 1:].T > 0):
        has, lost = np.flatnonzero(known), np.flatnonzero(~known)
        if not len(has):
            if mean is not None:
                rotations[:, joint] = mean[joint]
        elif len(has) == 1:
            rotations[:, joint] = rotations[has[0], joint]
        elif len(lost):
            slerp = Slerp(has, Rotation.from_quat(rotations[has, joint]))
            rotations[lost, joint] = slerp(np.clip(lost, has[0], has[-1])).as_quat()
    known = damage.known[:, 0] > 0
    has, lost = np.flatnonzero(known), np.flatnonzero(~known)
    for axis in range(3):
        places[lost, axis] = np.interp(lost, has, places[has, axis])
    return quaternions.sign_continuous(rotations), places


def _low_passed_rotations(rotations: Array, cutoff_hz: float, fps: float) -> Array:
    """(frames, joints, 4) rotations, low-passed."""
    filtered = low_passed(quaternions.sign_continuous(rotations), cutoff_hz, fps)
    return quaternions.normalized(filtered)


def _noise_weights(given: Array, filtered: Array, noisy: Array) -> Array:
    """(frames, joints) weight of the network: 1 where nothing is noisy, more for more noise."""
    angle = np.where(noisy, quaternions.angle_between(given, filtered), 0.0)
    squares = (angle**2).sum(axis=0) / np.maximum(noisy.sum(axis=0), 1)
    return np.where(noisy, squares / (squares + _NETWORK_ERROR**2), 1.0)


def _length_weights(missing: Array, fps: float) -> Array:
    """(frames, joints) weight of the network: 0 in short missing stretches, 1 in long ones."""
    weights = np.ones(missing.shape)
    for joint, lost in enumerate(missing.T):
        for start, stop in true_runs(lost):
            seconds = (stop - start + 1) / fps
            weight = (seconds - _CURVE_S) / (_NETWORK_S - _CURVE_S)
            weights[start:stop, joint] = np.clip(weight, 0.0, 1.0)
    return weights


def _rotation_curves(rotations: Array, known: Array, fps: float) -> Array:
    """(frames, joints, 4) smooth curves through the known rotations (frames, joints)."""
    curves = rotations.copy()
    for joint in np.flatnonzero(~known.all(axis=0)):
        has, values = known[:, joint], rotations[:, joint].copy()
        values[has] = quaternions.sign_continuous(values[has])
        curves[:, joint] = quaternions.normalized(_curve(values, has, fps))
    return curves


def _curve(values: Array, known: Array, fps: float) -> Array:
    """(frames, values) a smooth curve through the known values.

    It is the mean of a Gaussian process with a Matern kernel of order 5/2 around a straight line
    (Rasmussen and Williams 2006, equations 2.25 and 4.17), computed for a few seconds at a time.
    """
    curve, has = values.copy(), np.flatnonzero(known)
    if len(has) < 4:
        return curve
    part, beside = round(_CURVE_PART_S * fps), round(_CURVE_BESIDE_S * fps)
    for start in range(int(has[0]), int(has[-1]) + 1, part):
        lost = np.arange(start, min(start + part, int(has[-1]) + 1))
        lost = lost[~known[lost]]
        if not lost.size:
            continue
        near = has[(has >= start - beside) & (has < start + part + beside)]
        if len(near) < 4:
            near = np.sort(has[np.argsort(np.abs(has - start), kind="stable")[:8]])
        line = np.stack([np.ones(len(near)), near - start], axis=1)
        slope = np.linalg.lstsq(line, values[near], rcond=None)[0]
        kernel = _matern(near[:, None] - near, fps) + _CURVE_NOISE * np.eye(len(near))
        weights = cho_solve(cho_factor(kernel), values[near] - line @ slope)
        straight = np.stack([np.ones(len(lost)), lost - start], axis=1) @ slope
        curve[lost] = straight + _matern(lost[:, None] - near, fps) @ weights
    return curve


def _matern(frames: Array, fps: float) -> Array:
    """Matern covariance of order 5/2 at distances in frames."""
    scaled = np.sqrt(5.0) * np.abs(frames) / (_CURVE_LENGTH_S * fps)
    covariance: Array = (1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled)
    return covariance


def _blended(first: Array, second: Array, weights: Array) -> Array:
    """(frames, joints, 4) means of rotations, with weights (frames, joints) of the first."""
    sign = np.where((first * second).sum(axis=-1) < 0, -1.0, 1.0)
    mean = weights[..., None] * first + ((1.0 - weights) * sign)[..., None] * second
    return quaternions.normalized(mean)


def _estimate(clip: Clip, editor: MotionEditor, damage: Damage) -> tuple[Clip, Array]:
    """The network's estimate of all frames of a clip whose gaps are interpolated, at its rate.

    It is the mean of those of the clip and of its mirror image, whose errors differ. Beside it,
    (frames, feet) bool contacts: those of the clip in whole frames.
    """
    if isinstance(editor, BoundEditor):
        on_trained, lost = editor.on_trained(clip, damage)
        estimate, contacts = _estimate(on_trained, editor.trained, lost)
        return editor.on_body(estimate), contacts
    estimate, contacts = _one_estimate(clip, editor, damage)
    space, joints = editor.space, editor.space.points.joints
    # The mean pose of all training clips decides: a short clip may leave axes of joints open.
    first = clip.sliced(0, 1)
    mean = space.with_pose(first, editor.statistics.mean[None], space.pose(first)[1])
    mapping = space.mirror_map(mean) if editor.config.training.mirror else None
    if mapping is None:
        return estimate, contacts
    partners = np.searchsorted(joints, mapping.pairs[joints]) + 1
    image = space.on_hips(mirrored(clip, mapping))
    lost = Damage(damage.known[:, [0, *partners]], damage.joints)
    other = space.on_hips(mirrored(_one_estimate(image, editor, lost)[0], mapping))
    rotations, places = zip(space.pose(estimate), space.pose(other), strict=True)
    mixed = _blended(*rotations, np.full(rotations[0].shape[:2], 0.5))
    return space.with_pose(estimate, mixed, np.mean(places, axis=0)), contacts


def _one_estimate(clip: Clip, editor: MotionEditor, damage: Damage) -> tuple[Clip, Array]:
    """The network's estimate of a clip of its own body, as `_estimate` returns it."""
    motion = SampledMotion.from_clip(clip, editor.space)
    rows, known = motion.rows, damage.known
    if clip.fps != editor.fps:
        # A frame of the editor is as damaged as the worse of the two frames that it lies between.
        times = np.minimum(np.arange(len(rows)) * clip.fps / editor.fps, len(clip) - 1)
        known = np.minimum(known[np.floor(times).astype(int)], known[np.ceil(times).astype(int)])
    restored = editor.restored(rows, Damage(known, damage.joints).groups(editor.layout.depends))
    estimate = motion.clip_of(restored, _restored_root(restored, motion, known[:, 0] < 1))
    broken = known.min(axis=1, keepdims=True) < 1
    contacts = np.where(broken, restored.contacts, rows.contacts) > 0.5
    frames = np.round(np.arange(len(clip)) * editor.fps / clip.fps).astype(int)
    return estimate, contacts[np.minimum(frames, len(contacts) - 1)]


def _restored_root(restored: MotionRows, motion: SampledMotion, broken: Array) -> RootTrajectory:
    """The root where it is known, and along the restored velocities between."""
    root, fps = motion.root, motion.space.fps
    if not broken.any():
        return root
    velocities = motion.space.velocities(restored, motion.sampled)
    # The velocity at a frame leads to the next one.
    leading = broken | np.append(broken[1:], False)
    velocities[~leading] = root_velocities(root, fps)[~leading]
    places, angles = root.positions[:, ::2].astype(np.float64), root.angles.astype(np.float64)
    followed = integrated_root(velocities, fps, places[0], float(angles[0]))
    turned = bridged(followed.angles[:, None], angles[:, None], broken, fps)[:, 0]
    # The way is led by the facing that arrives, not by one that has drifted.
    velocities[:-1, 2] = np.diff(turned) * fps
    followed = integrated_root(velocities, fps, places[0], float(angles[0]))
    return RootTrajectory.from_ground(
        bridged(followed.positions[:, ::2], places, broken, fps), turned
    )
