"""Length of the paths of dances: the share of a network's steps over the ground that its feet make.

A network predicts the step of the root and the pose separately. Over long runs the root is faster
than the legs, by a factor that hardly changes within a dance, and standing feet slide along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.dance.dancing import generate_dances
from deepphase.controllers.dance.song_clips import SongClips
from deepphase.controllers.runtime.frame import BLENDS, CharacterSettings
from deepphase.evaluation.dance_body import body_points
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.roles import find_roles
from deepphase.music.dance_request import DanceRequest
from deepphase.progress import Progress

# Number of dances of each style, and their length. The first seconds of a song may be silent.
_SONGS, _START_S, _SECONDS, _SHORTEST_S = 12, 2.0, 30.0, 5.0
# Shares beyond these are not small corrections: such a dancer is left as it is.
_SHARES = (0.5, 1.5)
# Dances of a style that stays in place have no path to compare.
_SLOWEST = 0.05


def path_shares(
    dancer: Dancer,
    clips: SongClips,
    left_out: frozenset[str] = frozenset(),
    progress: Progress | None = None,
) -> dict[str, float]:
    """Style -> speed of the recorded hips over the ground, as a share of the dancer's.

    Parameters
    ----------
    dancer
        Trained dancer.
    clips
        Recorded dances and their songs.
    left_out
        Songs that are not used, such as those that measure the dancer.
    progress
        Called with the number of frames done.

    Returns
    -------
    Styles without a dance of five seconds are left out; empty for a dancer without styles.
    """
    if dancer.styles is None:
        return {}
    uncorrected = replace(dancer, path_shares={})
    of_style: dict[str, list[Clip]] = {}
    for clip in clips.store:
        style = dancer.styles.clips.get(clip.name)
        if style is None or clip.source.song in left_out or clip.duration < _SHORTEST_S:
            continue
        of_style.setdefault(style, []).append(clip)
    chosen = [(style, clip) for style, known in of_style.items() for clip in _spread(known, _SONGS)]
    chosen = [(style, clip) for style, clip in chosen if clips.song(clip).duration_s > _SHORTEST_S]
    if not chosen:
        return {}
    requests = [
        (
            clips.song(clip),
            DanceRequest(
                min(_START_S, 0.25 * clips.song(clip).duration_s), _SECONDS, number + 1, style=style
            ),
        )
        for number, (style, clip) in enumerate(chosen)
    ]
    settings = CharacterSettings(*BLENDS["natural"], gating=False, foot_ik=False)
    dances = generate_dances(uncorrected, requests, settings=settings, progress=progress)
    shares = {}
    for style in of_style:
        pairs = [
            (_hips_speed(clip), _hips_speed(dance.clip(clip.name)))
            for (its_style, clip), dance in zip(chosen, dances, strict=True)
            if its_style == style
        ]
        if pairs:
            recorded, made = np.mean(pairs, axis=0)
            share = recorded / max(made, _SLOWEST)
            if recorded > _SLOWEST and _SHARES[0] <= share <= _SHARES[1]:
                shares[style] = float(share)
    return shares


def path_share_words(shares: Mapping[str, float]) -> list[str]:
    """What the shares say, as lines of text; none if there are none."""
    if not shares:
        return []
    listed = ", ".join(f"{share:.2f} in {style}" for style, share in sorted(shares.items()))
    return [f"paths of dances are scaled to the recorded speed over the ground: {listed}"]


def _hips_speed(clip: Clip) -> float:
    """m/s: mean speed of the hips over the ground."""
    points = body_points(joint_positions(clip), find_roles(clip.skeleton, clip=clip))
    ground = points["root"][:, [0, 2]].astype(np.float64)
    return float(np.linalg.norm(np.diff(ground, axis=0), axis=1).mean() * clip.fps)


def _spread(clips: Sequence[Clip], count: int) -> list[Clip]:
    rows = np.unique(np.linspace(0, len(clips) - 1, min(count, len(clips))).astype(int))
    return [clips[row] for row in rows.tolist()]
