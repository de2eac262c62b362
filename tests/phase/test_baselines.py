"""Phases by a rule against motion whose limbs' phases are known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepphase.arrays import wrapped
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import CheckpointError, SkeletonError
from deepphase.formats.array_file import write_arrays
from deepphase.motion.mirror import mirrored
from deepphase.motion.roles import find_roles
from deepphase.phase.baselines.baseline import fitted_sinusoids
from deepphase.phase.baselines.foot_phases import Strikes, paced, strikes
from deepphase.phase.baselines.pca_phase import PcaPhase
from deepphase.phase.extractor import BASELINES, load_extractor
from deepphase.synthetic.gait_motion import SyntheticMotion, locomotion, perform
from deepphase.synthetic.program import Segment

FPS = 60.0
SMALL = 1e-3


@pytest.fixture(scope="module")
def motions() -> dict[str, SyntheticMotion]:
    change = [Segment("walk", 5.0), Segment("run", 5.0)]
    return {
        "walk": locomotion(1, 8, gait="walk"),
        "run": locomotion(2, 8, gait="run"),
        "change": perform(change, 3),
        "dog": locomotion(1, 8, body="quadruped", gait="walk"),
    }


@pytest.fixture(scope="module")
def fitted(motions):
    people = ClipStore.from_clips([motions[name].clip for name in ("walk", "run", "change")])
    dog = ClipStore.from_clips([motions["dog"].clip])
    return {
        (body, name): kind.fit(store)
        for body, store in (("person", people), ("dog", dog))
        for name, kind in BASELINES.items()
    }


def of(fitted, motion: str, method: str):
    return fitted["dog" if motion == "dog" else "person", method]


def circular_median(cycles):
    """Median of angles in cycles, around their mean direction."""
    centre = np.angle(np.exp(2j * np.pi * cycles).mean()) / (2 * np.pi)
    return centre + np.median(wrapped(cycles - centre))


def errors(phase, truth) -> np.ndarray:
    """Cycles off the truth, up to one constant."""
    ahead = wrapped(phase - truth)
    return np.abs(wrapped(ahead - circular_median(ahead)))


@pytest.mark.parametrize(
    ("motion", "median", "most"),
    # In a change of gait contact's share of the stride changes too, and a window holds both paces.
    [("walk", 0.005, 0.01), ("run", 0.006, 0.01), ("dog", 0.004, 0.01), ("change", 0.035, 0.2)],
)
@pytest.mark.parametrize("method", ["contact", "pca"])
def test_the_feets_phases_are_the_true_ones(motions, fitted, method, motion, median, most):
    made, truth = of(fitted, motion, method), motions[motion]
    phases = made.encode(truth.clip)
    inside = phases.interior
    feet = [(made.limbs.index(limb), n) for n, limb in enumerate(truth.limb_names)]
    assert len(feet) == (4 if motion == "dog" else 2)
    for channel, limb in feet:
        off = errors(phases.parameters.phase[inside, channel], truth.phase[inside, limb])
        assert np.median(off) < median
        assert np.percentile(off, 95) < most
        relative = phases.parameters.frequency[inside, channel] / truth.frequency[inside, limb]
        assert np.median(np.abs(relative - 1)) < 0.02


def test_contact_phase_is_a_quarter_in_the_middle_of_the_stance(motions, fitted):
    motion, made = motions["walk"], fitted["person", "contact"]
    phases = made.encode(motion.clip)
    begin = np.flatnonzero(motion.contacts[1:, 0] & ~motion.contacts[:-1, 0]) + 1
    end = np.flatnonzero(~motion.contacts[1:, 0] & motion.contacts[:-1, 0]) + 1
    end = end[end > begin[0]]
    middle = [(a + b) // 2 for a, b in zip(begin, end, strict=False)]
    inside = [frame for frame in middle if phases.interior[frame]]
    assert len(inside) > 3
    found = phases.parameters.phase[inside, made.limbs.index(motion.limb_names[0])]
    assert np.abs(wrapped(found - 0.25)).max() < 0.03


def test_pca_amplitude_is_speed_and_can_be_without_unit(motions, fitted):
    walk, run = (
        fitted["person", "pca"].encode(motions[name].clip).parameters.amplitude.mean(0)
        for name in ("walk", "run")
    )
    assert (run > 1.1 * walk).all()
    store = ClipStore.from_clips([motions["walk"].clip, motions["run"].clip])
    plain = PcaPhase.fit(store, normalised=True)
    for name in ("walk", "run"):
        amplitude = plain.encode(motions[name].clip).parameters.amplitude[150]
        assert ((amplitude > 0.7) & (amplitude < 1.05)).all()


@pytest.mark.parametrize("motion", ["walk", "run", "change", "dog"])
def test_pfnn_phase_crosses_the_true_strikes(motions, fitted, motion):
    """0 at the right foot's (a dog's right hind paw's) touch-down, and .5 at the left one's."""
    truth, made = motions[motion], of(fitted, motion, "pfnn")
    phase = made.encode(truth.clip).parameters.phase[:, 0]
    for limb, at in (("RightFoot", 0.0), ("LeftFoot", 0.5)):
        if limb not in made.limbs:
            continue
        flags = truth.contacts[:, truth.limb_names.index(limb)]
        down = np.flatnonzero(flags[1:] & ~flags[:-1]) + 1
        assert len(down) > 5
        # Contacts that are found lie within two frames of the true ones.
        assert np.abs(wrapped(phase[down] - at)).max() < 2.5 * truth.frequency.max() / FPS


@pytest.mark.parametrize("method", list(BASELINES))
@pytest.mark.parametrize("motion", ["walk", "dog"])
def test_a_mirrored_clip_has_mirrored_channels(motions, fitted, motion, method):
    clip, made = motions[motion].clip, of(fitted, motion, method)
    plain = made.encode(clip).parameters
    other = made.encode(mirrored(clip, find_roles(clip.skeleton, clip=clip))).parameters
    if method == "pfnn":
        if motion == "walk":
            np.testing.assert_allclose(wrapped(other.phase - plain.phase - 0.5), 0, atol=1e-5)
        return
    swapped = [index ^ 1 for index in range(made.channels)]
    assert [name[:4] == "Left" for name in made.limbs] == [
        index % 2 == 0 for index in range(len(swapped))
    ]
    np.testing.assert_allclose(other.manifold(), plain[:, swapped].manifold(), atol=0.02)


def test_standing_still(motions, fitted):
    idle, clip = locomotion(4, 4, gait="idle").clip, motions["walk"].clip
    held = replace(
        clip,
        rotations=np.repeat(clip.rotations[30:31], 200, axis=0),
        translations=np.repeat(clip.translations[30:31], 200, axis=0),
    )
    for (body, method), made in fitted.items():
        if body == "dog":
            continue
        assert not made.encode(held).parameters.amplitude.any()
        assert made.encode(idle).parameters.amplitude.max() < 0.05
        if method == "pfnn":
            # It cycles on.
            np.testing.assert_allclose(made.encode(idle).parameters.frequency, 1.0, atol=1e-5)
        else:
            assert not made.encode(held).parameters.frequency.any()
            assert not np.diff(made.encode(held).parameters.phase, axis=0).any()


@pytest.mark.parametrize("key", [(b, m) for b in ("person", "dog") for m in BASELINES])
def test_a_file_brings_back_the_same_phases_bit_for_bit(motions, fitted, key, tmp_path):
    made = fitted[key]
    made.save(tmp_path / "file")
    again = load_extractor(tmp_path / "file")
    assert type(again) is type(made)
    assert again.sha256 == made.sha256
    clip = motions["dog" if key[0] == "dog" else "run"].clip
    for name in ("phase", "frequency", "amplitude", "offset"):
        ours, theirs = (getattr(each.encode(clip).parameters, name) for each in (made, again))
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(again.projection.axes, made.projection.axes)
    again.window_s = 1.0
    assert again.sha256 != made.sha256


def test_files_that_are_something_else(fitted, tmp_path):
    write_arrays(tmp_path / "other", {"a": np.zeros(3)}, {}, format="deepphase.store", version=1)
    with pytest.raises(CheckpointError, match="not a phase model"):
        load_extractor(tmp_path / "other")
    write_arrays(tmp_path / "hollow", {}, {"signals": {}}, format="deepphase.pca_phase", version=1)
    with pytest.raises(CheckpointError, match="do not fit"):
        load_extractor(tmp_path / "hollow")


def test_another_skeleton_is_refused(motions, fitted):
    clip = motions["walk"].clip
    names = tuple(f"Other{name}" for name in clip.skeleton.names)
    foreign = replace(clip, skeleton=replace(clip.skeleton, names=names))
    for method in BASELINES:
        with pytest.raises(SkeletonError):
            fitted["person", method].encode(foreign)


@settings(max_examples=30)
@given(
    frequency=st.floats(0.7, 3.5),
    start=st.floats(-0.5, 0.5),
    amplitude=st.floats(0.05, 20.0),
    level=st.floats(-5.0, 5.0),
)
def test_a_pure_tone_is_read_off(frequency, start, amplitude, level):
    times = np.arange(300) / FPS
    tone = amplitude * np.sin(2 * np.pi * (frequency * times + start)) + level
    found = fitted_sinusoids(tone[:, None], FPS, 121, silence=SMALL)[60:-60]
    expected = wrapped(frequency * times + start)[60:-60, None]
    assert np.abs(wrapped(found.phase - expected)).max() < 0.005
    np.testing.assert_allclose(found.frequency, frequency, rtol=0.01)
    # What rounds the corners of a block takes something of a fast tone as well.
    kept = np.exp(-0.5 * (2 * np.pi * frequency * 0.05) ** 2)
    np.testing.assert_allclose(found.amplitude, kept * amplitude, rtol=0.02)


@settings(max_examples=30)
@given(contacts=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=400))
def test_any_contacts_give_a_phase_that_never_falls(contacts):
    flags = np.array(contacts)
    found = strikes(flags, FPS)
    cycles, frequency, steps = paced(found, len(flags), FPS)
    assert np.isfinite(cycles).all()
    assert (np.diff(cycles) > 0).all()
    # No step is faster than a tenth of a second for half a cycle; a monotone cubic is at most half
    # as fast again inside a step.
    assert ((frequency > 0) & (frequency <= 7.5 + SMALL)).all()
    assert set(steps) <= {0.0, 1.0}
    np.testing.assert_allclose(wrapped(cycles[found.frames] - found.phases), 0, atol=1e-6)


def test_the_rate_is_continuous_through_steps_of_different_length():
    """A jump of the rate would be as large at any frame rate."""
    seconds = np.array([0.5, 1.1, 1.5, 2.3, 2.7, 8.0, 8.6])
    jumps = []
    for fps in (100.0, 1000.0):
        found = Strikes(np.rint(seconds * fps).astype(int), np.arange(7) % 2 * 0.5)
        cycles, frequency, _ = paced(found, round(12 * fps), fps)
        np.testing.assert_allclose(wrapped(cycles[found.frames] - found.phases), 0, atol=1e-9)
        jumps.append(np.abs(np.diff(frequency)).max())
    assert jumps[1] < 0.2 * jumps[0]
