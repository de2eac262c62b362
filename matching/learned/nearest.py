"""Queries of the projector in training, and the rows of the database nearest to them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from deepphase.matching.learned.data import LearnedData

# Shares of the queries with the goals of another row, with another value of the label, and of
# characters that start from rest.
_OTHER_GOALS, _OTHER_STYLE, _STARTS = 0.5, 0.15, 0.1
# Largest noise of features, in deviations; of those with other goals; and of latents.
_NOISE, _OTHER_NOISE, _LATENT_NOISE = 0.6, 0.1, 0.15
_FAR = 1e9


class Queries(NamedTuple):
    """Queries of the projector.

    Parameters
    ----------
    states
        (q, state) normalised: features with the goals, and current latents.
    styles
        (q,) index of the desired value of the label.
    starts
        (q,) bool: rows at rest are not asked for.
    """

    states: Tensor
    styles: Tensor
    starts: Tensor
    conditions: Tensor


def random_queries(
    data: LearnedData, states: Tensor, rows: Tensor, generator: torch.Generator
) -> Queries:
    """Queries around rows (q,): with noise of different sizes, or on the way to other goals."""
    count, device = len(rows), states.device

    def chance(share: float) -> Tensor:
        return torch.rand(count, generator=generator) < share

    noise = torch.randn(count, states.shape[1], generator=generator)
    noise *= torch.rand(count, 1, generator=generator)
    others = torch.randint(0, len(data.targets), (count,), generator=generator)
    exchanged = chance(_OTHER_GOALS)
    size = torch.full_like(noise, _LATENT_NOISE)
    size[:, : data.database.dims] = torch.where(exchanged, _OTHER_NOISE, _NOISE)[:, None]
    made = states[rows] + (size * noise).to(device)
    columns = torch.from_numpy(data.goal_columns).to(device)
    goals = states[torch.from_numpy(data.targets[others.numpy()]).to(device)][:, columns]
    # Goals between those of the row and of the other one.
    share = torch.where(exchanged, torch.rand(count, generator=generator), 0.0).to(device)
    made[:, columns] += share[:, None] * (goals - made[:, columns])
    values = max(len(data.styles), 1)
    own = torch.from_numpy(data.style_of[rows.cpu().numpy()])
    other = torch.randint(0, values, (count,), generator=generator)
    styles = torch.where(chance(_OTHER_STYLE), other, own)
    starts = chance(_STARTS)
    named = functional.one_hot(styles, values)[:, : len(data.styles)]
    conditions = torch.cat([named.float(), starts[:, None].float()], -1)
    return Queries(made, styles.to(device), starts.to(device), conditions.to(device))


class NearestStates:
    """Exact search of the rows that may be jumped to, by features and latents.

    Parameters
    ----------
    data
        The rows.
    states
        (rows, state) normalised states.
    metric
        (state,) factors of their differences.
    """

    def __init__(self, data: LearnedData, states: Tensor, metric: Tensor) -> None:
        self.metric = metric
        idle = data.database.idle(data.targets)
        style_of = data.style_of[data.targets]
        self._rows, self._values, self._squares, self._idle = [], [], [], []
        for style in range(max(len(data.styles), 1)):
            own = style_of == style
            # A value of which no row may be jumped to has those of all.
            own = own if own.any() else np.ones_like(own)
            rows = torch.from_numpy(data.targets[own]).to(states.device)
            values = states[rows] * metric
            self._rows.append(rows)
            self._values.append(values)
            self._squares.append(values.square().sum(-1))
            moving = torch.from_numpy(idle[own]).to(states.device)
            self._idle.append(torch.where(moving & ~moving.all(), _FAR, 0.0))

    def __call__(self, queries: Queries) -> Tensor:
        """(q,) the row nearest to each query."""
        found = torch.empty_like(queries.styles)
        for style in queries.styles.unique().tolist():
            some = queries.styles == style
            asked = queries.states[some] * self.metric
            squares = self._squares[style] + queries.starts[some, None] * self._idle[style]
            squares = squares - 2.0 * asked @ self._values[style].T
            found[some] = self._rows[style][squares.argmin(-1)]
        return found
