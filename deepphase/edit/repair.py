"""Repair of clips: what is missing or noisy is restored, what is whole stays."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.ndimage import label
from scipy.spatial.transform import Rotation, Slerp

from deepphase.arrays import Array, true_runs
from deepphase.easing import smoothstep
from deepphase.edit.bound_editor import BoundEditor
from deepphase.edit.damage import Damage, find_damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.grounding import grounded
from deepphase.edit.held_feet import with_gaps_held
from deepphase.edit.missing import NOISY
from deepphase.edit.motion_rows import (
    MotionRows,
    MotionSpace,
    SampledMotion,
    integrated_root,
    root_velocities,
)
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.mirror import mirrored
from deepphase.motion.resample import low_passed
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


def repaired(
    clip: Clip,
    editor: MotionEditor | None = None,
    damage: Damage | None = None,
    *,
    whole: bool = False,
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
    whole
        Project the whole clip, also what is known, as Holden et al. 2015 do.
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
        If the damage is of another clip, or no frame is whole; without an editor, if the whole
        clip or a guess of it is given.
    """
    space = MotionSpace.of_clip(clip, clip.fps) if editor is None else editor.space
    clip = space.on_hips(clip)
    damage = find_damage(clip, editor) if damage is None else damage
    if len(damage.known) != len(clip):
        raise ParameterError(
            "the damage and the clip must have the same number of frames, but have "
            f"{len(damage.known)} and {len(clip)}"
        )
    if editor is None and (whole or guess is not None):
        raise ParameterError(
            "a whole clip is projected, and a guess corrected, by an editor",
            hint="give an editor of `deepphase train editor`",
        )
    if editor is None and not damage.any:
        return grounded(clip, space).clip if feet else clip
    if not damage.any and not whole:
        return clip
    if not (damage.known[:, 0] > 0).any():
        raise ParameterError(
            f"{clip.name}: every frame is damaged",
            hint="repair needs some frames in which the place of the body is known",
        )
    plain = interpolated(clip, editor, damage)
    if editor is None:
        joints, missing = space.points.joints, damage.known == 0
        short = 1.0 - _length_weights(missing, clip.fps)
        rotations = plain.rotations[:, joints]
        places = plain.local_positions()[:, space.hips]
        curves = _rotation_curves(rotations, ~missing[:, 1:], clip.fps)
        places = places + short[:, :1] * (_curve(places, ~missing[:, 0], clip.fps) - places)
        filled = space.with_pose(plain, _blended(curves, rotations, short[:, 1:]), places)
        return grounded(filled, space).clip if feet else filled
    plain = _low_passed(plain, editor, damage)
    if guess is None:
        estimate, contacts = _estimate(plain, editor, damage)
    else:
        guessed = Damage(np.where(damage.known == 0, NOISY, damage.known), damage.joints)
        estimate, contacts = _estimate(guess, editor, guessed)
    joints, hips = editor.space.points.joints, editor.space.hips
    own = plain.rotations[:, joints].astype(np.float64)
    made = estimate.rotations[:, joints]
    places = plain.local_positions()[:, hips].astype(np.float64)
    made_places = estimate.local_positions()[:, hips]
    result, moved = own.copy(), places.copy()
    if whole:
        result, moved = made, made_places
    else:
        noisy = damage.known[:, 1:] == NOISY
        if noisy.any():
            given = clip.rotations[:, joints].astype(np.float64)
            made = _blended(made, own, _noise_weights(given, own, noisy))
        made = _joint_low_passed(made, np.ones_like(noisy), _RESULT_HZ, clip.fps)
        made_places = low_passed(made_places, _RESULT_HZ, clip.fps)
        for joint in range(len(joints)):
            broken = damage.known[:, joint + 1] < 1
            result[:, joint] = bridged_rotations(made[:, joint], own[:, joint], broken, clip.fps)
        missing = damage.known == 0
        weights = _length_weights(missing, clip.fps)
        result = _blended(result, _rotation_curves(own, ~missing[:, 1:], clip.fps), weights[:, 1:])
        moved = bridged(made_places, places, damage.known[:, 0] < 1, clip.fps)
        curve = _curve(places, ~missing[:, 0], clip.fps)
        moved = weights[:, :1] * moved + (1.0 - weights[:, :1]) * curve
        result[damage.known[:, 1:] == 1] = own[damage.known[:, 1:] == 1]
    made_clip = editor.space.with_pose(plain, result, moved)
    if not feet or whole:
        return made_clip
    # Where a curve bridges single frames, feet are where their neighbours in time are.
    long = (damage.known == 0) & (_length_weights(damage.known == 0, clip.fps) == 1.0)
    return with_gaps_held(made_clip, editor.space, contacts, long)


