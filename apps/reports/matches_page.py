"""A query and its matches to look at: a table, motion files, and a page that plays them."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.figures.player.actor import Actor
from deepphase.figures.player.page import save_player
from deepphase.figures.player.take import Marker, Take
from deepphase.formats.load import save
from deepphase.motion.clip import Clip
from matching.database.database import MotionDatabase
from matching.database.queries import QueryMoment
from matching.search.moments import Moment, following, placed


def moment_actor(
    clip: Clip,
    frame: int,
    root_position: Array,
    root_angle: float,
    *,
    before_s: float,
    seconds: float,
    place: Array,
    name: str,
    colour: str = "",
) -> Actor:
    """From some seconds before a moment to some behind it, as far as the clip goes.

    Parameters
    ----------
    frame
        The moment; it is shown `before_s` seconds after the take's start.
    root_position, root_angle
        (3,) metres and radians: where the body stands at the moment and which way it faces.
    place
        (3,) metres: where it stands then in the take, facing +Z.
    name, colour
        As of `Actor`.
    """
    start = max(frame - round(before_s * clip.fps), 0)
    stop = min(frame + round(seconds * clip.fps) + 1, len(clip))
    moved = placed(clip.sliced(start, stop), root_position, root_angle, place, 0.0)
    return Actor.of_clip(
        moved, name=name, start_s=before_s - (frame - start) / clip.fps, colour=colour
    )


_APART_M = 1.5
_BEFORE_S = 0.5
# Bodies that find room beside the query.
_SHOWN = 10


def save_matches(
    database: MotionDatabase,
    asked: QueryMoment,
    found: Sequence[Moment],
    folder: Path,
    *,
    seconds: float,
    format: str,
) -> Path:
    """Write matches.csv, query and matches as motion files, and index.html; the page's path.

    Every motion file begins at the matched moment. The page begins half a second before it.
    """
    _write_table(folder / "matches.csv", found)
    _following_query(folder, asked, seconds, database.fps, format)
    for rank, each in enumerate(found, start=1):
        clip = following(database, each.row, seconds)
        save(clip, folder / f"match_{rank:02d}.{format}")
    return save_player(
        folder / "index.html",
        [_take(database, asked, found[:_SHOWN], seconds)],
        title=f"Moments like {asked.clip.name}, frame {asked.frame}",
    )


def _write_table(path: Path, found: Sequence[Moment]) -> None:
    labels = list(dict.fromkeys(name for each in found for name in each.labels))
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["rank", "clip", "frame", "time_s", "distance", *labels])
    for rank, each in enumerate(found, start=1):
        values = [each.labels.get(name, "") for name in labels]
        writer.writerow(
            [rank, each.clip, each.frame, f"{each.time_s:.4f}", f"{each.distance:.6g}", *values]
        )
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())


def _following_query(
    folder: Path, asked: QueryMoment, seconds: float, fps: float, format: str
) -> None:
    stop = min(asked.frame + round(seconds * fps) + 1, len(asked.clip))
    save(asked.clip.sliced(asked.frame, stop), folder / f"query.{format}")


def _take(
    database: MotionDatabase, asked: QueryMoment, found: Sequence[Moment], seconds: float
) -> Take:
    actors = [
        moment_actor(
            asked.clip,
            asked.frame,
            asked.root_position,
            asked.root_angle,
            place=np.zeros(3),
            name="query",
            before_s=_BEFORE_S,
            seconds=seconds,
        )
    ]
    for rank, each in enumerate(found, start=1):
        beside = _APART_M * (-1) ** rank * ((rank + 1) // 2)
        actors.append(
            moment_actor(
                database.clip(int(database.clip_of(each.row))),
                each.frame,
                database.root_positions[each.row],
                float(database.root_angles[each.row]),
                place=np.array([beside, 0, 0]),
                name=f"{rank}",
                before_s=_BEFORE_S,
                seconds=seconds,
            )
        )
    return Take(
        name=f"{asked.clip.name}, frame {asked.frame}",
        actors=actors,
        markers=[Marker("matched moment", _BEFORE_S, _BEFORE_S)],
        note="The query (in the middle) and its matches, side by side at the matched moment: "
        + "; ".join(
            f"{rank}: {each.clip} at {each.time_s:.2f} s, distance {each.distance:.3f}"
            for rank, each in enumerate(found, start=1)
        ),
    )
