"""The study of shared codes, at a small size."""

from __future__ import annotations

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import write_store
from deepphase.synthetic.bodies import BODY_KINDS
from deepphase.synthetic.gait_motion import locomotion
from tests.studies.shared_manifold.__main__ import gaits_of, main, retrieval


def test_gaits_are_found_by_contacts():
    for body, gait, expected in (
        ("biped", "walk", 1),
        ("biped", "run", 2),
        ("quadruped", "walk", 1),
        ("quadruped", "gallop", 2),
        ("biped", "idle", 0),
    ):
        gaits, speeds = gaits_of(locomotion(1, 6.0, body=body, gait=gait).clip)
        assert (gaits[90:-90] == expected).mean() > 0.9, (body, gait)
        assert (speeds[90:-90].mean() > 0.2) == (expected > 0)


def test_retrieval_is_chance_where_gaits_are_shuffled():
    generator = np.random.default_rng(0)
    gaits = np.repeat([0, 1, 2], 300)
    values = np.eye(3)[gaits] + 0.1 * generator.normal(size=(900, 3))
    mean, each = retrieval(values, gaits, values, gaits, generator)
    assert mean == 1.0
    assert list(each) == ["stand", "walk", "run"]
    shuffled, _ = retrieval(values, gaits, values, generator.permutation(gaits), generator)
    assert shuffled < 0.6


@pytest.mark.slow
def test_the_study_trains_and_measures(tmp_path, monkeypatch, capsys):
    paths = []
    for body, gaits in zip(BODY_KINDS, (("walk", "run"), ("walk", "gallop")), strict=True):
        clips = [
            locomotion(seed, 8.0, body=body, gait=gait).clip for seed, gait in enumerate(3 * gaits)
        ]
        paths.append(str(tmp_path / f"{body}.store"))
        write_store(paths[-1], ClipStore.from_clips(clips))
    sizes = ["training.windows=640", "training.batch_size=64", "network.hidden=12"]
    sizes += ["network.codes=4", "training.held_out=0.3"]
    monkeypatch.setattr("sys.argv", ["study", *paths, *(f"--set={each}" for each in sizes)])
    main()
    printed = capsys.readouterr().out
    for text in ("codes in use", "biped finds quadruped by places", "rings of quadruped"):
        assert text in printed
