"""Repair of clips: what is missing or noisy is restored, all else stays bit for bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from deepphase.arrays import Array, true_runs
from deepphase.edit.bound_editor import BoundEditor
from deepphase.edit.curves import (
    Cycle,
    blended,
    bridged,
    bridged_root,
    bridged_rotations,
    continued,
    curve,
    eased,
    mixed,
    points_in_root_space,
    rotation_curves,
    slerped,
    straight,
)
from deepphase.edit.damage import Damage, find_damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.held_feet import with_gaps_held
from deepphase.edit.missing import NOISY
from deepphase.edit.motion_rows import MotionRows, MotionSpace, SampledMotion, root_velocities
from deepphase.errors import ParameterError
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip, global_transforms, joint_positions
from deepphase.motion.mirror import mirrored
from deepphase.motion.resample import low_passed, low_passed_rotations
from deepphase.motion.root_trajectory import RootTrajectory
from deepphase.motion.skeleton import ancestors

# Missing stretches up to the first duration are interpolated by a smooth curve, stretches from the
# second one on are the network's, and between both are blended.
_CURVE_S, _NETWORK_S = 0.15, 0.25
# Hz of the low-passes of noisy rotations before the network, and of its estimate afterwards; noise
# of this root mean square angle, radians, counts as much as the network's own error.
_NOISE_HZ, _RESULT_HZ = 4.0, 6.0
_NETWORK_ERROR = 0.09
# A gap is rehearsed in so many seconds beside it, of which some are left at both ends. Errors count
# by this power, chosen on other clips than those reported.
_REHEARSED_S, _MARGIN_S, _SHARPNESS = 4.0, 0.4, 6.0
# The least share of a line's rehearsed error, where a gap begins and ends in nearly one still pose.
_CALMEST = 0.3
# Metres from which a change is told.
_CHANGE_M = 1e-4


def repaired(clip: Clip, editor: MotionEditor | None = None, damage: Damage | None = None) -> Clip:
    """A clip with its damage repaired; a whole clip is returned as it is.

    Only what is damaged changes: rotations of joints and places of the hips in the frames in which
    `damage.known` is below 1. All others keep their bits.

    Without an editor, gaps follow smooth curves. With one, the network's estimate of what is
    damaged is moved so that it continues the rest in value and velocity, and feet whose legs are
    restored stay in contacts.

    Parameters
    ----------
    clip
        A clip of the editor's body; of any body without an editor.
    damage
        What is missing or noisy in it, by `find_damage` (the default) or `Damage.stated`.

    Returns
    -------
    The clip, in its own order of joints and at its rate. If places of hips without a track of
    positions are restored, they have one.

    Raises SkeletonError if the clip's hierarchy is not the editor's, ParameterError if the damage
    is of another clip, or no frame is whole.
    """
    damage = find_damage(clip, editor) if damage is None else damage
    if len(damage.known) != len(clip):
        raise ParameterError(
            "the damage and the clip must have the same number of frames, but have "
            f"{len(damage.known)} and {len(clip)}"
        )
    if not damage.any:
        return clip
    if not (damage.known[:, 0] > 0).any():
        raise ParameterError(
            f"{clip.name}: every frame is damaged",
            hint="repair needs some frames in which the place of the body is known",
        )
    space = MotionSpace.from_clip(clip, clip.fps) if editor is None else editor.space
    on_hips = space.on_hips(clip)
    if editor is None:
        made = _with_curves(on_hips, space, damage)
    else:
        made = _with_estimates(on_hips, editor, damage)
    return _in_damage(clip, made, space, damage)


def change_between(before: Clip, after: Clip) -> str:
    """How many frames change and how far joints move, in words."""
    apart = np.linalg.norm(joint_positions(after) - joint_positions(before), axis=-1)
    changed = apart.max(axis=1) > _CHANGE_M
    if not changed.any():
        return "no joint moves by 0.1 mm"
    frame, joint = np.unravel_index(apart.argmax(), apart.shape)
    return (
        f"{changed.sum()} of {len(before)} frames, in which joints move by "
        f"{100 * apart[changed].mean():.1f} cm in the mean and {100 * apart.max():.1f} cm at most "
        f"({before.skeleton.names[joint]} in frame {frame})"
    )


def _in_damage(clip: Clip, made: Clip, space: MotionSpace, damage: Damage) -> Clip:
    """The clip with the pose of a made clip, on the hips, where it is damaged."""
    order = space.skeleton.order_of(clip.skeleton)
    joints, whole = order[space.points.joints], damage.known == 1
    hips, above = int(joints[0]), ancestors(clip.skeleton, int(joints[0]))[1:]
    # One type holds both without rounding.
    kind = np.result_type(clip.rotations, clip.translations)
    clip = replace(clip, rotations=clip.rotations.astype(kind))
    rotations, local = clip.rotations.copy(), clip.local_positions()
    moving = clip.translated_joints
    # Positions of other joints are interpolated where their rotations are restored, and the joints
    # above the hips where the hips' place is.
    for joint, known in [
        *zip(joints[1:].tolist(), whole[:, 2:].T, strict=True),
        *((joint, whole[:, 0]) for joint in above),
    ]:
        if joint in moving:
            local[:, joint] = straight(local[:, joint], known)
        if joint in above:
            rotations[:, joint] = np.where(
                known[:, None], rotations[:, joint], slerped(rotations[:, joint], known)
            )
    turns, places = space.pose(made)
    turned_here = ~whole[:, 1:]
    if above:
        turned_here[:, 0] |= ~whole[:, 0]
        parent = replace(clip, rotations=rotations, translations=local[:, moving])
        turned, origin = (own[:, above[0]] for own in global_transforms(parent))
        back = quaternions.conjugate(turned.astype(np.float64))
        turns[:, 0] = quaternions.multiply(back, turns[:, 0])
        places = quaternions.rotate(back, places - origin)
    rotations[:, joints] = np.where(turned_here[..., None], turns, rotations[:, joints])
    local[:, hips] = np.where(whole[:, :1], local[:, hips], places)
    if not whole[:, 0].all():
        moving = np.union1d(moving, [hips])
    return replace(
        clip, rotations=rotations, translations=local[:, moving], translated_joints=moving
    )


def _with_curves(clip: Clip, space: MotionSpace, damage: Damage) -> Clip:
    """The clip with smooth curves in short gaps and straight ones in long gaps."""
    missing = damage.known == 0
    rotations, places = interpolated_pose(clip, space, damage, None)
    short = 1.0 - _length_weights(missing, clip.fps)
    curves = rotation_curves(rotations, ~missing[:, 1:], clip.fps)
    places = places + short[:, :1] * (curve(places, ~missing[:, 0], clip.fps) - places)
    return space.with_pose(clip, blended(curves, rotations, short[:, 1:]), places)


def _with_estimates(
    clip: Clip, editor: MotionEditor, damage: Damage, *, weigh: bool = True
) -> Clip:
    """The clip with the network's estimate of what is damaged, weighed against others in gaps."""
    space, fps = editor.space, clip.fps
    missing, noisy = damage.known == 0, damage.known[:, 1:] == NOISY
    own, places = interpolated_pose(clip, space, damage, editor.statistics.mean)
    if noisy.any():
        own = np.where(noisy[..., None], low_passed_rotations(own, _NOISE_HZ, fps), own)
    plain = space.with_pose(clip, own, places)
    estimate, contacts = _estimate(plain, editor, damage)
    rotations, estimated_places = space.pose(estimate)
    if noisy.any():
        # The network counts more where there is more noise.
        angle = np.where(noisy, quaternions.angle_between(space.pose(clip)[0], own), 0.0)
        squares = (angle**2).sum(axis=0) / np.maximum(noisy.sum(axis=0), 1)
        share = np.where(noisy, squares / (squares + _NETWORK_ERROR**2), 1.0)
        rotations = blended(rotations, own, share)
    rotations = low_passed_rotations(rotations, _RESULT_HZ, fps)
    result = own.copy()
    for joint, known in enumerate(damage.known[:, 1:].T):
        result[:, joint] = bridged_rotations(rotations[:, joint], own[:, joint], known < 1, fps)
    weights = _length_weights(missing, fps)
    result = blended(result, rotation_curves(own, ~missing[:, 1:], fps), weights[:, 1:])
    result = np.where(damage.known[:, 1:, None] == 1, own, result)
    smooth = low_passed(estimated_places, _RESULT_HZ, fps)
    moved = bridged(smooth, places, damage.known[:, 0] < 1, fps)
    between = curve(places, ~missing[:, 0], fps)
    moved = weights[:, :1] * moved + (1.0 - weights[:, :1]) * between
    if weigh:
        for start, stop in true_runs(missing.any(axis=1)):
            if stop - start + 1 > _NETWORK_S * fps:
                _weigh(clip, editor, damage, start, stop, (own, places), (result, moved), contacts)
    # Where a curve bridges single frames, feet are where their neighbours in time are.
    return with_gaps_held(
        space.with_pose(plain, result, moved), space, contacts, missing & (weights == 1.0)
    )


