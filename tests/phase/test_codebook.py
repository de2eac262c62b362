"""A codebook that several skeletons share: invariance, quantisation, training, files."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.phase.body_points import POINTS, BodyPlan
from deepphase.phase.config import NetworkConfig, PhaseConfig
from deepphase.phase.health import code_health, shared_codes, sharing_words
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.autoencoder import Encoding
from deepphase.phase.networks.codebook import DECODED, Codebook, DecoderSample, Shape
from deepphase.phase.phase_file import load_phases, save_phases
from deepphase.phase.training.train import train_phase
from deepphase.synthetic.bodies import BODY_KINDS
from deepphase.synthetic.gait_motion import locomotion

CONFIG = NetworkConfig("any_skeleton", channels=2, codes=4, code_stages=2, skeletons=2)


def codebook(config=CONFIG) -> Codebook:
    torch.manual_seed(0)
    return Codebook(60.0, config)


def strides(book: Codebook, size: float, phase: float) -> tuple[torch.Tensor, Encoding]:
    """Windows of one stride pattern on a body of this size, and their encoding.

    Bodies move alike where times are in sqrt(size) and speeds, too.
    """
    generator = torch.Generator().manual_seed(3)
    waves = torch.randn(2, 3 * len(POINTS), 2, generator=generator)
    frequency = 1.5 / size**0.5
    turns = 2 * np.pi * (frequency * book.times + phase)
    windows = sum(
        each[..., None] * wave
        for k in (1, 2)
        for each, wave in zip(
            waves.unbind(2), (torch.sin(k * turns), torch.cos(k * turns)), strict=True
        )
    )
    parts = (torch.full((2, 1), value) for value in (phase, frequency, 1.0, 0.0))
    return size**0.5 * windows, Encoding(*parts, windows)


def test_bodies_of_other_sizes_that_move_alike_have_one_shape():
    book = codebook(NetworkConfig("any_skeleton", codes=4, window_s=6.0))
    windows, encoding = strides(book, 1.0, 0.1)
    expected = book.shape(windows, encoding)
    for size, phase in ((0.4, 0.1), (0.4, -0.3), (1.0, 0.45)):
        book.leg_m = torch.tensor(size)
        shape = book.shape(*strides(book, size, phase))
        torch.testing.assert_close(shape.values, expected.values, atol=0.01, rtol=0.02)
        torch.testing.assert_close(shape.speed, expected.speed, atol=0.02, rtol=0.02)
    book.leg_m = torch.tensor(1.0)
    slower = book.shape(0.5 * windows, encoding)
    assert (slower.speed < expected.speed - 0.3).all()


def test_a_bound_codebook_reads_joints_as_points():
    book = codebook()
    plan = BodyPlan.of_points(np.arange(0, len(POINTS), 2))
    read = torch.from_numpy(plan.points_from_joints())
    joints = torch.randn(3, len(plan.chains), 3, 121)
    points = torch.einsum("pj,bjat->bpat", read, joints)
    _, encoding = strides(book, 1.0, 0.2)
    encoding = Encoding(*(each[:1].expand(3, -1) for each in encoding[:4]), encoding.latent)
    expected = book.shape(points.flatten(1, 2), encoding)
    found = book.bound(read, 1.0).shape(joints.flatten(1, 2), encoding)
    torch.testing.assert_close(found.values, expected.values)


def test_codes_are_the_nearest_and_stages_add_up():
    book = codebook()
    book.codes.copy_(torch.randn(book.codes.shape))
    values = torch.randn(50, book.codes.shape[2])
    sums, codes = book.quantised(values)
    rest = values.numpy()
    for stage in range(2):
        centres = book.codes[stage].numpy()
        nearest = ((rest[:, None] - centres) ** 2).sum(2).argmin(1)
        np.testing.assert_array_equal(codes[:, stage], nearest)
        rest = rest - centres[nearest]
    np.testing.assert_allclose(sums, values - torch.from_numpy(rest), atol=1e-5)


def test_codes_move_to_the_groups_of_both_skeletons_and_none_stays_dead():
    book = codebook()
    generator = torch.Generator().manual_seed(0)
    centres = 5.0 * torch.randn(4, book.codes.shape[2], generator=generator)
    for step in range(400):
        skeleton = step % 2
        # Each skeleton has two of the groups.
        group = 2 * skeleton + torch.randint(2, (64,), generator=generator)
        values = centres[group] + 0.1 * torch.randn(64, 20, generator=generator)
        book.update(skeleton, Shape(values, torch.zeros(64), torch.zeros(64, 1)))
    apart = torch.cdist(centres, book.codes[0]).min(1).values
    assert (apart < 0.5).all(), apart
    np.testing.assert_allclose(book.counts[0], 0.25, atol=0.1)


def test_skeletons_are_compared_at_equal_speed_alone():
    book = codebook()
    generator = torch.Generator().manual_seed(0)

    def shape(speed: float, shift: float) -> Shape:
        values = torch.randn(128, 20, generator=generator)
        values[:, 0] += shift
        speeds = speed + 0.1 * torch.randn(128, generator=generator)
        return Shape(values, speeds, torch.zeros(128, 1))

    assert float(book.apart(1, shape(0.0, 0.0))) == 0.0
    book.update(0, shape(0.0, 0.0))
    alike, moved = (float(book.apart(1, shape(0.0, shift))) for shift in (0.0, 6.0))
    assert alike < 0.1 < 0.3 < moved
    # A quarter of these windows have the other's speed; the others have any values.
    mixed = Shape(
        *(
            torch.cat([a[:32], b[32:]])
            for a, b in zip(shape(0.0, 0.0), shape(5.0, 9.0), strict=True)
        )
    )
    assert float(book.apart(1, mixed)) < 0.25


def test_decoders_are_solved_for_what_codes_and_phase_determine():
    book = codebook(replace(CONFIG, window_s=6.0))
    generator = torch.Generator().manual_seed(1)
    book.codes.copy_(0.1 * torch.randn(book.codes.shape, generator=generator))
    book.counts.fill_(1.0)
    # What each code of the first stage stands for, as a decoder of other hidden units gives it.
    signals, count = 3 * len(POINTS), 240
    waves = torch.randn(4, signals, 2 * DECODED, generator=generator)
    means = torch.randn(4, signals, generator=generator)
    code = torch.randint(4, (count,), generator=generator)
    phase, frequency = torch.rand(2, count, 1, generator=generator)
    frequency = 1.0 + frequency
    encoding = Encoding(phase, frequency, *torch.zeros(2, count, 1), torch.zeros(count, 1, 1))

    def wave(times: torch.Tensor) -> torch.Tensor:
        turns = (
            2 * np.pi * (frequency * times + phase)[:, None] * torch.arange(1, DECODED + 1)[:, None]
        )
        return torch.stack([torch.sin(turns), torch.cos(turns)], 2).flatten(1, 2)

    velocities = waves[code] @ wave(book.times)
    velocities -= velocities.mean(2, keepdim=True)
    poses = means[code]
    values = book.codes[0][code]
    before = book.codes.clone()
    book.solve_decoder(
        1,
        [
            DecoderSample(values[part], Encoding(*(each[part] for each in encoding)), v, p)
            for part, v, p in zip(
                torch.arange(count).split(100), velocities.split(100), poses.split(100), strict=True
            )
        ],
    )
    found = book.decoded(1, values, encoding, book.times)
    for made, wanted in ((found.velocities, velocities), (found.mean_pose, means[code])):
        assert (made - wanted).square().mean() < 0.02 * wanted.square().mean()
    torch.testing.assert_close(book.codes, before)


def test_health_counts_codes_in_use_by_all():
    first = np.repeat([0, 1, 2], [50, 49, 1])
    second = np.repeat([1, 2, 3], [60, 20, 20])
    one, other = code_health([first, second], 4)
    assert (one.used, one.shared, other.used, other.shared) == (2, 1, 3, 1)
    assert one.shared_frames == pytest.approx(0.49)
    assert other.shared_frames == pytest.approx(0.6)
    assert shared_codes([first, second], 4).tolist() == [1]
    assert "49% of people, 60% of a dog" in sharing_words({"people": first, "a dog": second}, 4)
    assert "codes of its own" in one.words()
    assert "codes of its own" not in other.words()


def test_a_codebook_is_of_models_for_any_skeleton():
    with pytest.raises(ParameterError, match=r"network.codes applies to the preset 'any_skeleton'"):
        PhaseConfig(NetworkConfig("sine_fit", codes=8))
    assert PhaseConfig.load("shared").network.codes == 32


def stores(seconds: float) -> list[ClipStore]:
    gaits = {"biped": ("walk", "run"), "quadruped": ("walk", "trot")}
    return [
        ClipStore.from_clips(
            locomotion(seed, seconds, gait=gait, body=body).clip
            for seed, gait in enumerate(2 * gaits[body])
        )
        for body in BODY_KINDS
    ]


def tiny(**changes: object) -> PhaseConfig:
    sizes = {"network.hidden": 12, "network.codes": 4, "training.windows": 1280}
    return PhaseConfig.load("shared", **{**sizes, "training.batch_size": 64, **changes})


@pytest.mark.slow
def test_codes_are_encoded_and_kept_in_files(tmp_path):
    data = stores(6.0)
    model = train_phase(data, tiny(), folder=tmp_path / "run", accelerator="cpu")
    model.save(tmp_path / "both.model")
    loaded = PhaseModel.load(tmp_path / "both.model")
    assert loaded.sha256 == model.sha256
    assert loaded.skeletons == model.skeletons
    assert [each.codes.codes for each in model.skeletons] == [4, 4]
    for kind, store in zip(BODY_KINDS, data, strict=True):
        clip = store.clip(0)
        phases = loaded.bound(store).encode(clip)
        assert phases.codes.shape == (len(phases), 3)
        assert ((phases.codes >= 0) & (phases.codes < 4)).all()
        np.testing.assert_array_equal(phases.codes, model.bound(store).encode(clip).codes)
        path = tmp_path / "a.phases.npz"
        save_phases(phases, path, window_s=2.0, model_sha256=loaded.sha256)
        np.testing.assert_array_equal(load_phases(path)[0].codes, phases.codes)
        np.testing.assert_array_equal(phases[:5].codes, phases.codes[:5])
        # Shorter than a window.
        short = locomotion(9, 0.7, body=kind).clip
        assert loaded.bound(store).encode(short).codes.shape == (len(short), 3)
    # Poses by codes do not turn the stride's phase off its frequency.
    turns = loaded.network.phase_layer.weight.abs().amax((1, 2))
    assert turns[0] == 0
    assert (turns[1:] > 0).all()
    # The model of one skeleton trains on, without the codebook.
    start = loaded.bound(data[0])
    config = PhaseConfig.load("default", **{"training.windows": 64, "training.batch_size": 32})
    config = PhaseConfig(start.config.network, config.training)
    further = train_phase(data[0], config, start=start, accelerator="cpu")
    further.save(tmp_path / "one.model")
    assert PhaseModel.load(tmp_path / "one.model").encode(data[0].clip(0)).codes is None


@pytest.mark.slow
def test_an_interrupted_training_ends_in_the_same_weights(tmp_path):
    data, config = stores(4.0), tiny(**{"training.windows": 640})

    def stop(view) -> None:
        if view.windows >= 300:
            raise KeyboardInterrupt

    whole = train_phase(data, config, folder=tmp_path / "a", accelerator="cpu")
    with pytest.raises(KeyboardInterrupt):
        train_phase(data, config, folder=tmp_path / "b", watch=stop, accelerator="cpu")
    resumed = train_phase(data, config, folder=tmp_path / "b", resume=True, accelerator="cpu")
    assert resumed.sha256 == whole.sha256
