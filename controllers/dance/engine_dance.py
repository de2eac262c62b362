"""Files for engines in which a dancer dances: metadata of its network, and music of songs."""

from __future__ import annotations

import json
from pathlib import Path

from deepphase.arrays import Array
from deepphase.controllers.dance.dancer import Dancer
from deepphase.formats.npz.archive import write_npz
from deepphase.music.features import FPS, SongFeatures

FORMAT, VERSION = "deepphase.dance_music", 1


def dance_metadata(dancer: Dancer) -> dict[str, str]:
    """The metadata entry ``dance`` of a dancer's ONNX file, as text; see docs/engines.md."""
    styles = () if dancer.styles is None else dancer.styles.names
    content = {
        "music": list(dancer.music.values),
        "styles": list(styles),
        "path_shares": dict(dancer.path_shares),
        "bandwidth_hz": dancer.reference.bandwidth_hz,
    }
    return {"dance": json.dumps(content)}


def save_dance_music(dancer: Dancer, song: SongFeatures, path: str | Path) -> Array:
    """Write what a song gives a dancer's network, as an ``.npz`` that NumPy reads.

    The file has ``music`` (frames, values) float32, normalised, 60 frames a second, whose values
    are those of the metadata entry ``dance``; ``beats_s`` and ``downbeats_s`` in seconds;
    ``style``, the style that fits the song, empty without styles; and ``meta``, JSON.

    Returns
    -------
    ``music``.

    Raises
    ------
    CheckpointError
        If the file cannot be written.
    """
    counted = dancer.music.in_tempo_range(song)
    music = dancer.music.rows(song)
    style = None if dancer.styles is None else dancer.styles.choose(song, None).style
    meta = {
        "format": FORMAT,
        "version": VERSION,
        "song": song.name,
        "fps": FPS,
        "values": list(dancer.music.values),
    }
    arrays = {
        "music": music,
        "beats_s": counted.beats_s,
        "downbeats_s": () if counted.downbeats_s is None else counted.downbeats_s,
        "style": style or "",
        "meta": json.dumps(meta),
    }
    write_npz(path, arrays)
    return music
