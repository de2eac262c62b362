"""Speeds and headings of training windows."""

import math
from types import SimpleNamespace

import pytest
import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.config import PhaseConfig, TrainingConfig
from deepphase.phase.encoding import gather, gather_at_rates
from deepphase.phase.training.data import PhaseData, VariedWindows, WindowVariation, with_headings
from deepphase.synthetic.gait_motion import locomotion
from tests.formula_motion import swinging
from tests.phase.test_mapped_signals import config


def data_of(rank: int = 0, size: int = 1, memory: int | None = None, **changes) -> PhaseData:
    clips = [swinging(0.8 + 0.2 * each, 40.0, seed=each)[0] for each in range(4)]
    varied = {"training.tempo": 0.3, "training.heading_deg": 20.0} | changes
    data = PhaseData(ClipStore.from_clips(clips), config(**varied), memory=memory)
    data.trainer = SimpleNamespace(world_size=size, global_rank=rank, global_step=0, training=True)
    return data


def windows_of(data: PhaseData, start: int, stop: int, share: slice = slice(None)) -> torch.Tensor:
    return data.on_after_batch_transfer(data.batch(start, stop, share), 0)


def test_a_window_at_a_rate_is_that_of_faster_motion():
    """Velocities of cos(2 pi f t) at twice the speed are twice as large, at twice the rate."""
    time = torch.arange(400) / 60.0
    velocities = torch.sin(2.0 * math.pi * 1.3 * time)[:, None]
    centres, rates = torch.tensor([200, 200, 200]), torch.tensor([1.0, 0.7, 1.4])
    windows = gather_at_rates(velocities, centres, 61, rates)
    inside = (torch.arange(61) - 30) / 60.0
    for window, rate in zip(windows[:, 0], rates, strict=True):
        expected = rate * torch.sin(2.0 * math.pi * 1.3 * (200 / 60 + rate * inside))
        # Linear interpolation errs by (2 pi f / fps)^2 / 8.
        torch.testing.assert_close(window, expected - expected.mean(), rtol=0, atol=5e-3)
    torch.testing.assert_close(windows[:1], gather(velocities, centres[:1], 61))


def test_backwards_velocities_are_reversed_and_negated():
    velocities = torch.randn(200, 6, generator=torch.Generator().manual_seed(0))
    centres = torch.tensor([30, 77, 169])
    forwards = gather(velocities, centres, 61)
    backwards = gather_at_rates(velocities, centres, 61, -torch.ones(3))
    torch.testing.assert_close(backwards, -forwards.flip(2))
    # Rates that do not fit are lowered in either direction of time.
    varied = VariedWindows(centres, torch.tensor([-1.0, -1.5, -1.5]), torch.zeros(3))
    room = torch.tensor([30, 77, 30])
    lowered = varied.gathered(velocities, room, 61)
    torch.testing.assert_close(lowered[0], -forwards[0].flip(1))
    torch.testing.assert_close(lowered[2], -forwards[2].flip(1), rtol=0, atol=1e-3)
    faster = gather_at_rates(velocities, centres[1:2], 61, torch.tensor([1.5]))
    torch.testing.assert_close(lowered[1], -faster[0].flip(1))


def test_no_window_leaves_its_clip():
    """Rates beside a clip's ends are lowered to what fits."""
    values = torch.cat([torch.zeros(40, 3), torch.full((40, 3), 100.0), torch.zeros(40, 3)])
    values[40:80] += torch.arange(40)[:, None]
    room = torch.tensor([10, 12, 19])
    varied = VariedWindows(torch.tensor([50, 52, 59]), torch.full((3,), 1.5), torch.zeros(3))
    windows = varied.gathered(values, room, 21)
    rates = torch.tensor([1.0, 1.2, 1.5])
    ramp = (torch.arange(21) - 10)[None, None] * rates[:, None, None].square()
    torch.testing.assert_close(windows, ramp.expand(3, 3, 21), rtol=0, atol=1e-3)


def test_headings_turn_velocities_and_keep_their_lengths():
    windows = torch.randn(4, 6, 9, generator=torch.Generator().manual_seed(0))
    quarter = with_headings(windows.clone(), torch.full((4,), math.pi / 2))
    # A quarter turn about y takes z to x, and x to -z.
    torch.testing.assert_close(quarter[:, 0::3], windows[:, 2::3], rtol=0, atol=1e-6)
    torch.testing.assert_close(quarter[:, 2::3], -windows[:, 0::3], rtol=0, atol=1e-6)
    assert torch.equal(quarter[:, 1::3], windows[:, 1::3])


def test_draws_depend_on_seed_and_position_alone():
    variation = WindowVariation(TrainingConfig(tempo=0.5, heading_deg=10.0, seed=3))
    rates, headings = variation.draws(512, 4_608)
    again = WindowVariation(TrainingConfig(tempo=0.5, heading_deg=10.0, seed=3)).draws(512, 4_608)
    assert torch.equal(rates, again[0])
    assert torch.equal(headings, again[1])
    assert not torch.equal(rates, variation.draws(513, 4_609)[0])
    assert float((rates == 1.0).float().mean()) == pytest.approx(0.5, abs=0.03)
    assert 1 / 1.5 <= float(rates.min()) < 0.7
    assert 1.45 < float(rates.max()) <= 1.5
    assert float(torch.rad2deg(headings).std()) == pytest.approx(10.0, rel=0.05)
    assert not WindowVariation(TrainingConfig())
    # Some play backwards, at the same speeds and headings.
    options = TrainingConfig(tempo=0.5, heading_deg=10.0, reversal=0.3, seed=3)
    both, turned = WindowVariation(options).draws(512, 4_608)
    assert torch.equal(both.abs(), rates)
    assert torch.equal(turned, headings)
    assert float((both < 0).float().mean()) == pytest.approx(0.3, abs=0.03)
    assert WindowVariation(TrainingConfig(reversal=0.1))


@pytest.mark.parametrize("memory", [None, 800_000])
def test_two_processes_vary_windows_as_one_would(memory):
    whole = windows_of(data_of(memory=memory), 48, 96)
    for rank in (0, 1):
        share = windows_of(data_of(rank, 2, memory), 48, 96, slice(rank, None, 2))
        torch.testing.assert_close(share, whole[rank::2], rtol=0, atol=1e-6)


def test_the_default_config_plays_quadrupeds_forwards_only():
    default = PhaseConfig.load("default")
    assert default.training.reversal is None
    for body, reversal in (("biped", 0.3), ("other", 0.3), (None, 0.3), ("quadruped", 0.0)):
        assert default.for_body(body).training.reversal == reversal
    given = PhaseConfig.load("default", **{"training.reversal": 0.2})
    assert given.for_body("quadruped") == given
    dogs = ClipStore.from_clips([locomotion(seed, 2.0, body="quadruped").clip for seed in (1, 2)])
    tiny = {"training.batch_size": 8, "network.window_s": 1.0}
    assert PhaseData(dogs, PhaseConfig.load("default", **tiny)).config.training.reversal == 0.0
