"""Muon: kernels by orthogonal changes, other weights as by AdamW."""

from __future__ import annotations

import torch

from deepphase.phase.networks.autoencoder import Convolution
from deepphase.phase.networks.muon import Muon


def network() -> torch.nn.Sequential:
    torch.manual_seed(0)
    return torch.nn.Sequential(Convolution(6, 8, 5, 21), torch.nn.Linear(8, 8))


def with_gradients(net: torch.nn.Module) -> None:
    net(torch.randn(21, 4, 6, generator=torch.Generator().manual_seed(1))).square().sum().backward()


def test_changes_of_kernels_are_orthogonal_and_of_one_size():
    net = network()
    kernel = net[0].weight
    before = kernel.detach().clone()
    with_gradients(net)
    Muon(net, lr=1e-3, weight_decay=0.0).step()
    change = (before - kernel.detach()).flatten(0, 1)
    torch.testing.assert_close(change.square().mean().sqrt(), torch.tensor(4e-4), rtol=1e-3, atol=0)
    # The iteration ends with singular values within .7 to 1.2 of each other's mean.
    sizes = torch.linalg.svdvals(change)
    assert sizes.max() < 2.0 * sizes.min()
    assert torch.linalg.svdvals(kernel.grad.flatten(0, 1)).max() > 3.0 * (
        torch.linalg.svdvals(kernel.grad.flatten(0, 1)).min()
    )


def test_other_weights_are_changed_by_adamw():
    ours, theirs = network(), network()
    others = [weight for name, weight in theirs.named_parameters() if name != "0.weight"]
    for net, optimizer in (
        (ours, Muon(ours, lr=1e-3, weight_decay=4.0)),
        (theirs, torch.optim.AdamW(others, lr=1e-3, weight_decay=0.0)),
    ):
        with_gradients(net)
        optimizer.step()
    for (name, mine), other in zip(ours.named_parameters(), theirs.parameters(), strict=True):
        assert torch.equal(mine, other) != (name == "0.weight"), name


def test_decay_shrinks_kernels_alone():
    net = network()
    before = [weight.detach().clone() for weight in net.parameters()]
    for weight in net.parameters():
        weight.grad = torch.zeros_like(weight)
    Muon(net, lr=1e-2, weight_decay=5.0).step()
    for index, (old, new) in enumerate(zip(before, net.parameters(), strict=True)):
        torch.testing.assert_close(new, old * (0.95 if index == 0 else 1.0))


def test_a_state_that_was_saved_goes_on():
    whole, cut = network(), network()
    first, second = Muon(whole, 1e-3, 1.0), Muon(cut, 1e-3, 1.0)
    for net, optimizer in ((whole, first), (cut, second)):
        with_gradients(net)
        optimizer.step()
    resumed = Muon(cut, 1e-3, 1.0)
    resumed.load_state_dict(second.state_dict())
    for net, optimizer in ((whole, first), (cut, resumed)):
        net.zero_grad()
        with_gradients(net)
        optimizer.step()
    for one, other in zip(whole.parameters(), cut.parameters(), strict=True):
        assert torch.equal(one, other)
