"""Evaluation of phases and motions: pure functions of arrays and clips."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.evaluation.measurement import Measure as Measure
    from deepphase.evaluation.phase_measures import measure_phases as measure_phases
    from deepphase.evaluation.run_measures import measure as measure

__getattr__, __dir__, __all__ = lazy_names(__name__)
