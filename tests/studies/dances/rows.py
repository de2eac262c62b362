"""Rows of a report on sets of dances: values, controls and intervals of all measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_measures import DanceMeasures, DanceScale
from deepphase.evaluation.dance_pieces import distinct_pieces, nearest_repeats
from deepphase.phase.matches import interval_95
from tests.studies.dances.dance_features import FeatureScale
from tests.studies.dances.dance_set import DanceSet
from tests.studies.dances.frechet import Spread, diversity, halves_distance, smallest_half

_PERIODS = {1: "beat"}
# Pieces that are compared with all others at once.
_CHUNK = 512


@dataclass(frozen=True)
class DanceMeasure:
    """One number of one set of dances, as report.json lists it.

    Parameters
    ----------
    interval_95
        95 % interval from resampling songs; None if the value is not a mean over songs.
    n
        Number of samples, in units of `unit_of_n`.
    """

    name: str
    definition: str
    value: float
    unit: str
    n: int
    unit_of_n: str
    interval_95: list[float] | None = None


def measures_of(
    dances: DanceSet, reference: DanceSet, scale: DanceScale, metres: Sequence[int]
) -> list[DanceMeasure]:
    """All measures of a set of dances.

    Parameters
    ----------
    dances
        Dances that are measured.
    reference
        Recorded dances, from which distances are measured. For the reference itself, it is the
        distance between its halves.
    scale
        Scale of the recorded dances.
    metres
        Beats per bar.
    """
    return [
        *_alignments(dances),
        *_rhythms(dances, metres),
        *body_measures(dances, scale),
        *_distances(dances, reference),
        *_repeats(dances),
    ]


def _alignments(dances: DanceSet) -> list[DanceMeasure]:
    found = []
    for key, over, question in (
        ("by_motion", "motion beats", "is each accent of the movement on a beat? (AIST++)"),
        ("by_music", "music beats", "is each beat of the song danced? (Bailando)"),
    ):
        own, chance, other = [], [], []
        for each in _with_song(dances):
            own.append((float(getattr(dances.own[each.name].alignment, key)), each))
            chance.append((float(getattr(dances.own[each.name].by_chance, key)), each))
            other_songs = [float(getattr(to.alignment, key)) for to in dances.others[each.name]]
            other += [(float(np.mean(other_songs)), each)] if other_songs else []
        text = f"mean over {over} of exp(-d^2 / (2 s^2)), s = 0.05 s (3 frames at 60); {question}"
        name = f"beat alignment over {over}"
        found += mean_of(name, text, "", "dances", own)
        text = "the same with the song's beats shifted round the dance"
        found += mean_of(f"{name}, by chance", text, "", "dances", chance)
        text = "the same against the beats of other songs of the set"
        found += mean_of(f"{name}, other songs", text, "", "dances", other)
    return found


def _rhythms(dances: DanceSet, metres: Sequence[int]) -> list[DanceMeasure]:
    found = []
    for count in (1, *metres):
        period = _PERIODS.get(count, f"bar of {count}")
        for what, own, shifted, text in (
            (
                "speed",
                "strength",
                "strength_shifted",
                f"vector strength of the mean joint speed at the {period}, 20 s windows",
            ),
            (
                "hips' height",
                "variance",
                "variance_shifted",
                f"share of the hips' height that a sinusoid of the {period} explains, 20 s windows",
            ),
        ):
            name = f"{period}, {what}"
            windows = [
                (dances.own[each.name].rhythms[count], each, dances.others[each.name])
                for each in _with_song(dances)
            ]
            mine = [(v, each) for r, each, _ in windows for v in getattr(r, own)]
            other = [(v, each) for r, each, _ in windows for v in getattr(r, shifted)]
            over = [(a[0] - b[0], a[1]) for a, b in zip(mine, other, strict=True)]
            other_songs = [
                (v, each)
                for _, each, songs in windows
                for song in songs
                for v in getattr(song.rhythms[count], own)
            ]
            found += mean_of(name, text, "", "windows", mine)
            found += mean_of(
                f"{name}, tempo shifted",
                "the same with the song 13 to 21 % faster or slower",
                "",
                "windows",
                other,
            )
            found += mean_of(
                f"{name}, over the shifted",
                "difference of both",
                "",
                "windows",
                over,
            )
            found += mean_of(
                f"{name}, other songs",
                "the same against the beats of other songs of the set",
                "",
                "windows",
                other_songs,
            )
    return found


def body_measures(dances: DanceSet, scale: DanceScale) -> list[DanceMeasure]:
    """Measures that need no song: feet, speed, jerk, turning."""
    rows: tuple[tuple[str, str, str, Callable[[DanceMeasures], float | None]], ...] = (
        (
            "physical foot contact",
            "",
            "10^4 mean of |a| |v_left| |v_right|, a over its largest, v in m a 30th second (EDGE)",
            lambda each: each.foot_contact,
        ),
        (
            "foot sliding",
            "cm/s",
            "mean speed over the ground of feet in contact, of each foot's slowest point",
            lambda each: 100.0 * float(each.sliding.mean()) if len(each.sliding) else None,
        ),
        (
            "foot skating",
            "",
            "mean of v / v_max in contact, v_max the 99.9th percentile of the first row",
            scale.skating,
        ),
        (
            "standing",
            "",
            "share of windows of 1 s slower than a tenth of the first row's median",
            scale.standing,
        ),
        (
            "coming apart",
            "",
            "share of windows of 1 s faster than 1.5 times the first row's fastest",
            scale.broken,
        ),
        (
            "speed",
            "m/s",
            "mean over points of the body and frames",
            lambda each: float(each.speed.mean()),
        ),
        (
            "jerk",
            "m/s3",
            "mean over points of the body and frames",
            lambda each: each.jerks["jerk"],
        ),
        (
            "accents",
            "1/s",
            "beats of the movement a second",
            lambda each: len(each.beats) / each.seconds,
        ),
        ("turning", "degrees/s", "mean over joints of local rotation", lambda each: each.turning),
        (
            "net turning",
            "degrees/s",
            "turn of the hips over ten seconds, whole turns included",
            lambda each: each.net_turning,
        ),
        (
            "travel",
            "m",
            "distance over the ground between the hips' places ten seconds apart",
            lambda each: each.travel,
        ),
        (
            "nearest repeat",
            "cm",
            "distance of each two seconds from the nearest other two of the dance, root mean "
            "square over points and time",
            _repeat_cm,
        ),
        (
            "distinct pieces",
            "",
            "pieces of two seconds in ten that differ by 6 cm or more, of 33",
            lambda each: distinct_pieces(each.pieces) or None,
        ),
    )
    found: list[DanceMeasure] = []
    for name, unit, definition, value_of in rows:
        samples = [(value_of(each), each) for each in dances.measures]
        found += mean_of(name, definition, unit, "dances", samples)
    return found


def _repeat_cm(dance: DanceMeasures) -> float | None:
    repeats = nearest_repeats(dance.pieces)
    return 100.0 * float(repeats.mean()) if len(repeats) else None


def piece_measures(dances: DanceSet, reference: DanceSet, by: str | None) -> list[DanceMeasure]:
    """Distances from pieces of dances to pieces of recorded ones, and of which style those are.

    Parameters
    ----------
    by
        Label that names the style; None for distances alone. Dances without that label have the
        style of the recorded dance to their song.
    """
    distances, foreign = [], []
    style_of_song = {each.song: each.labels.get(by or "") for each in reference.measures}
    for dance in dances.measures:
        others = [each for each in reference.measures if each is not dance and len(each.pieces)]
        if not others or not len(dance.pieces):
            continue
        nearest, index = nearest_pieces(
            dance.pieces, np.concatenate([each.pieces for each in others])
        )
        distances.append((100.0 * float(nearest.mean()), dance))
        style = dance.labels.get(by or "") or style_of_song.get(dance.song)
        if by is not None and style is not None:
            styles = np.repeat(
                [each.labels.get(by, "") for each in others],
                [len(each.pieces) for each in others],
            )
            foreign.append((float((styles[index] != style).mean()), dance))
    return [
        *mean_of(
            "nearest recorded piece",
            "distance of each two seconds from the nearest two seconds of other recorded dances",
            "cm",
            "dances",
            distances,
        ),
        *mean_of(
            "foreign style",
            f"share of those whose nearest recorded two seconds have another {by}",
            "",
            "dances",
            foreign,
        ),
    ]


def _distance(name: str, text: str, spread: Spread) -> DanceMeasure:
    interval = [spread.low, spread.high]
    return DanceMeasure(name, text, spread.mean, "", spread.rows, "windows a half", interval)


def _distances(dances: DanceSet, reference: DanceSet) -> list[DanceMeasure]:
    found = []
    scale = FeatureScale.of(reference.features)
    same = dances is reference
    for kind in ("kinetic", "geometric"):
        mine = scale.features(dances.features, kind)
        real = scale.features(reference.features, kind)
        clips, real_clips = _clip_of_windows(dances), _clip_of_windows(reference)
        text = (
            "Frechet distance of standardised features of 4 s windows, halves by clip, 20 "
            "splits, shrunk covariance"
        )
        try:
            # With as many rows as halves of the recorded dances have, since distances depend on it.
            rows = min(smallest_half(clips), smallest_half(real_clips))
            others = None if same else (real, real_clips)
            spread = halves_distance(mine, clips, others, rows=rows)
            side = "of one half from the other" if same else "from the first row"
            found.append(_distance(f"FID, {kind}", f"{text}; {side}", spread))
            if same:
                segments = _segment_of_windows(dances)
                spread = halves_distance(mine, segments, rows=min(rows, smallest_half(segments)))
                text = "the same with no captured segment in both halves"
                found.append(_distance(f"FID, {kind}, halves by segment", text, spread))
        except ParameterError:
            # A single dance cannot be split into halves.
            pass
        if len(np.unique(clips)) > 1:
            found.append(
                DanceMeasure(
                    f"diversity, {kind}",
                    "mean distance between features of windows of different dances",
                    diversity(mine, clips),
                    "",
                    len(mine),
                    "windows",
                )
            )
    return found


def _repeats(dances: DanceSet) -> list[DanceMeasure]:
    share = shared_share(dances.segments)
    numbers = np.concatenate(dances.segments)
    return [
        DanceMeasure(
            "shared movement",
            "share of frames whose captured segment is in another dance of the set as well",
            share,
            "",
            len(np.unique(numbers)),
            "segments",
        )
    ]


def mean_of(
    name: str,
    definition: str,
    unit: str,
    unit_of_n: str,
    samples: Iterable[tuple[float | None, DanceMeasures]],
) -> list[DanceMeasure]:
    """Mean with its interval over songs, as a list of one row; empty without samples."""
    known = [(value, each.song) for value, each in samples if value is not None]
    if not known:
        return []
    values, songs = np.array([value for value, _ in known]), np.array([song for _, song in known])
    interval = interval_95(values, songs) if len(np.unique(songs)) > 1 else None
    one = DanceMeasure(name, definition, float(values.mean()), unit, len(values), unit_of_n)
    return [replace(one, interval_95=interval)]


def _with_song(dances: DanceSet) -> list[DanceMeasures]:
    return [each for each in dances.measures if each.name in dances.own]


def _clip_of_windows(dances: DanceSet) -> Array:
    return np.repeat(
        np.arange(len(dances.features)), [len(each.windows) for each in dances.features]
    )


def _segment_of_windows(dances: DanceSet) -> Array:
    """(windows,) the captured segment in the middle of each window."""
    return np.concatenate(
        [
            segments[each.windows.mean(axis=1).astype(int)]
            for segments, each in zip(dances.segments, dances.features, strict=True)
        ]
    )


def nearest_pieces(pieces: Array, others: Array) -> tuple[Array, Array]:
    """Of each piece the distance to the nearest of other pieces in metres, and its index.

    Returns
    -------
    distance, index : (pieces,) each
    """
    if not (len(pieces) and len(others)):
        return np.zeros(0), np.zeros(0, np.intp)
    rows = others.astype(np.float32)
    squares = np.einsum("nd,nd->n", rows, rows)
    index = np.concatenate(
        [
            np.argmin(squares - 2.0 * some.astype(np.float32) @ rows.T, axis=1)
            for some in np.array_split(pieces, -(-len(pieces) // _CHUNK))
        ]
    )
    # Exact distances of the nearest ones: squares of floats lose what lies below a millimetre.
    return np.linalg.norm(pieces.astype(np.float64) - rows[index], axis=1), index


def shared_share(groups: Sequence[Array]) -> float:
    """Share of all frames whose segment occurs in another clip as well."""
    clips = np.repeat(np.arange(len(groups)), [len(each) for each in groups])
    flat = np.concatenate(groups)
    pairs = np.unique(np.stack([flat, clips], axis=1), axis=0)
    return float((np.bincount(pairs[:, 0])[flat] > 1).mean())
