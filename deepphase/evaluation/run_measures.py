"""Measures of runs of any runner, beside the values of the captured motion.

A measure is a function of an `ObservedRun`, registered with its unit, which values are better, and
one sentence. To add one, write such a function here: tables, pages and reports list it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.measurement import (
    RUN_MEASURES,
    Measure,
    ObservedRun,
    checked_data,
    run_measure,
    sliding_of_data,
)
from deepphase.evaluation.motion_measures import (
    BENT_BACK,
    MIN_FRAMES,
    MeasuredMotion,
    below,
    foot_skating,
    seconds_of,
    trunk_beyond,
)
from deepphase.features.moment_kinds import KINDS, LYING, SITTING
from deepphase.motion.resample import BANDS_HZ
from deepphase.steering.run import Run

AT_REST_M_S = 0.05
"""Goals that are slower stand, m/s."""
RUNAWAY_M = 0.5
"""Mean distance from the path's place at its clock beyond which a character has run away."""
# Share of the frames whose speeds must occur in the data.
_MIN_COVERED = 0.5
# Share of the data's `still_speed` below which a body counts as frozen.
_FROZEN_SHARE = 0.5
_CM = 100.0


def measure(run: Run, reference: Mapping[str, Any]) -> list[Measure]:
    """Measure a run, over all frames of all characters while they are alive.

    Parameters
    ----------
    run
        The run; see `ObservedRun` for its tracks.
    reference
        Measures of the captured motion by `captured_data.measured_data`, such as
        `Controller.data`.

    Returns
    -------
    The measures that the run, its goals and the data have, in the order of `RUN_MEASURES`. Times
    of responses are infinite if most changes of the goal are never answered.

    Raises
    ------
    ParameterError
        If no character was alive for `MIN_FRAMES` frames, or the reference lacks the measures.
    """
    return observed_measures(ObservedRun(run, reference))


def observed_measures(observed: ObservedRun) -> list[Measure]:
    """As `measure`."""
    checked_data(observed.data)
    if not observed.characters:
        raise ParameterError(
            f"no character lasted for {MIN_FRAMES} frames, which measures need",
            hint="run the controller for longer, or train it further",
        )
    return [
        replace(own.measure, value=value, data=own.data_value(observed))
        for own in RUN_MEASURES.values()
        if (value := own.value(observed)) is not None
    ]


@run_measure("", "more", "share of all frames", words="frames before the values diverged")
def survived(o: ObservedRun) -> float:
    return float(o.living.mean())


@run_measure(
    "deg/s",
    "like the data",
    "mean over joints, of local rotations; jitter raises it too",
    lambda o: o.data["joint_rotation"]["mean"],
    words="joints turn",
)
def joint_rotation(o: ObservedRun) -> float:
    return o.mean(lambda motion: motion.rotation_rates.mean(axis=1))


@run_measure(
    "m/s3", "like the data", "mean over joints and frames", lambda o: o.data["jerk"]["mean"]
)
def jerk(o: ObservedRun) -> float:
    return o.mean(lambda motion: motion.jerks)


def ratio_at_speed(
    speeds: Array, values: Array, name: str, reference: Mapping[str, Any]
) -> float | None:
    """Mean of a measure over the data's at the same speeds; None if the data lack most of them."""
    means = np.array([np.nan if value is None else value for value in reference[name]], np.float64)
    bins = (speeds / reference["width"]).astype(np.int64)
    expected = np.where(bins < len(means), means[np.minimum(bins, len(means) - 1)], np.nan)
    covered = np.isfinite(expected)
    if covered.mean() < _MIN_COVERED or not expected[covered].sum() > 0:
        return None
    return float(values[covered].sum() / expected[covered].sum())


def _register_ratio(ratio: str, name: str, sentence: str, words: str) -> None:
    def value(o: ObservedRun) -> float | None:
        reference = o.data.get("by_speed", {})
        # Data that were measured by earlier versions have no bands.
        if name not in reference:
            return None
        speeds = o.every(lambda motion: motion.smoothed_speeds)
        return ratio_at_speed(speeds, o.by_speed[name], name, reference)

    run_measure("", "like the data", sentence, 1.0, name=ratio, words=words)(value)


for _ratio, _name, _quantity, _moves in (
    ("rotation_ratio", "joint_rotation", "joint rotation", "joints turn"),
    ("jerk_ratio", "jerk", "jerk", "jerk"),
):
    _sentence = f"{_quantity} over the data's at the same speeds of the root"
    _words = f"{_moves}, of the data at this speed"
    _register_ratio(_ratio, _name, _sentence, _words)
    for _edge in BANDS_HZ:
        _register_ratio(
            below(_ratio, _edge),
            below(_name, _edge),
            f"the same of both without what is faster than {_edge:g} Hz",
            f"{_words}, below {_edge:g} Hz",
        )


