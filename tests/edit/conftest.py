"""An editor that was trained on a little motion by formula, once for all tests of editing."""

from __future__ import annotations

from typing import Any

import pytest

from deepphase.corpus.clip_store import ClipStore
from deepphase.edit.config import EditorConfig
from deepphase.edit.control_training import train_path
from deepphase.edit.editor import MotionEditor
from deepphase.edit.training import train_editor
from deepphase.synthetic.gait_motion import locomotion
from tests.formula_motion import swings

# Of `train_path`: a few steps.
FEW: dict[str, Any] = {"windows": 320, "batch_size": 16, "accelerator": "cpu"}


def tiny_config(**changes) -> EditorConfig:
    """A config of a network that trains in seconds."""
    tiny = {
        "network.window_s": 1.6,
        "network.width": 32,
        "network.hidden": 32,
        "training.windows": 640,
        "training.batch_size": 16,
        "training.learning_rate": 5e-3,
        "training.held_out": 0.2,
    }
    return EditorConfig.load("masked", **(tiny | changes))


@pytest.fixture(scope="session")
def editor(tmp_path_factory) -> MotionEditor:
    return train_editor(
        swings(),
        tiny_config(**{"training.windows": 32 * 60, "training.batch_size": 32}),
        folder=tmp_path_factory.mktemp("editor"),
        accelerator="cpu",
    )


@pytest.fixture(scope="session")
def walks() -> ClipStore:
    """Walks by formula of a body with elbows and knees."""
    return ClipStore.from_clips([locomotion(seed=seed, seconds=4.0).clip for seed in range(3)])


@pytest.fixture(scope="session")
def walker(tmp_path_factory, walks) -> MotionEditor:
    """An editor of walks; a few steps of training are enough where the body counts."""
    config = tiny_config(**{"training.windows": 160})
    return train_editor(walks, config, folder=tmp_path_factory.mktemp("walker"), accelerator="cpu")


@pytest.fixture(scope="session")
def path_walker(tmp_path_factory, walks, walker) -> MotionEditor:
    """The same with path networks."""
    return train_path(walks, walker, folder=tmp_path_factory.mktemp("path"), **FEW)
