"""Clips for tests of controllers."""

import pytest

from deepphase.corpus.clip_store import ClipStore
from tests.controllers.made_controllers import walking_store


@pytest.fixture(scope="module")
def store() -> ClipStore:
    return walking_store()
