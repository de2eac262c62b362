"""Assembly of a matcher from trained networks and the database that they replace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from deepphase.matching.learned.body import MatcherBody
from deepphase.matching.learned.kept_states import KeptStates
from deepphase.matching.learned.matcher import Layer, Matcher, rounded
from deepphase.matching.player.source import database_measures

if TYPE_CHECKING:
    from deepphase.matching.learned.module import LearnedModule


def new_matcher(module: LearnedModule, provenance: Mapping[str, Any]) -> Matcher:
    """The matcher of a module whose training has ended, on the processor.

    What the decompressor reads and gives is no longer normalised: weights and biases contain it.
    States are rounded as in a file.
    """
    data, latents = module.data, module.latents()
    playback, database = data.playback, data.database
    count = torch.zeros(latents.shape[1])
    read = (
        torch.cat([module.feature_mean, count]),
        torch.cat([module.feature_scale, count + 1.0]),
    )
    kept = replace(data.kept, latents=latents)
    features, latents = (
        numbers * step for numbers, step in map(rounded, (kept.features, kept.latents))
    )
    clips, frames = database.clip_of(data.firsts), database.frame_of(data.firsts)
    rows = data.rows_of(np.arange(len(kept)))
    return Matcher(
        config=data.config,
        body=MatcherBody.of_playback(playback, database.body, data.playable),
        layout=database.layout,
        normalisation=database.normalisation,
        values=data.values,
        kept=KeptStates(features, latents, kept.spacing, kept.counts),
        offered=data.offered,
        names=tuple(
            database.clip_names[clip] + (f" from frame {frame}" if frame else "")
            for clip, frame in zip(clips.tolist(), frames.tolist(), strict=True)
        ),
        labels=tuple(database.labels[clip] for clip in clips.tolist()),
        contacts=playback.contacts[rows],
        kinds=np.asarray(database.kinds)[rows],
        decompressor=folded(
            module.network.decompressor, read, (module.pose_mean, module.pose_scale)
        ),
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
