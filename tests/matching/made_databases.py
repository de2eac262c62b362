"""Small databases: of rows by chance, and of bodies that swing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.features.layout import Feature, FeatureLayout, Normalisation
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.stored_rows import StoreLink
from deepphase.phase.config import PhaseConfig
from deepphase.phase.encoding import make_autoencoder
from deepphase.phase.model import PhaseModel
from deepphase.phase.signals import JointVelocities
from tests.formula_motion import swinging


def rows_database(
    features: np.ndarray, clips: int = 1, offered: np.ndarray | None = None
) -> MotionDatabase:
    """A database of given rows, cut into clips of about equal length."""
    rows, dims = features.shape
    stops = np.linspace(0, rows, clips + 1).astype(np.int64)[1:]
    return MotionDatabase(
        layout=FeatureLayout(Feature("made", kind="track", channels=dims)),
        fps=60.0,
        features=features.astype(np.float32),
        normalisation=Normalisation(np.zeros(dims, np.float32), np.ones(dims, np.float32)),
        range_starts=np.concatenate([[0], stops[:-1]]),
        range_stops=stops,
        clip_names=tuple(f"clip{index}" for index in range(clips)),
        labels=tuple({"side": "left" if index % 2 else "right"} for index in range(clips)),
        root_positions=np.zeros((rows, 3), np.float32),
        root_angles=np.zeros(rows, np.float32),
        phases=None,
        interior=np.ones(rows, bool),
        offered=np.ones(rows, bool) if offered is None else offered,
        links=(StoreLink("", "made"),),
        clip_links=np.zeros(clips, np.int64),
        body={},
        made_with={"model_sha256": None, "end_margin_s": 0.0},
    )


def smooth_rows(rows: int = 3000, dims: int = 12, seed: int = 0) -> np.ndarray:
    """(rows, dims) float32 that wander as frames of motion do, few dimensions large."""
    rng = np.random.default_rng(seed)
    time = np.arange(rows)[:, None] / 60
    waves = np.sin(2 * np.pi * (rng.uniform(0.3, 2, 6) * time + rng.random(6)))
    spread = rng.standard_normal((6, dims)) * np.array([3, 2, 1, 0.5, 0.3, 0.1])[:, None]
    return (waves @ spread + 0.05 * rng.standard_normal((rows, dims))).astype(np.float32)


def swinging_store(count: int = 4, seconds: float = 4.0, first: int = 0) -> ClipStore:
    """Bodies that swing at different frequencies, labelled slow or fast."""
    clips = []
    for index in range(first, first + count):
        clip, _ = swinging(0.8 + 0.1 * index, seconds, seed=index)
        pace = "slow" if index % 2 == 0 else "fast"
        clips.append(replace(clip, labels={"pace": pace}))
    return ClipStore.from_clips(clips)


def untrained_model(store: ClipStore, channels: int = 3) -> PhaseModel:
    """A phase model with the weights of its seed: phases without meaning, but always the same."""
    torch.manual_seed(0)
    config = PhaseConfig.load(
        "default", **{"network.channels": channels, "network.window_s": 1.0, "network.hidden": 8}
    )
    signals = JointVelocities.from_clip(store.clip(0))
    network = make_autoencoder(3 * len(signals.joints), store.fps, config.network)
    return PhaseModel(network, config, signals)
