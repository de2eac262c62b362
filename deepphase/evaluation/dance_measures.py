"""Measures of one dance, and the scale that recorded dances set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_beats import (
    BeatAlignment,
    Rhythm,
    beat_alignment,
    beat_alignment_by_chance,
    counted_beats,
    mean_joint_speed,
    motion_beats,
    rhythm,
)
from deepphase.evaluation.dance_body import (
    body_points,
    broken_share,
    moving_speed,
    net_turning,
    physical_foot_contact,
    standing_share,
    travel,
)
from deepphase.evaluation.dance_pieces import dance_pieces
from deepphase.evaluation.runs import (
    foot_skating,
    foot_speeds,
    jerks_in_bands,
    joint_rotation_rates,
)
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.roles import find_roles

# Beats of a bar that are asked for: waltz and common time.
MEASURED_METERS = (3, 4)


@dataclass(frozen=True, eq=False)
class DanceToSong:
    """How a dance lies on the beats of one song.

    Parameters
    ----------
    alignment, by_chance
        Of single beats, and of the same with the song shifted.
    rhythms
        Beats in the period (1: the beat; 3, 4: a bar) -> how strongly it is followed.
    """

    alignment: BeatAlignment
    by_chance: BeatAlignment
    rhythms: Mapping[int, Rhythm]


@dataclass(frozen=True, eq=False)
class DanceMeasures:
    """One dance, measured by itself.

    Parameters
    ----------
    name, song
        The clip's, and the song's file: its own name where it has none.
    seconds
        Its length.
    beats
        (beats,) seconds of the movement's beats.
    speed, height
        (frames,) mean joint speed in m/s, hips over the ground in metres.
    fps
        Frames a second.
    moving
        (windows,) m/s, see :func:`moving_speed`.
    sliding
        (n,) m/s over the ground of feet in contact, of the point of each that moves least.
    foot_contact
        Physical foot contact score.
    jerks
        m/s^3, mean over points of the body and frames: by name as in `runs.jerks_in_bands`.
    turning
        Degrees a second; None where joints are points that never turn.
    pieces
        (pieces, values) its pieces of two seconds, see :func:`dance_pieces`.
    net_turning, travel
        Degrees a second and metres: how far it turns and moves over the ground in ten seconds, the
        mean over such windows; the whole of a shorter dance.
    labels
        The clip's.
    """

    name: str
    song: str
    seconds: float
    beats: Array
    speed: Array
    height: Array
    fps: float
    moving: Array
    sliding: Array
    foot_contact: float
    jerks: Mapping[str, float]
    turning: float | None
    pieces: Array
    net_turning: float
    travel: float
    labels: Mapping[str, str] = field(default_factory=dict)


def measure_dance(clip: Clip) -> DanceMeasures:
    """Measure a clip; its points are those that every body has, not its fingers and props.

    Raises
    ------
    SkeletonError
        Where the body has not two legs and two arms.
    ParameterError
        Where it is shorter than a second.
    """
    if clip.duration < 1.0:
        raise ParameterError(
            f"{clip.name}: a dance must last 1 s or more, not {clip.duration:.2f} s",
            hint="give longer dances",
        )
    roles = find_roles(clip.skeleton, clip=clip)
    transforms = global_transforms(clip)
    positions = transforms[1]
    points = body_points(positions, roles)
    body = np.stack([points[name] for name in sorted(points)], axis=1)
    speed = mean_joint_speed(body, clip.fps)
    flags = foot_contacts(clip, roles, transforms=transforms).flags[:, :2]
    left, right = (
        np.stack([points[f"{side}_foot"], points[f"{side}_toe"]], axis=1)
        for side in ("left", "right")
    )
    return DanceMeasures(
        name=clip.name,
        song=clip.source.song or clip.name,
        seconds=clip.duration,
        beats=motion_beats(speed, clip.fps),
        speed=speed,
        height=points["root"][:, 1],
        fps=clip.fps,
        moving=moving_speed(speed, clip.fps),
        sliding=foot_speeds((left, right), clip.fps)[flags[1:] & flags[:-1]],
        foot_contact=physical_foot_contact(points["root"], left, right, clip.fps),
        jerks={name: float(each.mean()) for name, each in jerks_in_bands(body, clip.fps).items()},
        turning=float(joint_rotation_rates(clip.rotations, clip.fps).mean())
        if clip.has_rotations
        else None,
        pieces=dance_pieces(points, clip.fps),
        net_turning=net_turning(points, clip.fps),
        travel=travel(points, clip.fps),
        labels=clip.labels,
    )


def dance_to_song(
    dance: DanceMeasures, beats: Array, *, metres: Sequence[int] = MEASURED_METERS, draws: int = 200
) -> DanceToSong:
    """How a dance lies on a song's beats.

    Parameters
    ----------
    beats : (beats,)
        Seconds on the dance's clock: 0 is its first frame.
    metres
        Beats in the bars that are asked for.
    """
    beats = np.asarray(beats, np.float64)
    per_beat = counted_beats(beats)
    return DanceToSong(
        beat_alignment(dance.beats, beats, dance.seconds),
        beat_alignment_by_chance(dance.beats, beats, dance.seconds, draws=draws),
        {
            count: rhythm(
                dance.speed, dance.height, dance.fps, beats, beats_per_cycle=count * per_beat
            )
            for count in (1, *metres)
        },
    )


@dataclass(frozen=True, eq=False)
class DanceScale:
    """What the recorded dances are like: the reference of other dances.

    Parameters
    ----------
    usual_speed, largest_speed
        m/s: median and largest of their windows of a second.
    largest_sliding
        m/s: 99.9th percentile of feet in contact. (Of captures the largest is one bad frame.)
    """

    usual_speed: float
    largest_speed: float
    largest_sliding: float

    @classmethod
    def of(cls, dances: Sequence[DanceMeasures]) -> DanceScale:
        """The scale that these dances set."""
        moving = np.concatenate([each.moving for each in dances])
        sliding = np.concatenate([each.sliding for each in dances])
        return cls(
            float(np.median(moving)),
            float(moving.max()),
            float(np.percentile(sliding, 99.9)) if len(sliding) else 0.0,
        )

    def standing(self, dance: DanceMeasures) -> float:
        """Share of a dance in which it stands still."""
        return standing_share(dance.moving, self.usual_speed)

    def broken(self, dance: DanceMeasures) -> float:
        """Share of a dance in which it moves faster than a body does."""
        return broken_share(dance.moving, self.largest_speed)

    def skating(self, dance: DanceMeasures) -> float:
        """Mean of v / v_max over feet in contact."""
        return foot_skating(dance.sliding, self.largest_sliding) if self.largest_sliding else 0.0
