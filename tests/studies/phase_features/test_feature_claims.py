"""Differences between features and verdicts on claims, of values whose outcome is known."""

import numpy as np
import pytest

from tests.studies.phase_features.feature_claims import Measured, claims_about, difference
from tests.studies.phase_features.rival_features import reported_names


def measured(values, clips, numbers=None):
    numbers = np.arange(len(values)) if numbers is None else np.array(numbers)
    return Measured(np.array(values, float), np.array(clips), numbers)


CLIPS = np.repeat(np.arange(10), 5)
NOISE = np.random.default_rng(0).normal(size=50)


@pytest.mark.parametrize(
    ("key", "shift", "outcome"),
    [("alignment", -0.1, "better"), ("alignment", 0.1, "worse"), ("distinct", 0.1, "better"),
     ("distinct", -0.1, "worse"), ("alignment", 0.0, "level")],
)  # fmt: skip
def test_outcomes_are_by_the_same_queries(key, shift, outcome):
    # The shift is far below the spread of the values, and of the clips.
    other = measured(NOISE + 3 * CLIPS, CLIPS)
    found = difference(key, measured(other.values + shift, CLIPS), "pose", other)
    assert found.outcome == outcome
    assert found.value == pytest.approx(shift)
    assert found.interval_95 == pytest.approx([shift, shift])


def test_clips_decide_and_not_frames():
    # Better by far in one of four clips, by many frames, and a little worse in the others.
    clips = np.array([0] * 1000 + [1, 2, 3])
    apart = np.where(clips == 0, -1.0, 0.1)
    assert (
        difference("next", measured(apart, clips), "pose", measured(0 * apart, clips)).outcome
        == "level"
    )


@pytest.mark.parametrize(("clips", "outcome"), [(1, "level"), (2, "level"), (3, "better")])
def test_few_clips_decide_nothing(clips, outcome):
    of = np.repeat(np.arange(clips), 20)
    own, other = measured(np.zeros(len(of)), of), measured(np.ones(len(of)), of)
    found = difference("alignment", own, "pose", other)
    assert found.outcome == outcome
    assert np.isfinite(found.interval_95).all()


def test_values_that_one_feature_lacks_are_left_out():
    clips = np.arange(6)
    own = measured([1, 2, 3, 4, 5, 6], clips)
    # Level where both are known; its mean is far off since the others are missing.
    other = measured([5, 6, 4], [4, 5, 3], numbers=[4, 5, 3])
    found = difference("uneven", own, "velocity", other)
    assert (found.value, found.interval_95, found.outcome) == (0, [0, 0], "level")
    assert difference("uneven", measured([1], [0]), "velocity", measured([1], [1], [1])) is None


def test_verdicts():
    clips = np.arange(8)
    one = {"winding": measured(np.ones(8), clips), "uneven": measured(np.ones(8), clips)}

    def verdict(winding, uneven):
        own = {
            "winding": measured(clips * 0 + winding, clips),
            "uneven": measured(clips * 0 + uneven, clips),
        }
        differences = [difference(key, own[key], "velocity", one[key]) for key in own]
        (claim,) = claims_about(differences, own, {"velocity": one})
        assert "(1)" in claim.reason
        return claim.verdict

    assert verdict(2.0, 0.5) == "holds"
    assert verdict(2.0, 1.0) == verdict(2.0, 2.0) == "partly"
    assert verdict(1.0, 1.0) == "undecided"
    assert verdict(1.0, 2.0) == "does not hold"


def test_files_of_one_name_are_told_apart():
    found = reported_names(("pca", "a/pca", "a/x.model", "b/x.model", "b/y.model"))
    assert list(found.values()) == ["pca", "a/pca", "a/x.model", "b/x.model", "y.model"]