def bridged(made: Array, own: Array, broken: Array, fps: float) -> Array:
    """Values with broken stretches replaced by made ones that continue the others.

    Parameters
    ----------
    made, own : (frames, values)
    broken : (frames,) bool

    Returns
    -------
    (frames, values): `own` outside of broken stretches.
    """
    result = own.copy()
    result[broken] = made[broken] + _offsets(own - made, broken, fps)[broken]
    return result


def bridged_rotations(made: Array, own: Array, broken: Array, fps: float) -> Array:
    """As `bridged`, for quaternions (frames, 4)."""
    result = own.copy()
    if not broken.any():
        return result
    apart = rotation_vectors(quaternions.multiply(own, quaternions.conjugate(made)))
    turns = Rotation.from_rotvec(_offsets(apart, broken, fps)[broken]).as_quat()
    result[broken] = quaternions.multiply(turns, made[broken])
    return quaternions.sign_continuous(result)


def _offsets(apart: Array, broken: Array, fps: float) -> Array:
    """(frames, values) differences at whole frames, continued over broken stretches.

    Between its ends a stretch takes them over smoothly; a difference of velocity fades. A stretch
    at an end of the clip keeps the difference of its one neighbour.
    """
    offsets = apart.copy()
    frames = len(broken)
    for first, stop in true_runs(broken):
        where, last = np.arange(first, stop), stop - 1
        if first == 0 and last == frames - 1:
            offsets[where] = 0.0
        elif first == 0 or last == frames - 1:
            offsets[where] = apart[last + 1] if first == 0 else apart[first - 1]
        else:
            length = last - first + 2
            share = ((where - first + 1) / length)[:, None]
            start, stop = apart[first - 1], apart[last + 1]
            offsets[where] = start + (stop - start) * smoothstep(share)
            for edge, inner, away in (
                (first - 1, first - 2, share),
                (last + 1, last + 2, 1.0 - share),
            ):
                if 0 <= inner < frames and not broken[inner]:
                    slope = apart[edge] - apart[inner]
                    fade = np.exp(-away * length / (_FADE_S * fps))
                    offsets[where] += slope * length * away * (1.0 - away) ** 2 * fade
    return offsets


def interpolated(clip: Clip, editor: MotionEditor | None, damage: Damage) -> Clip:
    """The clip with missing rotations by spherical, and places by linear interpolation.

    A joint that is missing throughout has the mean rotation of an editor, or keeps its own.
    """
    space = MotionSpace.of_clip(clip, clip.fps) if editor is None else editor.space
    joints, hips = space.points.joints, space.hips
    rotations = clip.rotations[:, joints].astype(np.float64)
    frames = np.arange(len(clip))
    for joint in range(len(joints)):
        known = damage.known[:, joint + 1] > 0
        if known.all():
            continue
        if not known.any():
            if editor is not None:
                rotations[:, joint] = editor.statistics.mean[joint]
            continue
        has = np.flatnonzero(known)
        if len(has) == 1:
            rotations[:, joint] = rotations[has[0], joint]
            continue
        lost = frames[~known]
        slerp = Slerp(has, Rotation.from_quat(rotations[has, joint]))
        rotations[lost, joint] = slerp(np.clip(lost, has[0], has[-1])).as_quat()
    places = clip.local_positions()[:, hips].astype(np.float64)
    has = np.flatnonzero(damage.known[:, 0] > 0)
    lost = damage.known[:, 0] == 0
    for axis in range(3):
        places[lost, axis] = np.interp(frames[lost], has, places[has, axis])
    return space.with_pose(clip, quaternions.sign_continuous(rotations), places)


def _low_passed(clip: Clip, editor: MotionEditor, damage: Damage) -> Clip:
    """The clip with its noisy rotations low-passed."""
    noisy = damage.known[:, 1:] == NOISY
    if not noisy.any():
        return clip
    rotations = clip.rotations[:, editor.space.points.joints].astype(np.float64)
    rotations = _joint_low_passed(rotations, noisy, _NOISE_HZ, clip.fps)
    return editor.space.with_pose(clip, rotations, clip.local_positions()[:, editor.space.hips])


def _joint_low_passed(rotations: Array, which: Array, cutoff_hz: float, fps: float) -> Array:
    """(frames, joints, 4) rotations, low-passed where `which` (frames, joints) says."""
    filtered = low_passed(quaternions.sign_continuous(rotations), cutoff_hz, fps)
    return np.where(which[..., None], quaternions.normalized(filtered), rotations)


def _noise_weights(given: Array, filtered: Array, noisy: Array) -> Array:
    """(frames, joints) weight of the network: 1 where nothing is noisy, more for more noise."""
    angle = np.where(noisy, quaternions.angle_between(given, filtered), 0.0)
    squares = (angle**2).sum(axis=0) / np.maximum(noisy.sum(axis=0), 1)
    return np.where(noisy, squares / (squares + _NETWORK_ERROR**2), 1.0)


