"""A finished training that page Train shows at first, stored beside this module.

`python -m deepphase.apps.demo.sample_training` trains it again, in two minutes.
"""

from __future__ import annotations

import shutil
import time
from dataclasses import replace
from pathlib import Path

from deepphase.apps.terminal import note
from deepphase.apps.training.folder import TrainingRequest
from deepphase.apps.training.run import TrainingRun
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import store_groups
from deepphase.temporary_files import temporary_folder

SAMPLE = Path(__file__).parent / "sample_training"
# Passed on beside the views of the manifold: measures, request, and clips of the points.
_FILES = ("status.json", "points.npz")
_WINDOWS = 36_000


def write_sample_training(store: ClipStore, name: str) -> None:
    """Train on clips as page Train does, and write what it shows of that beside this module."""
    with temporary_folder() as folder:
        store.save(folder / "sample.store")
        group = store_groups(folder / "sample.store")[0].name
        request = TrainingRequest(str(folder / "sample.store"), group, windows=_WINDOWS)
        run = TrainingRun.start(name, request, folder / "run")
        while run.running:
            time.sleep(1.0)
        assert run.finished, run.log()
        SAMPLE.mkdir(exist_ok=True)
        for path in (*(run.folder / each for each in _FILES), *run.folder.glob("view_*.npy")):
            shutil.copy(path, SAMPLE)
        replace(request, store=name).save(SAMPLE)
        note(f"{SAMPLE}: {sum(each.stat().st_size for each in SAMPLE.iterdir()) / 1e3:.0f} kB")


if __name__ == "__main__":
    from deepphase.apps.dashboard.parts.demo import NAME, demo_clips

    write_sample_training(demo_clips(), NAME)
