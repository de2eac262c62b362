"""Damage of clips: what is missing or noisy, found by how joints usually turn, or stated."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.ndimage import binary_closing, maximum_filter1d

from deepphase.arrays import Array, brief_repr, true_runs
from deepphase.edit.editor import MotionEditor
from deepphase.edit.missing import NOISY
from deepphase.edit.motion_rows import MotionSpace, pose_steps, roughness
from deepphase.errors import ParameterError, SkeletonError
from deepphase.motion.clip import Clip
from deepphase.motion.resample import at_frames

# A pose is held where no joint turns by more than this, in radians, nor the hips move, in metres.
_STILL = 2e-5
# Mean speed of the joints, rad/s, beside a held pose at which it is a capture error.
_MOVING = 0.15
# A joint that is still over a whole clip is missing if it usually turns by this, in radians.
_TURNS = 0.1
_SHORTEST_MISSING_S = 1.0
# A joint is rough at this multiple of what is usual in the training clips. A rough stretch is
# damage if it reaches the second multiple, where fourth differences are so much larger than second
# ones: movement that is livelier than in training is slower than noise and jumps (3.4 and 3.2).
_ROUGH_FACTOR, _DAMAGE_FACTOR, _WHITE = 2.0, 3.0, 3.0
# Usual roughness of joints that hardly move in training, in radians: noise of .1 degrees is left.
_LEAST_ROUGHNESS = 0.03
# Rough stretches that are closer than the first duration are one; up to the second they are
# missing, and longer ones are noisy.
_JOINED_S, _MISSING_S = 0.3, 0.35
# A held joint is longer than this.
_HELD_JOINT_S = 0.15
# Found gaps up to this are interpolated without an editor.
_INTERPOLATED_S = 0.5


@brief_repr
@dataclass(frozen=True, eq=False)
class Damage:
    """What is whole in a clip."""

    # (frames, body joints + 1): 1 whole, 0.5 noisy, 0 missing. First the place of the hips, then
    # the rotation of each joint of the editor's body
    known: Array
    joints: tuple[str, ...]  # names of the body's joints
    findings: tuple[str, ...] = ()  # one sentence for each damage that was found

    @property
    def frames(self) -> Array:
        """(frames,) bool: whether anything is damaged in a frame."""
        return np.asarray((self.known < 1).any(axis=1))

    @property
    def any(self) -> bool:
        """Whether anything is damaged."""
        return bool(self.frames.any())

    def groups(self, depends: Array) -> Array:
        """(frames, groups) what is known of groups of points (`BodyPoints.groups`)."""
        known = np.stack([self.known[:, needed].min(axis=1) for needed in depends], axis=1)
        # The velocity at a frame needs the next one; the last frame has that of the frame before.
        known[:-1, 0] = np.minimum(known[:-1, 0], known[1:, 0])
        known[-1, 0] = known[-2:, 0][0]
        return known

    @classmethod
    def stated(
        cls,
        frames: int,
        body: tuple[str, ...],
        *,
        joints: Sequence[str] = (),
        stretches: Iterable[tuple[int, int]] = (),
    ) -> Damage:
        """Missing joints over stretches of frames.

        Parameters
        ----------
        frames, body
            Frames of the clip; names of the editor's joints, hips first.
        joints
            The missing joints; all and the hips' place if empty.
        stretches
            First and last frames; all frames if empty.

        Raises SkeletonError if the body has no such joint; ParameterError if a stretch lies outside
        of the clip, or nothing would be left to repair from.
        """
        unknown = [name for name in joints if name not in body]
        if unknown:
            raise SkeletonError(
                f"there is no joint {unknown[0]!r} in the editor's body",
                hint=f"choose joints of {', '.join(body)}",
            )
        stretches = list(stretches)
        which = np.zeros(frames, bool)
        for first, last in stretches:
            if not 0 <= first <= last < frames:
                raise ParameterError(
                    f"frames {first}-{last} are not in the clip, which has frames 0-{frames - 1}",
                    hint="give the first and the last frame of a stretch, as in 40-65",
                )
            which[first : last + 1] = True
        which |= not stretches
        if not joints and which.all():
            raise ParameterError(
                "the damage covers every joint of every frame",
                hint="name only the frames or the joints that are broken",
            )
        columns = [body.index(name) + 1 for name in joints] or list(range(len(body) + 1))
        known = np.ones((frames, len(body) + 1), np.float32)
        known[np.ix_(which, np.array(columns))] = 0
        return cls(known, body)


def find_damage(clip: Clip, editor: MotionEditor | None = None) -> Damage:
    """Held poses, held and missing joints, jumps and noise of a clip.

    Without an editor, held poses and held joints of up to half a second: what is missing, noisy or
    jumps is known by training clips, and longer gaps are not interpolated. With an editor for
    clips of another skeleton, held poses of any length and missing joints as well.

    Parameters
    ----------
    clip
        A clip of the editor's body if an editor is given, of any body otherwise, at any rate.

    Notes
    -----
    Poses that repeat exactly while the body moves are dropped frames or stepped keys. A joint that
    does not turn in the whole clip, and does in the training clips, is missing. Stretches whose
    fourth differences exceed twice what is usual in the training clips, and five times somewhere,
    are jumps or noise; what is less rough is said and is no damage.
    """
    space = MotionSpace.from_clip(clip, clip.fps) if editor is None else editor.space
    clip = space.on_hips(clip)
    joints = space.joints
    known = np.ones((len(clip), len(joints) + 1), np.float32)
    if len(clip) < 5:
        return Damage(known, joints)
    findings: list[str] = []
    moved, turned = pose_steps(clip, space)
    steps = np.linalg.norm(np.concatenate([moved[:, None], turned], axis=1), axis=-1)
    held = _held_poses(steps, clip.fps)
    if editor is not None:
        missing = (steps[:, 1:].max(axis=0) < _STILL) & (editor.statistics.spread > _TURNS)
        if len(clip) < _SHORTEST_MISSING_S * clip.fps or missing.all() or held[1:].all():
            missing[:] = False
        for joint in np.flatnonzero(missing):
            known[:, joint + 1] = 0
            findings.append(f"{joints[joint]} does not turn in the whole clip")
    if editor is None or editor.bound:
        findings += _mark_held(known, steps, held, joints, clip.fps, fill_all=editor is not None)
    else:
        if held.any():
            known[held] = 0
            findings.insert(0, f"{_frames(held)} repeat the pose before")
        findings += _mark_rough(known, clip, editor, steps)
    return Damage(known, joints, tuple(findings))


def _mark_held(
    known: Array, steps: Array, held: Array, joints: Sequence[str], fps: float, *, fill_all: bool
) -> list[str]:
    """Mark held poses, short ones or all, and short held joints; the findings."""
    findings = []
    for column in range(len(joints) + 1):
        name, which = "repeat the pose before", held
        if column:
            # Of one joint: it rests, and then jumps.
            name = f"repeat the rotation of {joints[column - 1]} before"
            which = _held_poses(steps[:, [column, column]], fps) & ~held
        short = np.zeros_like(which)
        interpolates = column > 0 or not fill_all
        for first, stop in true_runs(which):
            if column and stop - first <= _HELD_JOINT_S * fps:
                continue
            if not interpolates or stop - first <= _INTERPOLATED_S * fps:
                short[first:stop] = True
            else:
                findings.append(
                    f"frames {first}-{stop - 1} {name}, too long to be interpolated: an editor "
                    "fills them (--editor)"
                )
        known[short, column if column else slice(None)] = 0
        if short.any():
            findings.append(f"{_frames(short)} {name}{': interpolated' if interpolates else ''}")
    return findings


def _mark_rough(known: Array, clip: Clip, editor: MotionEditor, steps: Array) -> list[str]:
    """Mark jumps as missing and noise as noisy; the findings."""
    findings, livelier = [], []
    rough, certain = _rough(clip, editor, known)
    for column in np.flatnonzero(rough.any(axis=0)):
        name = "the place of the hips" if column == 0 else editor.space.joints[column - 1]
        held_joint = _held_joint(steps[:, column], clip.fps)
        found = np.zeros(len(clip), bool)
        for first, stop in true_runs(rough[:, column]):
            if not certain[first:stop, column].any():
                continue
            which = np.zeros(len(clip), bool)
            which[first:stop] = found[first:stop] = True
            # A joint that is held between two jumps is missing there.
            still = held_joint & _widened(which, round(2 * _JOINED_S * clip.fps))
            lost = still.any() or stop - first <= _MISSING_S * clip.fps
            which |= still
            known[which, column] = np.minimum(known[which, column], 0.0 if lost else NOISY)
        if found.any():
            jumps = (known[found, column] == 0).all()
            findings.append(f"{name} {'jumps' if jumps else 'is noisy'} in {_frames(found)}")
        if not found[rough[:, column]].all():
            livelier.append(name)
    if livelier:
        findings.append(
            f"livelier than in the editor's training clips, and left as it is: "
            f"{', '.join(livelier)}; where something is broken, name it with --joints and --frames"
        )
    return findings


def _held_poses(steps: Array, fps: float) -> Array:
    """(frames,) bool: frames that repeat the pose before while the body moves."""
    held = np.zeros(len(steps) + 1, bool)
    # The body stands still after the clip.
    speed = np.pad(steps[:, 1:].mean(axis=1) * fps, (0, 2))
    for first, stop in true_runs(np.asarray((steps < _STILL).all(axis=1))):
        after, further = speed[stop : stop + 2]
        # A pause begins and ends gradually; frames that were dropped are left by a jump.
        if after > _MOVING and (stop - first == 1 or after > 1.5 * further):
            held[first + 1 : stop + 1] = True
    return held


def _held_joint(steps: Array, fps: float) -> Array:
    """(frames,) bool: frames of stretches in which one joint is still."""
    still = np.append(steps < _STILL, False)
    still[1:] |= steps < _STILL
    for first, stop in true_runs(still):
        still[first:stop] = _HELD_JOINT_S * fps < stop - first < len(still)
    return still


def _rough(clip: Clip, editor: MotionEditor, known: Array) -> tuple[Array, Array]:
    """(frames, body joints + 1) bool each where not missing: rougher than usual; damage."""
    times = np.arange(0, len(clip) - 1 + 1e-6, clip.fps / editor.fps)
    # Poses at the editor's rate, without a low-pass that would hide noise.
    sampled = clip if clip.fps == editor.fps else at_frames(clip, times)
    fourth, second = (roughness(sampled, editor.space, order) for order in (4, 2))
    share = fourth / np.maximum(editor.statistics.roughness, _LEAST_ROUGHNESS)
    nearest = np.round(np.arange(len(clip)) * editor.fps / clip.fps).astype(int)
    nearest = np.minimum(nearest, len(share) - 1)
    # A held pose makes its neighbours rough.
    beside = _widened((known == 0).all(axis=1), round(6 * clip.fps / editor.fps))
    inside = (known > 0) & ~beside[:, None]
    found = (share > _ROUGH_FACTOR)[nearest] & inside
    certain = ((share > _DAMAGE_FACTOR) & (fourth > _WHITE * second))[nearest] & inside
    joined = max(round(_JOINED_S * clip.fps), 1)
    padded = np.pad(found, ((joined, joined), (0, 0)))
    return binary_closing(padded, np.ones((joined, 1), bool))[joined:-joined], certain


def _widened(which: Array, frames: int) -> Array:
    """(frames,) bool: within a number of frames of those."""
    return np.asarray(maximum_filter1d(which, 2 * frames + 1, mode="constant"))


def _frames(which: Array) -> str:
    """Such as "frame 7", "frames 3-8" or "120 frames from 3 to 250"."""
    index = np.flatnonzero(which)
    if len(index) == 1:
        return f"frame {index[0]}"
    if index[-1] - index[0] + 1 == len(index):
        return f"frames {index[0]}-{index[-1]}"
    return f"{len(index)} frames from {index[0]} to {index[-1]}"