def _weigh(
    clip: Clip,
    editor: MotionEditor,
    damage: Damage,
    start: int,
    stop: int,
    line: tuple[Array, Array],
    estimate: tuple[Array, Array],
    contacts: Array,
) -> None:
    """Mix the estimate of a gap, in place, with its line and its cycle, each by its error."""
    space, fps, whole = editor.space, clip.fps, (damage.known == 1).all(axis=1)
    rehearsed = _rehearsed(clip, editor, damage, whole, start, stop)
    if rehearsed is None:
        return
    here = slice(start, stop)
    plain = space.with_pose(clip, *line)
    points, root = points_in_root_space(plain, space)
    gap = np.zeros(len(clip), bool)
    gap[here] = True
    poses, errors = [eased(line, gap, fps), estimate], [*rehearsed]
    cycle = Cycle.found(points, whole, start, stop, fps)
    if cycle is not None:
        poses.append(continued(plain, space, root, cycle, start, stop))
        errors.append(max(cycle.error, 1e-4))
    weights = (min(errors) / np.array(errors)) ** _SHARPNESS
    weights /= weights.sum()
    turned = mixed([rotations[here] for rotations, _ in poses], weights.tolist())
    estimate[0][here] = np.where(damage.known[here, 1:, None] == 1, estimate[0][here], turned)
    placed = sum(weight * places[here] for weight, (_, places) in zip(weights, poses, strict=True))
    estimate[1][here] = np.where(damage.known[here, :1] == 1, estimate[1][here], placed)
    if cycle is not None and weights[2] > 0.5:
        contacts[here] = cycle.of(contacts.astype(float))[here] > 0.5
    elif rehearsed[1] > rehearsed[0] and start and stop < len(clip):
        # Where the network is worse than a line, what stands before and after a gap stands in it.
        contacts[here] = contacts[start - 1] & contacts[stop]


