"""Measures of rest: bodies that stand are compared with the standing frames of captured clips."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np
from scipy.ndimage import uniform_filter1d

from deepphase.arrays import Array, true_runs
from deepphase.errors import ParameterError
from deepphase.evaluation.motion_measures import MeasuredBody
from deepphase.features.feature import BodyFrames
from deepphase.features.moment_kinds import IDLE, moment_kinds
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import to_root_space
from deepphase.steering.run import Run

# Standing frames that poses are compared with, at most, and poses of a body, a second.
_FRAMES, _COMPARED_HZ = 2_000, 5.0
# Seconds over which the variance of a posture is taken: as long as short moments of rest.
_WINDOW_S = 1.0
# Percentile over frames of distances and of leans.
_WORST = 95.0
# A character is dead if the median of its variance is below this share of that of the data's
# stillest tenth of windows.
_DEAD, _STILLEST = 0.5, 10.0
# Motion repeats if the velocities of a window, low-passed over some frames, come again between
# these two times, with such a correlation.
_REPEATED_S, _PHRASE_S, _LOWPASS_S, _SAME = (1.0, 10.0), 1.5, 0.1, 0.9


@dataclass(frozen=True, eq=False)
class RestReference:
    """Standing frames of captured clips.

    Parameters
    ----------
    fps
        Frames per second.
    feet, trunk
        (feet,) and (trunk joints,) indices among the joints: the trunk is from hips to head.
    poses
        (frames, joints, 3) metres in root space, the hips first: frames of
        `deepphase.features.moment_kinds.IDLE`, thinned out.
    distance
        Metres: distance of a clip's standing frames to the nearest one of other clips, 95th
        percentile over frames and over clips; with a single clip, to those a second away.
    leans
        (2, trunk joints, 2) radians, least and largest: angles from the vertical, to the left and
        to the front, of the line from the middle of the feet to each joint of the trunk.
    variance
        m^2: variance of a posture in a second, mean over joints, axes added, and windows.
    least_variance
        m^2: its 10th percentile over windows.
    """

    fps: float
    feet: Array
    trunk: Array
    poses: Array
    distance: float
    leans: Array
    variance: float
    least_variance: float

    @classmethod
    def of_clips(cls, clips: Iterable[Clip], body: MeasuredBody) -> RestReference:
        """The standing frames of clips.

        Parameters
        ----------
        body
            Joints, feet and roles, such as a `RunnerSpec`.

        Raises
        ------
        ParameterError
            If no body stands at rest for a second.
        """
        roles, joints = dict(body.body), tuple(body.joints)
        poses, of_clip, times, variances = [], [], [], []
        fps = 0.0
        for index, clip in enumerate(clips):
            frames, fps = BodyFrames.from_clip(clip, roles), clip.fps
            places = frames.positions[:, frames.index_of(joints)].astype(np.float64)
            for start, stop in true_runs(moment_kinds(clip, frames, roles) == IDLE):
                poses.append(places[start:stop])
                times.append(np.arange(start, stop) / fps)
                of_clip.append(np.full(stop - start, index))
                variances.append(_variances(places[start:stop], fps))
        found = np.concatenate(variances) if variances else np.zeros(0)
        if not found.size:
            raise ParameterError(
                "no body of the clips stands at rest for a second, so rest cannot be measured",
                hint="give clips in which bodies stand: `inspect` prints how much they are idle",
            )
        every, clip_numbers = np.concatenate(poses), np.concatenate(of_clip)
        chosen = np.unique(np.linspace(0, len(every) - 1, _FRAMES).round().astype(int))
        every, clip_numbers = every[chosen], clip_numbers[chosen]
        seconds = np.concatenate(times)[chosen]
        same = clip_numbers[:, None] == clip_numbers
        if same.all():
            same = np.abs(seconds[:, None] - seconds) < 1.0
        distances = np.where(same, np.inf, _distances(every, every)).min(axis=1)
        near = [
            np.percentile(distances[clip_numbers == each], _WORST)
            for each in np.unique(clip_numbers)
        ]
        feet = np.array([joints.index(name) for name in body.feet], np.int64)
        found_roles = find_roles(clip.skeleton, description=roles, clip=clip)
        spine = [getattr(found_roles, name) for name in ("hips", "spine", "chest", "neck", "head")]
        names = [clip.skeleton.names[joint] for joint in spine if joint is not None]
        trunk = np.array([joints.index(name) for name in names if name in joints], np.int64)
        leans = _leans(every, feet, trunk)
        return cls(
            fps=fps,
            feet=feet,
            trunk=trunk,
            poses=every,
            distance=float(np.percentile(near, _WORST)),
            leans=np.stack([leans.min(axis=0), leans.max(axis=0)]),
            variance=float(found.mean()),
            least_variance=float(np.percentile(found, _STILLEST)),
        )


@dataclass(frozen=True)
class RestMeasures:
    """How bodies that should stand do so, against captured rest."""

    # 95th percentile over frames of the distance to the nearest standing frame of the data, as a
    # share of the data's own; see `RestReference.distance`. At most 1.
    distance: float
    # 95th percentile over frames of the angle by which a body leans more than the data: of the
    # joint of the trunk that leans most. At most 2.
    lean_degrees: float
    variance: float  # Variance of the posture in a second over that of the data; .5 to 2
    # Share of the characters that do not move: the median of their variance is below half of that
    # of the data's stillest seconds. 0.
    dead: float
    # Share of the motion that comes again within ten seconds. At most .05, or what the data has
    # where its rest is shorter.
    repeated: float

    def faults(self) -> tuple[str, ...]:
        """Names of the measures that are out of bounds; empty for bodies that rest as the data."""
        return tuple(
            each.name
            for each in fields(self)
            if not _BOUNDS[each.name][0] <= getattr(self, each.name) <= _BOUNDS[each.name][1]
        )


_BOUNDS = {
    "distance": (0.0, 1.0),
    "lean_degrees": (0.0, 2.0),
    "variance": (0.5, 2.0),
    "dead": (0.0, 0.0),
    "repeated": (0.0, 0.05),
}


def rest_measures(poses: Array, reference: RestReference) -> RestMeasures:
    """Measure bodies that should stand at rest.

    Parameters
    ----------
    poses : (characters, frames, joints, 3)
        Metres in root space: the joints of the reference at its rate, of two seconds or more.
        Twenty seconds from the second after a goal ended show repetitions.

    Raises
    ------
    ParameterError
        If the motion is shorter.
    """
    fps = reference.fps
    if poses.shape[1] < 2.0 * fps:
        raise ParameterError(
            f"rest of {poses.shape[1] / fps:.1f} s is too short to measure",
            hint="give two seconds or more of standing",
        )
    every = np.asarray(poses, np.float64)
    variances = np.stack([_variances(each, fps) for each in every])
    compared = every[:, :: max(1, round(fps / _COMPARED_HZ))].reshape(-1, *every.shape[2:])
    distances = _distances(compared, reference.poses).min(axis=1)
    leans = _leans(compared, reference.feet, reference.trunk)
    beyond = np.maximum(reference.leans[0] - leans, leans - reference.leans[1]).max(axis=(1, 2))
    alive = np.median(variances, axis=1) > _DEAD * reference.least_variance
    return RestMeasures(
        distance=float(np.percentile(distances, _WORST) / reference.distance),
        lean_degrees=float(np.degrees(max(np.percentile(beyond, _WORST), 0.0))),
        variance=float(variances.mean() / reference.variance),
        dead=float(1.0 - alive.mean()),
        repeated=float(np.mean([_repeated(each, fps) for each in every])),
    )


def rest_of_run(run: Run, reference: RestReference, first_s: float = 0.0) -> RestMeasures:
    """`rest_measures` of a run's characters from a time on to its end.

    Raises as `rest_measures`.
    """
    first = round(first_s * run.fps)
    poses = []
    for character in range(run.characters):
        positions = joint_positions(run.clip(character))[:, run.spec.joint_indices]
        root = run.root_trajectory(character)
        poses.append(to_root_space(positions.astype(np.float64), root)[first:])
    return rest_measures(np.stack(poses), reference)


def _variances(poses: Array, fps: float) -> Array:
    """(windows,) m^2: variance of poses (frames, joints, 3) in each second; mean over joints."""
    length = max(2, round(_WINDOW_S * fps))
    windows = len(poses) // length
    parts = poses[: windows * length].reshape(windows, length, *poses.shape[1:])
    variances: Array = parts.var(axis=1).sum(axis=-1).mean(axis=-1)
    return variances


def _distances(poses: Array, others: Array) -> Array:
    """(poses, others) metres: mean distance of corresponding joints."""
    found = np.zeros((len(poses), len(others)))
    for joint in range(poses.shape[1]):
        apart = poses[:, None, joint] - others[None, :, joint]
        found += np.sqrt(np.einsum("poc,poc->po", apart, apart))
    return found / poses.shape[1]


def _leans(poses: Array, feet: Array, trunk: Array) -> Array:
    """(frames, trunk joints, 2) radians from the vertical, seen from the middle of the feet."""
    apart = poses[:, trunk] - poses[:, feet].mean(axis=1)[:, None]
    angles: Array = np.arctan2(apart[..., ::2], apart[..., 1:2])
    return angles


def _repeated(poses: Array, fps: float) -> float:
    """Share of a body's motion (frames, joints, 3) that comes again within ten seconds."""
    smooth = uniform_filter1d(np.diff(poses, axis=0), max(1, round(_LOWPASS_S * fps)), axis=0)
    speeds = smooth.reshape(len(smooth), -1)
    phrase, (least, most) = round(_PHRASE_S * fps), (round(each * fps) for each in _REPEATED_S)
    if len(speeds) < phrase + least:
        return 0.0
    square = _sums(np.einsum("fv,fv->f", speeds, speeds), phrase)
    found = np.zeros(len(square), bool)
    for lag in range(least, min(most, len(square) - 1) + 1):
        product = _sums(np.einsum("fv,fv->f", speeds[:-lag], speeds[lag:]), phrase)
        size = np.sqrt(square[: len(product)] * square[lag : lag + len(product)])
        found[: len(product)] |= product > np.maximum(_SAME * size, 1e-18)
    return float(found.mean())


def _sums(values: Array, length: int) -> Array:
    """(frames - length + 1,) sums of so many values from each one on."""
    total = np.concatenate([[0.0], np.cumsum(values)])
    return total[length:] - total[:-length]
