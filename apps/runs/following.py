"""A run in which a body follows a clip of another body: its files and its page."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from deepphase.apps.runs.files import write_motion
from deepphase.corpus.folder_settings import settings_in
from deepphase.errors import ParameterError
from deepphase.formats.load import load
from deepphase.matching.database.across import frames_of_database
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.player.following import Followed, follow
from deepphase.matching.player.playback import Playback
from deepphase.matching.search.moments import placed
from deepphase.motion.resample import resample
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.phase.extractor import load_model
from deepphase.phase.model import PhaseModel
from deepphase.phase.shared_frames import SharedFrames
from deepphase.progress import Progress
from deepphase.viewer.page import save_player
from deepphase.viewer.take import Marker, Take

# Metres between the two bodies.
_BESIDE_M = 1.5


def follow_clip(
    database: MotionDatabase, clip: Path, model: Path, folder: Path, progress: Progress
) -> tuple[Followed, Path]:
    """Write NAME.bvh and NAME.glb of the body that follows, and index.html with both.

    Raises
    ------
    ParameterError
        Where the model has no codebook.
    """
    loaded = load_model(model)
    if not isinstance(loaded, PhaseModel):
        raise ParameterError(
            "a baseline has no codebook that skeletons share",
            hint="give a model of `deepphase train phase --config shared`",
            path=model,
        )
    given = resample(load(clip, **settings_in(clip.parent).reader), database.fps)
    root = root_trajectory(given, find_roles(given.skeleton, clip=given))
    own = frames_of_database(database, loaded)
    playback = Playback.of_database(database, progress)
    found = follow(
        database, playback, own, SharedFrames.of(loaded, [given]), root, f"{clip.stem}_followed"
    )
    write_motion(found.clip, folder, found.clip.name)
    start = placed(given, root.positions[0], 0.0, np.array([_BESIDE_M, 0.0, 0.0]), 0.0)
    take = Take.of(
        {clip.stem: start, "follows": found.clip},
        found.clip.name,
        markers=[
            Marker(f"code {code}", begin / database.fps, stop / database.fps)
            for code, begin, stop in _runs(own.codes[found.rows])
        ],
        note=f"The body of the database follows {clip.stem}: {found.same_codes:.0%} of the frames "
        f"have its code, and the phase is within {found.phase_error:.3f} cycles. "
        + "".join(f"{words[0].upper()}{words[1:]}. " for words in stand_in_words(found)).strip(),
    )
    return found, save_player(folder / "index.html", [take], title=found.clip.name)


def stand_in_words(found: Followed) -> list[str]:
    """What stands in for the codes of the clip that the database lacks, in sentences."""
    return [
        f"the body that follows lacks code {code} of the clip: {_listed(others)}, nearest by "
        "stride and speed, may stand in for it"
        for code, others in found.stand_ins.items()
    ]


def _listed(codes: tuple[int, ...]) -> str:
    return f"code{'s' * (len(codes) > 1)} {', '.join(map(str, codes))}"


def _runs(codes: np.ndarray) -> list[tuple[int, int, int]]:
    """Code, first frame and last frame + 1 of each stretch with one code."""
    edges = np.flatnonzero(np.diff(codes)) + 1
    begins, stops = [0, *edges.tolist()], [*edges.tolist(), len(codes)]
    return [(int(codes[a]), a, b) for a, b in zip(begins, stops, strict=True)]
