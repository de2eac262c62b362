"""`deepphase match similar`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from apps.edit_files import load_editor, read_clip
from apps.options.groups import ClipOptions
from apps.terminal import Outcome, progress, table
from deepphase.errors import ParameterError


def command(
    clip: Path,
    store: Path,
    editor: Path | None = None,
    model: Path | None = None,
    k: int = 10,
    reading: ClipOptions = ClipOptions(),  # noqa: B008 (frozen)
) -> Outcome:
    """Find the clips of a store that are most similar to a clip, wherever in it things happen.

    Sorted by the distance in the hidden units of an editor. The rank of each clip by its mean pose,
    and by its phases with --model, stands beside it.

    Parameters
    ----------
    clip
        Motion file.
    store
        Store of `deepphase prepare`, of the same skeleton.
    editor
        Editor of `deepphase train editor`, of that skeleton.
    model
        Phase model, for the distance of phases.
    k
        Number of clips.
    """
    from deepphase.corpus.store import open_store
    from deepphase.editing.similarity import similar_clips
    from deepphase.phase.model import PhaseModel

    if k < 1:
        raise ParameterError(f"-k must be positive, not {k}")
    opened, trained = open_store(store), load_editor(editor)
    phases = None if model is None else PhaseModel.load(model)
    given = read_clip(clip, trained, reading)
    with progress() as report_progress:
        found = similar_clips(given, opened, trained, model=phases, progress=report_progress)
    by_pose = _ranks([each.pose for each in found])
    by_phases = _ranks([each.phases or 0.0 for each in found])
    columns = ["rank", "clip", "hidden", "pose (m)", "rank by pose"]
    columns += [] if model is None else ["phases", "rank by phases"]
    rows = []
    for place, each in enumerate(found[:k]):
        cells = [str(place + 1), opened.names[each.index], f"{each.hidden:.3f}"]
        cells += [f"{each.pose:.3f}", str(by_pose[place])]
        if each.phases is not None:
            cells += [f"{each.phases:.3f}", str(by_phases[place])]
        rows.append(tuple(cells))
    table(
        (*columns, "labels"),
        [
            (*row, _labels(opened.labels[each.index]))
            for row, each in zip(rows, found, strict=False)
        ],
    )
    return Outcome(
        {
            "matches": [
                {
                    "clip": opened.names[each.index],
                    "hidden": each.hidden,
                    "pose_m": each.pose,
                    "phases": each.phases,
                }
                for each in found[:k]
            ]
        }
    )


def _ranks(values: list[float]) -> list[int]:
    """The rank of each value, from 1 for the smallest."""
    order = sorted(range(len(values)), key=values.__getitem__)
    return [order.index(place) + 1 for place in range(len(values))]


def _labels(labels: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in labels.items())
