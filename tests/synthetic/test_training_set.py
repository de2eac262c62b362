import itertools

import numpy as np
import pytest

from deepphase.errors import ParameterError
from deepphase.synthetic.gait import gaits_of
from deepphase.synthetic.training_set import corpus
from tests.synthetic.motion_checks import largest_phase_error, largest_slide


@pytest.mark.parametrize("body", ["biped", "quadruped"])
def test_a_corpus_has_every_gait_and_its_length(body):
    motions = list(corpus(3, 4.1, body=body))
    assert sum(len(motion) for motion in motions) == round(4.1 * 60 * 60)
    seen = {name for motion in motions for name in motion.gait_names}
    assert seen == set(gaits_of(body))
    assert len({motion.clip.name for motion in motions}) == len(motions)
    for motion in motions:
        assert largest_slide(motion) < 1e-3
        assert largest_phase_error(motion) < 1e-6
        assert motion.clip.skeleton is motions[0].clip.skeleton


@pytest.mark.slow
def test_a_corpus_repeats_by_seed_and_never_in_itself():
    first = list(itertools.islice(corpus(1, 2), 3))
    again = list(itertools.islice(corpus(1, 60), 3))
    other = next(iter(corpus(2, 2)))
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one.clip.rotations, two.clip.rotations)
    assert np.abs(first[0].clip.rotations - other.clip.rotations).max() > 0.01
    # Gaits come round again, but never the same individual at the same speed.
    walks = [m for m in corpus(1, 8) if m.gait_names == ("walk",)]
    assert len(walks) >= 2
    assert abs(walks[0].frequency.mean() - walks[1].frequency.mean()) > 1e-4


def test_a_corpus_refuses_no_time():
    with pytest.raises(ParameterError):
        corpus(1, 0)
