"""The signals: velocities in root space, and their mirror image."""

from dataclasses import replace

import numpy as np
import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.motion.mirror import mirrored
from deepphase.motion.roles import find_roles
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.signals import JointVelocities
from tests.formula_motion import swinging


def test_velocity_is_seen_from_the_facing_body():
    """A walk along +Z at 1.2 m/s: the hips move forward whatever the world's direction."""
    clip, _ = swinging(1.0)
    signals = JointVelocities.from_clip(clip)
    values = signals.read(clip).reshape(len(clip), -1, 3)
    hips = values[10:-10, signals.joints.index("Hips")]
    np.testing.assert_allclose(hips[:, 2].mean(), 1.2, atol=0.01)
    np.testing.assert_allclose(hips[:, 0], 0.0, atol=0.02)
    assert signals.names[:3] == ["Hips.x", "Hips.y", "Hips.z"]


def test_mirror_of_the_signals_is_the_signals_of_the_mirror_image():
    clip, _ = swinging(1.0, seed=3)
    roles = find_roles(clip.skeleton, clip=clip)
    signals = JointVelocities.from_clip(clip, roles)
    order, sign = signals.mirror()
    values = signals.read(clip)
    expected = signals.read(mirrored(clip, roles))
    np.testing.assert_allclose(values[:, order] * sign, expected, atol=2e-3)
    assert np.abs(values - expected).max() > 0.1


def test_other_rates_are_resampled():
    clip, _ = swinging(1.0, fps=120.0)
    sixty, _ = swinging(1.0, fps=60.0)
    signals = JointVelocities.from_clip(sixty)
    np.testing.assert_allclose(signals.read(clip)[30:-30], signals.read(sixty)[30:-30], atol=0.02)


def test_absurd_speeds_are_refused():
    clip, _ = swinging(1.0)
    store = ClipStore.from_clips([replace(clip, translations=1e3 * clip.translations)])
    with pytest.raises(ParameterError, match="unit"):
        SignalCorpus.from_store(store)