def _length_weights(missing: Array, fps: float) -> Array:
    """(frames, joints) weight of the network: 0 in short missing stretches, 1 in long ones."""
    weights = np.ones(missing.shape)
    for joint in np.flatnonzero(missing.any(axis=0)):
        stretches, _ = label(missing[:, joint])
        seconds = (np.bincount(stretches) + 1)[stretches] / fps
        weight = np.clip((seconds - _CURVE_S) / (_NETWORK_S - _CURVE_S), 0.0, 1.0)
        weights[:, joint] = np.where(missing[:, joint], weight, 1.0)
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


def _blended(made: Array, other: Array, weights: Array) -> Array:
    """(frames, joints, 4) normalised means of rotations, with the weights (frames, joints)."""
    sign = np.where((made * other).sum(axis=-1) < 0, -1.0, 1.0)
    mean = weights[..., None] * made + ((1.0 - weights) * sign)[..., None] * other
    return quaternions.normalized(mean)


def with_change(
    clip: Clip,
    base: Clip,
    made: Clip,
    editor: MotionEditor,
    *,
    on_path: bool = False,
    share: float = 1.0,
) -> Clip:
    """The clip with what `made` has other than `base`.

    Parameters
    ----------
    share
        Share of the change of the hips' place.
    """
    joints, hips = editor.space.points.joints, editor.space.hips
    turns = quaternions.multiply(
        made.rotations[:, joints], quaternions.conjugate(base.rotations[:, joints])
    )
    rotations = quaternions.multiply(turns, clip.rotations[:, joints].astype(np.float64))
    moved = share * (made.local_positions()[:, hips] - base.local_positions()[:, hips])
    if on_path:
        moved[:, ::2] = 0.0
    places = clip.local_positions()[:, hips].astype(np.float64) + moved
    return editor.space.with_pose(clip, quaternions.sign_continuous(rotations), places)


def _estimate(clip: Clip, editor: MotionEditor, damage: Damage) -> tuple[Clip, Array]:
    """The network's estimate of all frames of a clip whose gaps are interpolated, at its rate.

    It is the mean of those of the clip and of its mirror image, whose errors differ.

    Returns
    -------
    The clip, and (frames, feet) bool contacts: those of the clip in whole frames.
    """
    if isinstance(editor, BoundEditor):
        trained, lost = editor.on_trained(clip, damage)
        made, contacts = _estimate(trained, editor.trained, lost)
        return editor.on_body(made), contacts
    made, contacts = _one_estimate(clip, editor, damage)
    space, hips = editor.space, editor.space.hips
    # The mean pose of all training clips decides: a short clip may leave axes of joints open.
    places = clip.local_positions()[:1, hips]
    pose = space.with_pose(clip.sliced(0, 1), editor.statistics.mean[None], places)
    mapping = space.mirror_map(pose) if editor.config.training.mirror else None
    if mapping is None:
        return made, contacts
    joints = space.points.joints
    partners = np.searchsorted(joints, mapping.pairs[joints]) + 1
    image = space.on_hips(mirrored(clip, mapping))
    lost = Damage(damage.known[:, [0, *partners]], damage.joints)
    other = space.on_hips(mirrored(_one_estimate(image, editor, lost)[0], mapping))
    half = np.full((len(made), len(joints)), 0.5)
    rotations = _blended(made.rotations[:, joints], other.rotations[:, joints], half)
    both = [each.local_positions()[:, hips] for each in (made, other)]
    return space.with_pose(made, rotations, np.mean(both, axis=0)), contacts


def _one_estimate(clip: Clip, editor: MotionEditor, damage: Damage) -> tuple[Clip, Array]:
    """The network's estimate of a clip of its own body, as `_estimate` returns it."""
    motion = SampledMotion.of_clip(clip, editor.space)
    rows, known = motion.rows, damage.known
    if clip.fps != editor.fps:
        # A frame of the editor is as damaged as the worse of the two frames that it lies between.
        times = np.minimum(np.arange(len(rows)) * clip.fps / editor.fps, len(clip) - 1)
        known = np.minimum(known[np.floor(times).astype(int)], known[np.ceil(times).astype(int)])
    restored = editor.restored(rows, Damage(known, damage.joints).groups(editor.layout.depends))
    made = motion.clip_of(restored, _restored_root(restored, motion, known[:, 0] < 1))
    broken = known.min(axis=1, keepdims=True) < 1
    contacts = np.where(broken, restored.contacts, rows.contacts) > 0.5
    frames = np.round(np.arange(len(clip)) * editor.fps / clip.fps).astype(int)
    return made, contacts[np.minimum(frames, len(contacts) - 1)]


def _restored_root(restored: MotionRows, motion: SampledMotion, broken: Array) -> RootTrajectory:
    """The root where it is known, and along the restored velocities between."""
    root, fps = motion.root, motion.space.fps
    if not broken.any():
        return root
    velocities = restored.velocities.astype(np.float64)
    velocities[:, :2] *= motion.space.size_of(motion.sampled)
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
