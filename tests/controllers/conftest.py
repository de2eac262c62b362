"""Clips for tests of controllers."""

import pytest

from deepphase.controllers.data.samples import ControllerSamples
from deepphase.corpus.clip_store import ClipStore
from tests.controllers.made_controllers import samples_for, walking_store


@pytest.fixture(scope="module")
def store() -> ClipStore:
    return walking_store()


@pytest.fixture(scope="module")
def samples(store) -> ControllerSamples:
    return samples_for("experts", store)