def _register_sliding(prefix: str, contacts: str, where: str) -> None:
    def skating(o: ObservedRun) -> float | None:
        pairs, largest = o.contact_pairs.get(prefix), o.data["largest_contact_speed"]
        if pairs is None or not pairs.size or not largest > 0:
            return None
        return foot_skating(pairs[0], largest)

    def contact_speed(o: ObservedRun) -> float | None:
        pairs = o.contact_pairs.get(prefix)
        return None if pairs is None or not pairs.size else _CM * float(pairs[0].mean())

    def of_data(o: ObservedRun) -> float:
        return sliding_of_data(o.contact_pairs[prefix], o.data)

    run_measure(
        "",
        "less",
        "mean of v / v_max: v the speed of the slowest point of feet in contact, v_max the "
        f"data's largest; {contacts}; of the data: at the same speeds of the root",
        lambda o: of_data(o) / o.data["largest_contact_speed"],
        name=f"{prefix}skating",
        words=f"feet slide{where}, of the fastest contact",
    )(skating)
    run_measure(
        "cm/s",
        "less",
        f"the mean of v; {contacts}",
        lambda o: _CM * of_data(o),
        name=f"{prefix}contact_speed",
        words=f"feet slide{where}",
    )(contact_speed)


for _prefix, _contacts, _where in (
    ("", "contacts of the runner", ""),
    ("unlocked_", "contacts of the runner, without foot IK", " without foot locking"),
    ("found_", "contacts detected on the motion, as in the data", " at detected contacts"),
):
    _register_sliding(_prefix, _contacts, _where)


@run_measure(
    "",
    "less",
    "share of the legs' frames in which the knee lies behind the line from hip to ankle by over "
    f"{BENT_BACK:.1%} of the leg's length",
    lambda o: o.data.get("bent_back", 0.0),
    words="knees bend backward",
)
def bent_back(o: ObservedRun) -> float | None:
    bends = o.every(lambda motion: motion.bends.ravel())
    return float((bends < -BENT_BACK).mean()) if bends.size else None


@run_measure(
    "",
    "less",
    "share of frames in which a joint accelerates more than in 99.9 % of the data's",
    0.001,
    words="joints jerk",
)
def pops(o: ObservedRun) -> float | None:
    usual = o.data.get("usual_acceleration")
    return None if usual is None else o.mean(lambda motion: motion.accelerations > usual)


def _register_trunk(name: str, columns: slice, words: str, margin: str) -> None:
    def value(o: ObservedRun) -> float | None:
        if "trunk_turn" not in o.data.get("by_speed", {}):
            return None
        return o.mean(lambda each: trunk_beyond(each, o.data)[:, columns].max(axis=1) > 0.0)

    sentence = f"share of frames in which {words}: {margin} of the data's frames at that speed"
    run_measure("", "less", sentence, 0.001, name=name, words=words)(value)


_register_trunk("leans", slice(3), "the trunk leans", "12 degrees more than in 99.9 %")
_FAR = "in .1 s 15 degrees beyond 1.5 times as far as in 99.9 %"
_register_trunk("trunk_turns", slice(3, None), "the trunk turns suddenly", _FAR)


@run_measure(
    "",
    "less",
    "share of seconds with a desired speed in which the joint speed relative to the root is "
    "below half of the data's 1st percentile in travel",
    words="frozen while it should move",
)
def frozen(o: ObservedRun) -> float | None:
    still = []
    for i, motion in zip(o.characters, o.motions, strict=True):
        desired = o.desired_speeds(i)
        if desired is None:
            return None
        moves = seconds_of(desired, motion.fps) > motion.standing_speed
        speeds = seconds_of(motion.pose_speeds.mean(axis=1), motion.fps)[moves]
        still.append(speeds < _FROZEN_SHARE * o.data["still_speed"])
    seconds = np.concatenate(still)
    return float(seconds.mean()) if seconds.size else None


@run_measure("m/s", "", "mean of the root", "mean_speed")
def speed(o: ObservedRun) -> float:
    return o.mean(lambda motion: motion.speeds)


@run_measure("m/s", "", "mean of the goal", words="speed of the goal")
def desired_speed(o: ObservedRun) -> float | None:
    commanded = o.run.commanded_velocities
    return None if commanded is None else float(np.linalg.norm(commanded, axis=-1)[o.living].mean())


@run_measure(
    "m",
    "less",
    "mean distance of the root from the nearest place on the path",
    words="distance from the path",
    limit=0.15,
)
def path_error(o: ObservedRun) -> float | None:
    return None if o.path_distances is None else float(o.path_distances[o.living].mean())


