"""Assembly of a matcher from trained networks and the database that they replace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from deepphase.arrays import Array
from deepphase.matching.learned.data import LearnedData
from deepphase.matching.learned.matcher import Layer, Matcher, MatcherBody, RestMotion, Starts
from deepphase.matching.player.resting import rest_moments
from deepphase.matching.player.source import database_measures

if TYPE_CHECKING:
    from deepphase.matching.learned.module import LearnedModule

# Seconds of rest in a file, of the longest stretch, and number of states to start from.
_REST_S, _STRETCH_S, _STARTS = 60.0, 8.0, 512
# States may leave the range of the data by this share of it.
_BEYOND = 0.1


def new_matcher(module: LearnedModule, provenance: Mapping[str, Any]) -> Matcher:
    """The matcher of a module whose training has ended, on the processor.

    What networks read and give is no longer normalised: weights and biases contain it.
    """
    data, network, raw = module.data, module.network, module.raw_states()
    features, latents = module.feature_scale.shape[0], module.latent_scale.shape[0]
    one, zero = torch.ones(latents), torch.zeros(latents)
    mean = torch.cat([module.feature_mean, zero])
    scale = torch.cat([module.feature_scale, one])
    conditions = len(data.styles) + 1
    read = (
        torch.cat([mean, torch.zeros(conditions)]),
        torch.cat([scale, torch.ones(conditions)]),
    )
    # The decompressor was trained on latents before these were normalised.
    latent = (
        torch.cat([module.feature_mean, -module.latent_mean / module.latent_scale]),
        torch.cat([module.feature_scale, 1.0 / module.latent_scale]),
    )
    played = raw[torch.from_numpy(data.playable)]
    lowest, highest = played.amin(dim=0), played.amax(dim=0)
    room = _BEYOND * (highest - lowest)
    chosen = data.targets[_spread(len(data.targets), _STARTS)]
    playback, database = data.playback, data.database
    nothing = torch.zeros(features + latents)
    return Matcher(
        config=data.config,
        body=MatcherBody.of_playback(playback, database.body, data.playable),
        layout=database.layout,
        normalisation=database.normalisation,
        values=data.values,
        label=data.label,
        styles=data.styles,
        decompressor=folded(network.decompressor, latent, (module.pose_mean, module.pose_scale)),
        stepper=folded(network.stepper, (mean, scale), (nothing, module.rate_scale * scale)),
        projector=folded(network.projector, read, (nothing, scale)),
        limits=torch.stack([lowest - room, highest + room]).numpy(),
        starts=Starts(raw[chosen].numpy(), data.style_of[chosen]),
        rest=_rest(data, raw),
        data=database_measures(database, playback),
        provenance=dict(provenance),
    )


def folded(
    network: nn.Module, before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor]
) -> tuple[Layer, ...]:
    """Layers that read and give raw values.

    `before` and `after` are mean and scale of the network's inputs and outputs.
    """
    linear = [each for each in network.modules() if isinstance(each, nn.Linear)]
    parts = [(each.weight.detach().T.double(), each.bias.detach().double()) for each in linear]
    mean, scale = (each.double() for each in before)
    weight, bias = parts[0]
    weight = weight / scale[:, None]
    parts[0] = (weight, bias - mean @ weight)
    mean, scale = (each.double() for each in after)
    weight, bias = parts[-1]
    parts[-1] = (weight * scale, bias * scale + mean)
    return tuple(Layer(weight.float().numpy(), bias.float().numpy()) for weight, bias in parts)


def _rest(data: LearnedData, states: Tensor) -> RestMotion:
    """Up to a minute of rest, the longest stretches of each style first."""
    database, fps = data.database, data.database.fps
    keep = (data.label,) if data.label else ()
    moments = rest_moments(database, data.playback, data.playable, keep)
    lengths = np.minimum(moments.stops - moments.starts, round(_STRETCH_S * fps))
    left = dict.fromkeys(moments.styles, 0)
    for style in left:
        left[style] = round(_REST_S * fps / len(left))
    rows: list[Array] = []
    styles: list[str] = []
    for index in np.argsort(-lengths, kind="stable").tolist():
        style = moments.styles[index]
        if left[style] > 0:
            left[style] -= int(lengths[index])
            styles.append(style)
            # The row after the last gives velocities.
            rows.append(moments.starts[index] + np.arange(lengths[index] + 1))
    every = np.concatenate([*rows, np.zeros(0, np.int64)])
    return RestMotion(
        data.poses(every),
        states[every].numpy(),
        np.cumsum([len(each) for each in rows], dtype=np.int64),
        tuple(styles),
        held=moments.held,
    )


def _spread(count: int, most: int) -> Array:
    """(n,) up to `most` indices below `count`, spread evenly."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).astype(np.int64))