def _rehearsed(
    clip: Clip, editor: MotionEditor, damage: Damage, whole: Array, start: int, stop: int
) -> tuple[float, float] | None:
    """Errors in metres of a line and of the editor where whole frames beside a gap are left out."""
    space, fps = editor.space, clip.fps
    near, fewest, margin = (round(s * fps) for s in (_REHEARSED_S, _NETWORK_S, _MARGIN_S))
    # A joint is moved by the rotations above it.
    groups = damage.groups(editor.layout.depends)[start:stop, space.points.parents + 1]
    joints = space.points.joints[(groups < 1).any(axis=0)]
    before = start - int(np.argmin(np.append(whole[:start][::-1], False)))
    after = stop + int(np.argmin(np.append(whole[stop:], False)))
    errors, moves = [], []
    for first, last in ((max(before, start - near), start), (stop, min(after, stop + near))):
        length = min(stop - start, last - first - margin)
        if length < fewest:
            continue
        # As near to the gap as the frames between allow.
        at = min(margin, (last - first - length) // 2)
        at = last - first - length - at if last == start else at
        part, here = clip.sliced(first, last), slice(at, at + length)
        known = np.ones((len(part), damage.known.shape[1]), np.float32)
        known[here] = damage.known[start : start + length]
        tried = Damage(known, damage.joints)
        line = interpolated_pose(part, space, tried, editor.statistics.mean)
        line = eased(line, np.asarray((known < 1).any(axis=1)), fps)
        made = space.with_pose(part, *line), _with_estimates(part, editor, tried, weigh=False)
        true, *tries = (joint_positions(each)[:, joints] for each in (part, *made))
        errors.append([np.linalg.norm((own - true)[here], axis=-1).mean() for own in tries])
        moves.append(_movement(true, at, at + length))
    if not errors:
        return None
    means = np.exp(np.log(np.maximum(errors, 1e-4)).mean(axis=0))
    calm = 1.0
    if start > 1 and stop < len(clip) - 1:
        # A line between poses that are near and slow is better than others.
        usual = np.exp(np.log(np.maximum(moves, 1e-6)).mean())
        own = _movement(joint_positions(clip)[:, joints], start, stop)
        calm = np.clip(np.sqrt(own / usual), _CALMEST, 1.0)
    return float(calm * means[0]), float(means[1])


def _movement(positions: Array, start: int, stop: int) -> float:
    """Metres a frame that joints move across a gap and, in the mean, at its ends."""
    pairs = ((stop, start - 1), (start - 1, start - 2), (stop + 1, stop))
    way, *ends = (np.linalg.norm(positions[a] - positions[b], axis=-1).mean() for a, b in pairs)
    return float(way / (stop - start + 1) + np.mean(ends))


def interpolated_pose(
    clip: Clip, space: MotionSpace, damage: Damage, mean: Array | None
) -> tuple[Array, Array]:
    """Rotations (frames, body joints, 4) and places (frames, 3) metres, interpolated; the mean for
    joints that are missing throughout."""
    rotations, places = space.pose(clip)
    for joint, known in enumerate(damage.known[:, 1:].T > 0):
        if known.any():
            rotations[:, joint] = slerped(rotations[:, joint], known)
        elif mean is not None:
            rotations[:, joint] = mean[joint]
    return quaternions.sign_continuous(rotations), straight(places, damage.known[:, 0] > 0)


def _length_weights(missing: Array, fps: float) -> Array:
    """(frames, joints) weight of the network: 0 in short missing stretches, 1 in long ones."""
    weights = np.ones(missing.shape)
    for joint, lost in enumerate(missing.T):
        for start, stop in true_runs(lost):
            seconds = (stop - start + 1) / fps
            weight = (seconds - _CURVE_S) / (_NETWORK_S - _CURVE_S)
            weights[start:stop, joint] = np.clip(weight, 0.0, 1.0)
    return weights


def _estimate(clip: Clip, editor: MotionEditor, damage: Damage) -> tuple[Clip, Array]:
    """The mean estimate of a clip and of its mirror image, and (frames, feet) contacts."""
    if isinstance(editor, BoundEditor):
        lost = editor.damage_on_trained(damage)
        estimate, contacts = _estimate(editor.on_trained(clip), editor.trained, lost)
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
    mixed = blended(*rotations, np.full(rotations[0].shape[:2], 0.5))
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
    return bridged_root(root, velocities, broken, fps)
