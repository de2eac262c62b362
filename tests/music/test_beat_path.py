"""Beats by dynamic programming, against the formula frame by frame."""

import subprocess
import sys

import numpy as np
import pytest

from deepphase.music.beats import beat_path

_FPS = 60.0


def _onsets(seed: int, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Onset strength and a tempo: noise, clicks, silence at the ends; steady and changing."""
    generator = np.random.default_rng(seed)
    onsets = generator.random(frames) ** 6
    if seed % 3 == 0:
        onsets *= 0.2
        onsets[:: int(generator.integers(16, 80))] += 1
    if seed % 4 == 0:
        onsets[: frames // 3] = 0
    if seed % 5 == 0:
        onsets[-frames // 4 :] = 0
    bpm = np.full(frames, generator.uniform(42, 235))
    if seed % 2:
        bpm = np.interp(np.arange(frames), [0, frames / 2, frames], generator.uniform(60, 200, 3))
    return onsets.astype(np.float32), bpm


def _one_by_one(onsets: np.ndarray, bpm: np.ndarray, tightness: float) -> list[int]:
    """The same path, each frame and each step by itself."""
    frames = len(onsets)
    onsets = onsets.astype(np.float64) / onsets.astype(np.float64).std(ddof=1)
    periods = np.round(60 * _FPS / bpm)
    score = [
        sum(
            onsets[j] * np.exp(-0.5 * (32 * (i - j) / periods[i]) ** 2)
            for j in range(max(1, i - int(periods[i])), min(frames, i + int(periods[i]) + 1))
        )
        for i in range(frames)
    ]
    total, before, started = list(score), [-1] * frames, False
    for i in range(frames):
        best = -np.inf
        for step in range(int(np.round(periods[i] / 2)), int(2 * periods[i]) + 1):
            if step <= i:
                value = total[i - step] - tightness * np.log(step / periods[i]) ** 2
                if value > best:
                    best, before[i] = value, i - step
        total[i] += best if best > -np.inf else 0
        started |= score[i] >= 0.01 * max(score)
        before[i] = before[i] if started else -1
    peaks = [
        i
        for i in range(1, frames)
        if total[i] > total[i - 1] and (i + 1 == frames or total[i] >= total[i + 1])
    ]
    half = 0.5 * np.median([total[i] for i in peaks])
    path = [max(i for i in peaks if total[i] >= half)]
    while before[path[-1]] >= 0:
        path.append(before[path[-1]])
    return path[::-1]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_path_is_that_of_the_formula(seed):
    onsets, bpm = _onsets(seed, 400)
    assert beat_path(onsets, bpm, _FPS, 100.0).tolist() == _one_by_one(onsets, bpm, 100.0)


def test_without_onsets_there_are_no_beats():
    for onsets in (np.zeros(300), np.zeros(1)):
        assert not len(beat_path(onsets, np.full(len(onsets), 120.0), _FPS, 100.0))


def test_reading_a_song_compiles_nothing():
    """Modules of librosa with compiled functions stay unread: they took half a minute at first."""
    program = (
        "import sys\n"
        "import numpy as np\n"
        "from deepphase.music.features import features_of\n"
        "clicks = np.zeros(30_720 * 6, np.float32)\n"
        "clicks[:: 30_720 // 2] = 1\n"
        "assert len(features_of(clicks).beats_s) > 5\n"
        "print([m for m in ('librosa.util.utils', 'librosa.beat', 'librosa.core.audio')"
        " if m in sys.modules])\n"
    )
    told = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == "[]"
