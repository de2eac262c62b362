"""Plotly figures: pure functions of arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.figures.learning_curves import training_metrics as training_metrics
    from deepphase.figures.manifold import phase_manifold as phase_manifold
    from deepphase.figures.phase_parameters import (
        parameter_distributions as parameter_distributions,
    )
    from deepphase.figures.phase_parameters import parameters_over_time as parameters_over_time
    from deepphase.figures.phase_parameters import phase_strips as phase_strips
    from deepphase.figures.similarity import frame_distances as frame_distances
    from deepphase.figures.similarity import similarity_map as similarity_map
    from deepphase.figures.theme import Colouring as Colouring

__getattr__, __dir__, __all__ = lazy_names(__name__)