@run_measure(
    "m",
    "less",
    "mean distance from the path's place at its clock",
    words="distance from its place on the path",
)
def clock_error(o: ObservedRun) -> float | None:
    return None if o.clock_distances is None else float(o.clock_distances[o.living].mean())


@run_measure("m", "less", "the same of the worst character", words="the same, worst character")
def worst_clock_error(o: ObservedRun) -> float | None:
    return None if o.mean_clock_distances is None else float(o.mean_clock_distances.max())


@run_measure(
    "", "less", "share of characters for which it is above 0.5 m", words="characters that ran away"
)
def runaways(o: ObservedRun) -> float | None:
    away = o.mean_clock_distances
    return None if away is None else float((away > RUNAWAY_M).mean())


def _register_response(kind: str, change: str, quantity: str, words: str) -> None:
    of_heading = quantity == "heading"
    key = "headings" if of_heading else "changes"

    def value(o: ObservedRun) -> float | None:
        responses = o.responses.heading if of_heading else o.responses.velocity
        # Of an even number, the later of the two in the middle: infinite times have no mean.
        times = sorted(responses.get(kind, []))
        return times[len(times) // 2] if times else None

    run_measure(
        "s",
        "less",
        f"median time to 90 % of the new {quantity} after {change} of the goal; of the data: from "
        "10 to 90 % of its own",
        lambda o: o.data.get(key, {}).get(kind, {}).get("median"),
        name=f"{kind.replace('turn', 'heading') if of_heading else kind}_s",
        words=f"time to {words}",
    )(value)


for _kind, _change in (("start", "a start"), ("stop", "a stop")):
    _register_response(_kind, _change, "velocity", _kind)
for _quantity, _verb in (("velocity", "turn"), ("heading", "face")):
    _register_response(
        "turn_90", "a turn by 60 to 120 degrees", _quantity, f"{_verb} by 90 degrees"
    )
    _register_response("turn_180", "a turn by 150 to 180 degrees", _quantity, f"{_verb} round")


@run_measure(
    "",
    "less",
    "share of changes of the goal whose velocity never comes: not in 4 s, nor before the next",
    words="changes of the goal without an answer",
    limit=0.1,
)
def unanswered(o: ObservedRun) -> float | None:
    times = [time for some in o.responses.velocity.values() for time in some]
    return float(np.isinf(times).mean()) if times else None


def _register_kind(kind: str) -> None:
    def value(o: ObservedRun) -> float | None:
        kinds = o.run.tracks.get("kind")
        if kinds is None:
            return None
        share = float((kinds[o.living] == kind).mean())
        # Most runs have no sitting and no lying.
        return share if share or kind not in (KINDS[SITTING], KINDS[LYING]) else None

    run_measure("", "", f"share of frames of {kind}", name=kind)(value)


for _kind in KINDS:
    _register_kind(_kind)


@run_measure(
    "",
    "like the data",
    "joint speed relative to the root where standing is desired and the root stands, over that "
    "of the data's idle frames",
    lambda o: 1.0 if o.data.get("idle_speed") else None,
    words="movement at rest, of the data",
)
def idle_ratio(o: ObservedRun) -> float | None:
    idle, found = float(o.data.get("idle_speed", 0.0)), []
    for i, motion in zip(o.characters, o.motions, strict=True):
        desired = o.desired_speeds(i)
        if desired is not None:
            found.append(idle_speeds(motion, desired))
    speeds = np.concatenate(found) if found else np.zeros(0)
    return float(speeds.mean() / idle) if idle > 0 and speeds.size else None


def idle_speeds(motion: MeasuredMotion, desired: Array) -> Array:
    """(seconds,) m/s: mean joint speed in each second in which a body stands as it should."""
    fps, limit = motion.fps, motion.standing_speed
    stands = (seconds_of(desired, fps) < AT_REST_M_S) & (seconds_of(motion.speeds, fps) < limit)
    return seconds_of(motion.pose_speeds.mean(axis=1), fps)[stands]


@run_measure(
    "",
    "less",
    "share of frames whose goals were faster than the data can be, and were limited",
    words="goals too fast for the data",
)
def limited_goals(o: ObservedRun) -> float | None:
    return None if o.run.limited is None else float(o.run.limited.mean())


@run_measure(
    "m",
    "less",
    "mean distance of joints between the poses on both sides of jumps",
    words="poses differ at jumps",
)
def alignment(o: ObservedRun) -> float | None:
    jumped, distances = o.run.jumped, o.run.tracks.get("jump_distance")
    if jumped is None or distances is None or not o.blended.any():
        return None
    return float(distances[jumped].mean())


@run_measure("1/s", "", "jumps per second", words="jumps")
def jumps_per_s(o: ObservedRun) -> float | None:
    if o.jumps is None:
        return None
    return float(np.concatenate(o.jumps).sum() * o.run.fps / len(o.blended))
