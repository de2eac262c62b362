"""Passages of clips that are selected on the manifold: found, kept in the address, and played."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deepphase.apps.dashboard.parts.clouds import OpenCloud
from deepphase.apps.dashboard.parts.encodings import Encodings
from deepphase.apps.reports.matches_page import moment_actor
from deepphase.arrays import Array
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.phase.parameters import PhaseParameters
from deepphase.viewer.actor import Actor
from deepphase.viewer.take import Channels, Take

# Shorter gaps between selected frames belong to the passage, as points are every n-th frame.
_MAX_GAP_S = 0.15
# Shorter passages are extended to this length: what is shorter cannot be seen.
_MIN_PASSAGE_S = 0.5
# Limits of the selection that plays, so that the player is ready at once.
MAX_PLAYED_S, MAX_PASSAGES = 90.0, 40
# Passages that play side by side, those of a row, and metres between them.
MAX_BESIDE, _IN_A_ROW, _BESIDE_M = 12, 4, 1.1
# Frames around a passage that the detection of contacts and the smoothing of facings read too.
_MARGIN_S = 0.5


class Passage(NamedTuple):
    """Frames `start` to `stop` - 1 of one clip, at the model's rate."""

    clip: int
    start: int
    stop: int


def points_in(cloud: OpenCloud, passages: Sequence[Passage]) -> Array:
    """Sorted indices of a cloud's points in the passages."""
    inside = np.zeros(len(cloud.clip), bool)
    for clip, start, stop in passages:
        inside |= (cloud.clip == clip) & (cloud.frame >= start) & (cloud.frame < stop)
    return np.flatnonzero(inside)


def passages_of(
    cloud: OpenCloud, points: Array, fps: float, lengths: Sequence[int]
) -> list[Passage]:
    """Contiguous runs of selected frames, clip by clip in order of time.

    `points` are sorted indices of the cloud's points, `lengths` the frames of each clip at `fps`.
    """
    if not points.size:
        return []
    clip, frame = cloud.clip[points], cloud.frame[points]
    step = int(np.median(np.diff(cloud.frame)[np.diff(cloud.clip) == 0])) if len(clip) > 1 else 1
    gap = max(step, round(_MAX_GAP_S * fps))
    ends = np.flatnonzero((np.diff(clip) != 0) | (np.diff(frame) > gap))
    starts, stops = np.r_[0, ends + 1], np.r_[ends, len(points) - 1]
    shortest = round(_MIN_PASSAGE_S * fps)
    passages: list[Passage] = []
    for first, last in zip(starts.tolist(), stops.tolist(), strict=True):
        start, stop = int(frame[first]), int(frame[last]) + 1
        if stop - start < shortest:
            start = max(0, (start + stop - shortest) // 2)
            stop = min(start + shortest, lengths[int(clip[first])])
        before = passages[-1] if passages else None
        if before is not None and before.clip == clip[first] and start <= before.stop:
            passages[-1] = before._replace(stop=max(stop, before.stop))
        else:
            passages.append(Passage(int(clip[first]), start, stop))
    return passages


def passages_text(passages: Sequence[Passage]) -> str:
    """Passages as a part of an address, as in "3:100-160,0:300-330"."""
    return ",".join(f"{clip}:{start}-{stop}" for clip, start, stop in passages)


def read_passages(text: str, lengths: Sequence[int]) -> list[Passage]:
    """The passages in a part of an address that exist in clips of these lengths."""
    found = re.findall(r"(\d{1,6}):(\d{1,9})-(\d{1,9})", text)[:MAX_PASSAGES]
    passages = [Passage(*map(int, numbers)) for numbers in found]
    return [p for p in passages if p.clip < len(lengths) and p.start < p.stop <= lengths[p.clip]]


def playable(passages: Sequence[Passage], fps: float) -> list[Passage]:
    """The first passages, within the limits of a player."""
    chosen, frames = [], round(MAX_PLAYED_S * fps)
    for passage in passages[:MAX_PASSAGES]:
        stop = min(passage.stop, passage.start + frames)
        if stop <= passage.start:
            break
        chosen.append(passage._replace(stop=stop))
        frames -= stop - passage.start
    return chosen


def passages_take(passages: Sequence[Passage], read: Encodings) -> Take:
    """A take of all passages in sequence, each where it was captured."""
    store, fps, actors = read.store, read.extractor.fps, []
    for passage in passages:
        clip = store.clip(passage.clip)
        ratio = clip.fps / fps
        start = min(round(passage.start * ratio), len(clip) - 1)
        stop = max(start + 1, min(round(passage.stop * ratio), len(clip)))
        margin = round(_MARGIN_S * clip.fps)
        begin, end = max(0, start - margin), min(len(clip), stop + margin)
        actors.append(Actor.of(clip.sliced(begin, end)).sliced(start - begin, stop - begin))
    parts = [read.phases(clip)[start:stop] for clip, start, stop in passages]
    inside = np.concatenate([part.interior for part in parts])
    phases = PhaseParameters.joined([part.parameters for part in parts])
    words = f"{len(passages)} passages" if len(passages) > 1 else store.names[passages[0].clip]
    return Take.of(
        actors,
        "Selected frames",
        sequence=True,
        channels=Channels(phases, fps, inside),
        note=f"{words}, {len(inside) / fps:.1f} s",
    )


def beside_take(passages: Sequence[Passage], read: Encodings) -> Take:
    """A take of the first passages at once: bodies side by side that begin in one direction."""
    fps, shown, actors = read.extractor.fps, passages[:MAX_BESIDE], []
    for index, passage in enumerate(shown):
        clip = read.store.clip(passage.clip)
        roles = find_roles(clip.skeleton, description=dict(read.extractor.signals.body), clip=clip)
        frame = min(round(passage.start * clip.fps / fps), len(clip) - 1)
        margin = round(_MARGIN_S * clip.fps)
        first = max(0, frame - margin)
        root = root_trajectory(clip.sliced(first, min(len(clip), frame + margin + 1)), roles)
        row, column = divmod(index, _IN_A_ROW)
        columns = min(_IN_A_ROW, len(shown) - row * _IN_A_ROW)
        actors.append(
            moment_actor(
                clip,
                frame,
                root.positions[frame - first],
                float(root.angles[frame - first]),
                before_s=0.0,
                seconds=(passage.stop - passage.start - 1) / fps,
                place=np.array([(column - (columns - 1) / 2) * _BESIDE_M, 0.0, -row * _BESIDE_M]),
                name=str(index + 1),
            )
        )
    words = f"{len(shown)} of {len(passages)}" if len(passages) > len(shown) else str(len(shown))
    return Take.of(
        actors,
        "Selected frames",
        note=f"{words} passages at once, turned to one direction at their first frame",
    )
