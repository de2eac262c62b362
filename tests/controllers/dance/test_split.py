"""What dancers learn from and are asked with: captured segments held out."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.controllers.dance.config import DanceConfig
from deepphase.controllers.dance.song_clips import SongClips
from deepphase.controllers.dance.training import DanceData, train_dance
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from tests.controllers.made_dances import TINY, made_dances

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def corpus():
    return made_dances(seconds=20.0)[0]


@pytest.fixture(scope="module")
def reused(corpus):
    """Dances of which one has the middle of another, to another song."""
    one, other, third = corpus.store
    middle = other.sliced(400, 800)

    def with_middle(clip):
        parts = {
            name: np.concatenate(
                [getattr(clip, name)[:300], getattr(middle, name), getattr(clip, name)[700:]]
            )
            for name in ("rotations", "translations")
        }
        return replace(clip, **parts)

    return replace(
        corpus, store=ClipStore.from_clips([with_middle(one), other, with_middle(third)])
    )


def _dance_data(clips: SongClips, **changes) -> DanceData:
    return DanceData.read(clips, DanceConfig.load("no_phase", **TINY, **changes))


def test_no_training_sample_contains_a_held_out_segment(reused):
    for seed in range(3):
        changes = {
            "dance.held_out_by": "segment",
            "training.held_out": 0.3,
            "training.split_seed": seed,
        }
        data = _dance_data(reused, **changes)
        samples, split = data.data.samples, data.data.split
        assert data.held_out_songs == frozenset()
        names = reused.store.names
        held = {name: np.zeros(1200, bool) for name in names}
        learnt = {name: np.zeros(1200, bool) for name in names}
        for flags, rows, name, frame in _frames(samples, split, held, learnt):
            flags[name][frame] |= rows
        for name in names:
            # A second of trajectory lies between the two.
            near = np.convolve(held[name], np.ones(121), mode="same") > 0.5
            assert not (near & learnt[name]).any()
        # Two clips have the middle of the second one: held out in all, or in none.
        inner = slice(60, 340)
        shared = [held[names[1]][400:800], held[names[0]][300:700], held[names[2]][300:700]]
        for other in shared[1:]:
            assert (shared[0][inner] == other[inner]).mean() > 0.9
        assert split.held_out.size
        assert split.train.size


def _frames(samples, split, held, learnt):
    for flags, rows in ((held, split.held_out), (learnt, split.train)):
        chosen = np.zeros(len(samples), bool)
        chosen[rows] = True
        for run, name in enumerate(samples.names):
            if name not in flags:
                continue
            start, stop = samples.run_starts[run], samples.run_stops[run]
            frame = samples.first_frames[run] + np.arange(stop - start)
            yield flags, chosen[start:stop], name, frame


def test_the_provenance_names_the_split(corpus, tmp_path):
    changes = {"dance.held_out_by": "segment", "training.held_out": 0.3}
    config = DanceConfig.load("no_phase", **TINY, **changes)
    made = train_dance(DanceData.read(corpus, config), config, folder=tmp_path)
    given = made.controller.provenance
    assert (given["held_out_by"], given["unheard"], given["clips"]) == ("segment", [], 3)
    assert made.controller.health["dance"]["songs"] == 3
    assert not made.controller.health["dance"]["unheard"]


def test_an_unknown_split_is_refused():
    with pytest.raises(ParameterError, match="held_out_by"):
        DanceConfig.load("experts", **{"dance.held_out_by": "dancer"})
