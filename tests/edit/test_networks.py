"""Autoencoders of motion, what is filled in for them, and made damage."""

import numpy as np
import torch

from deepphase.edit.body_points import BodyPoints
from deepphase.edit.config import EditorNetwork
from deepphase.edit.missing import NOISY, filled, made_damage, run_means, straight_path, target_gap
from deepphase.edit.motion_rows import integrated_root
from deepphase.edit.networks import MotionAutoencoder
from tests.formula_motion import body


def test_unknown_values_are_interpolated_as_numpy_does():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((3, 5, 40))
    known = rng.random(rows.shape) < 0.4
    known[0, 0] = False
    result = filled(torch.from_numpy(rows), torch.from_numpy(known)).numpy()
    for index in np.ndindex(3, 5):
        has = np.flatnonzero(known[index])
        if has.size:
            expected = np.interp(np.arange(40), has, rows[index][has])
            np.testing.assert_allclose(result[index], expected, atol=1e-12)
    assert not result[0, 0].any()


def test_unknown_stretches_take_their_mean():
    rows = torch.arange(8.0).repeat(1, 2, 1)
    known = torch.tensor([1, 0, 0, 0, 1, 1, 0, 0], dtype=torch.bool).repeat(1, 2, 1)
    result = run_means(rows, known)
    assert result[0, 1].tolist() == [0, 2, 2, 2, 4, 5, 6.5, 6.5]


def test_an_unknown_path_is_straight_and_its_turn_steady():
    rng = np.random.default_rng(2)
    velocities = rng.standard_normal((3, 40)) * [[1.0], [1.0], [2.0]]
    lost = np.zeros(40, bool)
    lost[9:30] = True
    given = torch.from_numpy(velocities)[None]
    made = straight_path(given, torch.from_numpy(lost)[None], 30.0)[0].numpy()
    np.testing.assert_array_equal(made[:, ~lost], velocities[:, ~lost])
    paths = [integrated_root(each.T, 30.0, np.zeros(2), 0.0) for each in (velocities, made)]
    true, straight = (np.column_stack([each.positions, each.angles]) for each in paths)
    # All frames that are known stand where they stood, and those between on lines.
    np.testing.assert_allclose(straight[:10], true[:10], atol=1e-9)
    np.testing.assert_allclose(straight[30:], true[30:], atol=1e-9)
    np.testing.assert_allclose(np.diff(straight[9:31], axis=0, n=2), 0.0, atol=1e-9)


def test_damage_is_repeatable_and_spreads_down_the_body():
    depends = torch.from_numpy(BodyPoints.from_skeleton(body(), 0).groups())

    def made(seed):
        return made_damage(200, 48, depends, 30.0, torch.Generator().manual_seed(seed))

    known, noise = made(5)
    assert torch.equal(known, made(5)[0])
    assert not torch.equal(known, made(6)[0])
    assert set(known.unique().tolist()) == {0.0, NOISY, 1.0}
    # Where a joint is missing, so are the points of all joints below it.
    chest, head = (body().index(name) + 1 for name in ("Chest", "Head"))
    assert (known[:, head] <= known[:, chest]).all()
    assert ((noise > 0).any(-1) <= (known < 1).any(-1)).all()
    # Windows of each kind: whole, and with all joints missing for a while but never throughout.
    lost = (known == 0).all(1)
    assert lost.any(1).any()
    assert not lost.all(1).any()


def test_every_weight_learns():
    network = MotionAutoencoder(10, 3, EditorNetwork(width=8, hidden=12))
    rows, known = torch.randn(2, 10, 32), torch.ones(2, 3, 32)
    restored, decoded = network(rows, known)
    assert restored.shape == decoded.shape == rows.shape
    assert network.encode(rows, known).shape == (2, 12, 32 // network.stride)
    (restored.square().mean() + decoded.square().mean()).backward()
    assert all(each.grad.abs().sum() > 0 for each in network.parameters())


def test_gaps_before_a_target_end_with_it():
    lengths = []
    for seed in range(40):
        generator = torch.Generator().manual_seed(seed)
        known = target_gap(16, 72, 5, 30.0, generator)
        frames = known.shape[-1]
        assert known.shape == (16, 5, frames)
        assert frames <= 72
        pose, root = known[:, 1:], known[:, 0]
        assert (pose == pose[:, :1]).all()
        pose = pose[:, 0]
        # Known motion, one gap, and one known frame.
        assert (pose[:, :3] == 1).all()
        assert (pose[:, -1] == 1).all()
        assert (pose[:, -2] == 0).all()
        assert (pose.diff(dim=1).abs().sum(1) == 2).all()
        # No velocity leads into the gap, or is known at the target.
        assert (root == torch.minimum(pose, pose.roll(-1, 1)))[:, :-1].all()
        assert (root[:, -1] == 0).all()
        lengths += (pose == 0).sum(1).tolist()
    assert min(lengths) == 3
    assert 50 < max(lengths) <= 60
    assert 10 < np.median(lengths) < 20
