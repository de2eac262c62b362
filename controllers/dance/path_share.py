"""Length of the paths of dances: the share of a network's steps over the ground that its feet make.

A network predicts the step of the root and the pose separately. Over long runs the root is faster
than the legs, by a factor that hardly changes within a dance, and standing feet slide along.
"""

from __future__ import annotations

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

# Number of dances, and their length. The first seconds of a song may be silent.
_SONGS, _START_S, _SECONDS, _SHORTEST_S = 12, 2.0, 30.0, 5.0
# Shares beyond these are not small corrections: such a dancer is left as it is.
_SHARES = (0.5, 1.5)
# Dances that stay in place have no path to compare.
_SLOWEST = 0.05


def path_share(
    dancer: Dancer,
    clips: SongClips,
    left_out: frozenset[str] = frozenset(),
    progress: Progress | None = None,
) -> float:
    """Speed of the recorded hips over the ground, as a share of the dancer's.

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
    """
    usable = [
        clip
        for clip in clips.store
        if clip.source.song not in left_out
        and min(clip.duration, clips.song(clip).duration_s) > _SHORTEST_S
    ]
    if not usable:
        return 1.0
    rows = np.unique(np.linspace(0, len(usable) - 1, min(_SONGS, len(usable))).astype(int))
    chosen = [usable[row] for row in rows.tolist()]
    requests = []
    for number, clip in enumerate(chosen, start=1):
        song = clips.song(clip)
        start_s = min(_START_S, 0.25 * song.duration_s)
        requests.append((song, DanceRequest(start_s, _SECONDS, number)))
    settings = CharacterSettings(*BLENDS["natural"], gating=False, foot_ik=False)
    uncorrected = replace(dancer, path_share=1.0)
    dances = generate_dances(uncorrected, requests, settings=settings, progress=progress)
    recorded = float(np.mean([_hips_speed(clip) for clip in chosen]))
    generated = float(np.mean([_hips_speed(dance.clip("dance")) for dance in dances]))
    share = recorded / max(generated, _SLOWEST)
    return share if recorded > _SLOWEST and _SHARES[0] <= share <= _SHARES[1] else 1.0


def _hips_speed(clip: Clip) -> float:
    """m/s: mean speed of the hips over the ground."""
    points = body_points(joint_positions(clip), find_roles(clip.skeleton, clip=clip))
    ground = points["root"][:, [0, 2]].astype(np.float64)
    return float(np.linalg.norm(np.diff(ground, axis=0), axis=1).mean() * clip.fps)
