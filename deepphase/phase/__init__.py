"""Phases of motion: parameters, periodic autoencoders, training, models and baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepphase.packages import lazy_names

if TYPE_CHECKING:
    from deepphase.phase.config import NetworkConfig as NetworkConfig
    from deepphase.phase.encoding import register_autoencoder as register_autoencoder
    from deepphase.phase.extractor import PhaseExtractor as PhaseExtractor
    from deepphase.phase.extractor import fit_phases as fit_phases
    from deepphase.phase.extractor import load_extractor as load_extractor
    from deepphase.phase.health import Health as Health
    from deepphase.phase.networks.autoencoder import Encoding as Encoding
    from deepphase.phase.networks.autoencoder import PeriodicAutoencoder as PeriodicAutoencoder
    from deepphase.phase.parameters import ManifoldProjection as ManifoldProjection
    from deepphase.phase.parameters import save_phases as save_phases
    from deepphase.phase.signal_corpus import SignalCorpus as SignalCorpus
    from deepphase.phase.streaming import PhaseStream as PhaseStream
    from deepphase.phase.training.data import PhaseData as PhaseData
    from deepphase.phase.training.module import PhaseModule as PhaseModule

__getattr__, __dir__, __all__ = lazy_names(__name__)
