"""Takes of the player, made from clips, their phases and songs."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import FormatError
from deepphase.figures.phase_cloud import PhaseCloud
from deepphase.motion.clip import Clip, velocities
from deepphase.music.audio import SAMPLE_RATE, read_sound
from deepphase.music.cache import song_features
from deepphase.music.features import SongFeatures
from deepphase.music.spectra import MEL_RANGE_HZ
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.parameters import ClipPhases
from deepphase.phase.rings import ring_projection, steadiest
from deepphase.viewer.actor import Actor
from deepphase.viewer.take import Channels, Curve, ManifoldCloud, PlayerSong, Take, point_colours

# Limits of a report's player: clips, and frames of all clips.
_MAX_CLIPS, _MAX_FRAMES = 8, 30_000


def takes_of_clips(
    clips: Sequence[Clip],
    phases: Sequence[ClipPhases] = (),
    model: PhaseExtractor | None = None,
    song: PlayerSong | None = None,
) -> list[Take]:
    """One take per clip with its body and speed, and with a model its phases and manifold path."""
    manifolds = [None] * len(clips) if model is None else _manifolds(model, phases)
    takes = []
    for index, clip in enumerate(clips):
        actor, curves, channels = Actor.from_clip(clip), [], None
        if actor.root_positions is not None and len(actor) > 1:
            speed = np.linalg.norm(velocities(actor.root_positions, actor.fps), axis=-1)
            curves.append(Curve("Speed", "m/s", speed, actor.fps))
        if model is not None:
            own = phases[index]
            channels = Channels(own.parameters, own.fps, own.interior)
        take = Take.from_motions(
            actor,
            channels=channels,
            manifold=manifolds[index],
            curves=curves,
            song=song,
            note=", ".join(f"{in_words(name)}: {value}" for name, value in clip.labels.items()),
        )
        takes.append(take)
    return takes


def in_words(label: str) -> str:
    """A label as a reader sees it: "field1" is a part of files' names that has no other name."""
    words = re.sub(r"^field(?=\d+$)", "name part ", label).replace("_", " ")
    return words[:1].upper() + words[1:]


def takes_of_store(model: PhaseExtractor, store: ClipStore) -> list[Take]:
    """Takes of some clips, spread evenly over a store, within the limits of one page.

    The clip with the steadiest cycle is first, on which a player opens.
    """
    chosen = np.unique(np.linspace(0, len(store) - 1, min(_MAX_CLIPS, len(store))).round())
    clips: list[Clip] = []
    left = _MAX_FRAMES
    for index in chosen.astype(int).tolist():
        if left > 0:
            clips.append(store.clip(index).sliced(0, left))
            left -= len(clips[-1])
    phases = [model.encode(clip) for clip in clips]
    takes = takes_of_clips(clips, phases, model)
    ring = steadiest([each.parameters.manifold() for each in phases], model.fps)
    return takes if ring is None else [takes.pop(ring.manifold), *takes]


def _manifolds(model: PhaseExtractor, phases: Sequence[ClipPhases]) -> list[ManifoldCloud | None]:
    whole = [each for each in phases if len(each)]
    if not whole:
        return [None] * len(phases)
    points = np.concatenate([each.parameters.manifold() for each in whole])
    projection = ring_projection(points)
    cloud = PhaseCloud.from_phases(model, whole, projection)
    colours = point_colours(cloud.by_clip())
    made: list[ManifoldCloud | None] = []
    for each in phases:
        path = projection(each.parameters.manifold())
        about = (cloud.points, path, each.fps, projection.explained, colours, "clip")
        made.append(ManifoldCloud(*about) if len(each) else None)
    return made


# Frames per column of the spectrogram: 30 columns per second match the resolution of the player.
_FRAMES_PER_COLUMN = 2
# Larger files, and parts of songs, are encoded again for the page.
_MAX_BYTES = 24_000_000
# Sample rate of the encoded sound, and samples per block of the encoder.
_RATE, _BLOCK = 44_100, 1 << 16


def song_for_player(path: str | Path) -> PlayerSong:
    """The song of a file; one that only browsers decode has no spectrogram and no beats."""
    song = PlayerSong.from_file(path)
    try:
        features = song_features(path)
    except FormatError:
        return song
    return PlayerSong.from_file(path, **_shown(features, 0.0, features.duration_s))


def part_of_song(path: Path, features: SongFeatures, start_s: float, seconds: float) -> PlayerSong:
    """Sound of a part of a song with its beats and spectrogram."""
    shown = _shown(features, start_s, seconds) | {"name": features.name}
    if start_s == 0 and seconds > features.duration_s - 1.0:
        shown["duration_s"] = features.duration_s
        if path.stat().st_size <= _MAX_BYTES:
            try:
                return PlayerSong.from_file(path, **shown)
            except FormatError:
                # Browsers do not play this format: encode it again.
                pass
    return PlayerSong(_encoded(path, start_s, seconds), "audio/ogg", **shown)


def _shown(features: SongFeatures, start_s: float, seconds: float) -> dict[str, Any]:
    """Spectrogram of a part of a song, and its beats and downbeats if these are reliable."""
    first, last = round(start_s * features.fps), round((start_s + seconds) * features.fps)
    shown: dict[str, Any] = {
        "duration_s": seconds,
        "spectrogram": features.blocks["mel"][first : max(last, first + 1) : _FRAMES_PER_COLUMN].T,
        "band_hz": MEL_RANGE_HZ,
    }
    beats = {"beats": features.beats_s, "downbeats": features.downbeats_s}
    for name, times in beats.items() if features.has_beat else ():
        if times is not None:
            inside = times - start_s
            shown[name] = inside[(inside >= 0) & (inside <= seconds)]
    return shown


def _encoded(path: Path, start_s: float, seconds: float) -> bytes:
    """Part of a song as mono Ogg Vorbis."""
    import soxr

    first = round(start_s * SAMPLE_RATE)
    part = read_sound(path)[first : first + round(seconds * SAMPLE_RATE)]
    part = soxr.resample(part, SAMPLE_RATE, _RATE)
    return ogg_vorbis(part / max(float(np.abs(part).max(initial=0.0)), 1.0), _RATE)


def ogg_vorbis(samples: Array, sample_rate: int) -> bytes:
    """Mono sound in [-1, 1] as the content of an Ogg Vorbis file."""
    import soundfile

    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", sample_rate, 1, format="OGG", subtype="VORBIS") as encoder:
        # The Vorbis encoder puts each write on the stack, so writes are short.
        for start in range(0, len(samples), _BLOCK):
            encoder.write(samples[start : start + _BLOCK])
    return file.getvalue()
