"""Controllers and databases on grounds that they were not made on: feet, paths, survival.

python -m tests.studies.walking_on_ground run FILE.. [--grounds flat,rocks] [--seconds 15]
python -m tests.studies.walking_on_ground train STORE GROUND OUT [--model MODEL] [--seed N]

`run` walks controllers with heights on the grounds, and lays the runs of others on them. `train`
trains the paper's baseline: the heights are those of planes through the contacts of each gait
cycle, deformed to touch them, in place of the ground that the clips were laid on.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from deepphase.apps.runs.request import RunRequest, measured_run
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.data.controller_data import ControllerData
from deepphase.controllers.runtime.controller import Controller
from deepphase.controllers.runtime.start import CharacterSource
from deepphase.controllers.training.train import train_controller
from deepphase.corpus.store import open_store
from deepphase.formats.array_file import read_header
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.database.on_ground import has_ground_heights
from deepphase.matching.player.moment_filter import MomentFilter
from deepphase.matching.player.playback import Playback
from deepphase.matching.player.player import PlayerSettings
from deepphase.matching.player.source import PlayerSource, database_measures
from deepphase.matching.search.searcher import open_searcher
from deepphase.motion.clip import Clip
from deepphase.motion.roles import Roles
from deepphase.phase.extractor import load_extractor
from deepphase.steering.made_paths import made_path
from deepphase.terrain.fitting import PatchLibrary, grounds_of_clip
from deepphase.terrain.foot_track import FootTrack
from deepphase.terrain.ground_shapes import made_ground
from deepphase.terrain.grounded_clip import ClipGrounds, GroundedClip
from deepphase.terrain.heightmap import Heightmap

_SHOWN = ("deep", "floating", "depth", "depth_95", "gap", "gap_95", "swing_deep", "sliding")
_FLAT = Heightmap(np.zeros((1, 1)), 1.0, name="flat")


def sources_of(file: Path, walked: bool) -> Callable[[Heightmap], Any]:
    """Function from ground to the source of runs of a file.

    Controllers and databases without heights run on a flat floor, and their runs are laid, unless
    databases are `walked`.
    """
    if read_header(file)["format"] == "deepphase.controller":
        controller = Controller.load(file)
        heights = controller.schema.config.heights
        return lambda ground: CharacterSource(controller, ground=ground if heights else None)
    database = MotionDatabase.load(file).with_kinds()
    playback = Playback.of_database(database)
    searcher = open_searcher(database, "exact")
    data = database_measures(database, playback)
    settings = PlayerSettings(moments=MomentFilter())
    heights = walked or has_ground_heights(database.layout)
    return lambda ground: PlayerSource(
        database,
        playback,
        searcher,
        settings=settings,
        data=data,
        ground=ground if heights else None,
    )


def run(files: list[Path], grounds: list[str], seconds: float, seed: int, walked: bool) -> None:
    """Print a line for each file, ground and path."""
    for file in files:
        source_on = sources_of(file, walked)
        for name in grounds:
            ground = _FLAT
            if name != "flat":
                ground = made_ground(name, seed=seed, size_m=40.0, spacing_m=0.05)
            for path in ("wave", "circle"):
                begin = time.process_time()
                source = source_on(ground)
                goal = made_path(path, source.travelling_speed, seconds)
                request = RunRequest(seconds=seconds, characters=3, ground=ground)
                made = measured_run(source, request, goal)
                feet = [each.ground for each in made.on_ground if each.ground is not None]
                means = {
                    field: np.mean([getattr(each, field) for each in feet]) for field in _SHOWN
                }
                measures = (
                    *("path_error", "clock_error", "survived", "runaways"),
                    *("jerk_ratio", "jerk_ratio_below_8_hz"),
                )
                values = {each: made.value(each) for each in measures}
                found = {key: value for key, value in (means | values).items() if value is not None}
                texts = [f"{key} {value:.4g}" for key, value in found.items()]
                cpu = time.process_time() - begin
                print(file.stem, name, path, *texts, f"cpu {cpu:.0f} s", flush=True)


def on_footsteps(original: GroundedClip, track: FootTrack) -> GroundedClip:
    """The same motion on ground that knows its footsteps alone."""
    (ground,) = grounds_of_clip(track, PatchLibrary.level(), 1)
    standing = track.places[track.contacts]
    raised = np.median(original.ground.at(standing) - ground.at(standing)) if len(standing) else 0.0
    return replace(original, ground=ground.shifted(float(raised)))


def train(
    store: Path, ground: Path, out: Path, model: Path | None, samples: int, seed: int
) -> None:
    """Train the baseline."""
    laid = GroundedClip.of_clip

    def of_clip(clip: Clip, ground: Heightmap, roles: Roles, *, laid_: bool = True) -> GroundedClip:
        made = laid(clip, ground, roles, laid=laid_)
        return on_footsteps(made, FootTrack.of_clip(made.clip, contacts=made.contacts))

    changes = {
        "network.hidden": 256,
        "training.samples": samples,
        "training.seed": seed,
        "schema.heights": True,
    }
    config = ControllerConfig.load("experts", **changes)
    with mock.patch.object(
        GroundedClip, "of_clip", lambda clip, ground, roles, *, laid: of_clip(clip, ground, roles)
    ):
        data = ControllerData.read(
            open_store(store),
            config,
            None if model is None else load_extractor(model),
            grounds=ClipGrounds.read([ground]),
        )
    made = train_controller(data, config, folder=f"{out}.unfinished")
    assert made is not None
    made.save(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parts = parser.add_subparsers(dest="part", required=True)
    runs, training = parts.add_parser("run"), parts.add_parser("train")
    runs.add_argument("files", type=Path, nargs="+")
    runs.add_argument("--walked", action="store_true")
    runs.add_argument("--grounds", default="flat,hills,stairs,rocks,pits,beam,platforms")
    runs.add_argument("--seconds", type=float, default=15.0)
    runs.add_argument("--seed", type=int, default=5)
    for name in ("store", "ground", "out"):
        training.add_argument(name, type=Path)
    training.add_argument("--model", type=Path)
    training.add_argument("--samples", type=int, default=150_000)
    training.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if given.part == "run":
        run(given.files, given.grounds.split(","), given.seconds, given.seed, given.walked)
    else:
        train(given.store, given.ground, given.out, given.model, given.samples, given.seed)


if __name__ == "__main__":
    main()
