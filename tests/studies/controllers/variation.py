"""Variation of runs from one state, within and between runs, and their errors.

Sprenger, Du, Manns et al. 2020 (VINN), section 4, eqs. 6 to 8. The paper sums components of
different units; here they are separate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.phase.baselines.strikes import strikes

# Width in cycles of the bins whose poses count as having the same phase.
PHASE_BIN = 0.01


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of one run: from each foot's strike to the other's next.

    Parameters
    ----------
    frames
        (steps,) last frame of each.
    feet
        (steps,) foot whose strike ends each.
    distances
        (steps,) metres over the ground between the places of the two strikes.
    durations
        (steps,) seconds.
    """

    frames: Array
    feet: Array
    distances: Array
    durations: Array

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def speeds(self) -> Array:
        """(steps,) m/s."""
        return self.distances / self.durations

    @classmethod
    def of_contacts(cls, contacts: Array, feet: Array, fps: float) -> Steps:
        """The steps between strikes.

        Parameters
        ----------
        contacts : (frames, 2)
            Bool: feet on the floor; one pair of a quadruped.
        feet : (frames, 2, 3)
            Metres in the world.
        """
        if contacts.shape[1:] != (2,) or feet.shape != (len(contacts), 2, 3):
            raise ParameterError(
                f"contacts {contacts.shape} and feet {feet.shape}, expected (frames, 2) and "
                "(frames, 2, 3)"
            )
        struck = strikes(contacts.astype(bool), fps)
        which = np.round(2 * struck.phases).astype(int)
        places = feet[struck.frames, which][:, ::2].astype(np.float64)
        # Two strikes of one foot are a hop or a stumble, not a step.
        changed = np.flatnonzero(np.diff(which) != 0)
        return cls(
            struck.frames[changed + 1],
            which[changed + 1],
            np.linalg.norm(np.diff(places, axis=0), axis=1)[changed],
            (np.diff(struck.frames) / fps)[changed],
        )


@dataclass(frozen=True)
class Variation:
    """Components of variation and error; None where a component was not measured.

    Parameters
    ----------
    inter_pose
        Metres: between runs, of the pose at each moment; None of one run.
    inter_step
        m/s: between runs, of the speed of the same step; None of one run.
    intra_pose
        Metres: in a run, of poses of one phase.
    intra_step
        m/s: in a run, of the speed of its steps.
    smooth
        m/s: 95th percentile of joint speeds relative to the root.
    drift
        m/s: mean speed of feet in contact.
    distance
        Metres: standard deviation of the difference between one step's length and the next's.
    duration
        Seconds: the same for durations.
    steps
        Mean number of steps in a run.
    """

    inter_pose: float | None
    inter_step: float | None
    intra_pose: float | None
    intra_step: float | None
    smooth: float
    drift: float | None
    distance: float | None
    duration: float | None
    steps: float


def variation(
    poses: Array,
    phases: Array,
    steps: Sequence[Steps],
    joint_speeds: Array,
    contact_speeds: Sequence[Array],
) -> Variation:
    """Variation and error of runs of one length.

    Parameters
    ----------
    poses : (runs, frames, joints, 3)
        Metres, root space.
    phases : (runs, frames)
        Cycles of the gait.
    steps
        Steps of each run.
    joint_speeds : (runs, frames, joints)
        m/s, relative to the root.
    contact_speeds
        (n,) m/s of feet in contact, for each run.
    """
    runs = len(poses)
    if runs < 1 or len(steps) != runs or len(contact_speeds) != runs:
        raise ParameterError(f"{runs} runs, {len(steps)} steps, {len(contact_speeds)} speeds")
    drifts = [float(speeds.mean()) for speeds in contact_speeds if len(speeds)]
    return Variation(
        inter_pose=inter_pose(poses) if runs > 1 else None,
        inter_step=inter_step(steps),
        intra_pose=_mean(
            [
                value
                for each in zip(poses, phases, strict=True)
                if (value := intra_pose(*each)) is not None
            ]
        ),
        intra_step=_mean([float(each.speeds.std()) for each in steps if len(each) > 1]),
        smooth=float(np.percentile(joint_speeds.reshape(runs, -1), 95, axis=1).mean()),
        drift=_mean(drifts),
        distance=_unevenness([each.distances for each in steps]),
        duration=_unevenness([each.durations for each in steps]),
        steps=float(np.mean([len(each) for each in steps])),
    )


def inter_pose(poses: Array) -> float:
    """Metres: distance of joints from the runs' mean pose at the same time.

    The median over runs and joints, averaged over time; 0 if all runs are equal.

    Parameters
    ----------
    poses : (runs, frames, joints, 3)
        Root space.
    """
    exact = poses.astype(np.float64)
    # Relative to the first run, so that equal runs give exactly 0.
    exact = exact - exact[:1]
    away = np.linalg.norm(exact - exact.mean(axis=0), axis=-1)
    return float(np.median(away.swapaxes(0, 1).reshape(away.shape[1], -1), axis=1).mean())


def intra_pose(poses: Array, phases: Array) -> float | None:
    """Metres: distance of joints of one run from the mean pose of their bin of the cycle.

    Averaged over bins with at least two frames; None without any.

    Parameters
    ----------
    poses : (frames, joints, 3)
        Root space.
    phases : (frames,)
        Cycles.
    """
    count = round(1.0 / PHASE_BIN)
    bins = np.floor(np.mod(phases, 1.0) / PHASE_BIN).astype(int) % count
    found = []
    for each in np.unique(bins):
        here = poses[bins == each].astype(np.float64)
        if len(here) > 1:
            found.append(float(np.linalg.norm(here - here.mean(axis=0), axis=-1).mean()))
    return _mean(found)


def inter_step(steps: Sequence[Steps]) -> float | None:
    """m/s: standard deviation between runs of the speed of their k-th steps, averaged over k.

    None if no two runs have steps.
    """
    longest = max((len(each) for each in steps), default=0)
    aligned = [[s.speeds[k] for s in steps if len(s) > k] for k in range(longest)]
    # Relative to the first run, so that equal runs give exactly 0.
    return _mean([float(np.std(np.array(each) - each[0])) for each in aligned if len(each) > 1])


def _unevenness(values: Sequence[Array]) -> float | None:
    """Standard deviation of the differences between successive values, of all runs."""
    changes = np.concatenate([np.diff(each) for each in values])
    return float(changes.std()) if changes.size > 1 else None


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if len(values) else None
