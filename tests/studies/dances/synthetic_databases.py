"""Dances out of databases of made dances, to made songs: true beats, and a truth to compare with.

A round makes dances to songs of tempi from 85 to 140 beats a minute, trains a small phase model
on them, builds the databases, and dances to songs never heard. Beats are the true ones; the truth
is the made dance to the same song, chance the song shifted against the dance. Under OUT/round_N
lie the model, the songs, every dance as BVH with a link to its song, and a JSON of each kind's
measures: what is there already is taken as it is, so that a run that was cut off goes on. A round
takes two minutes on an idle core.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
import torch

from deepphase.atomic_write import atomic_write
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.evaluation.dance_beats import beat_alignment, beat_alignment_by_chance
from deepphase.evaluation.dance_measures import DanceScale, measure_dance
from deepphase.matching.music.song_tracks import ClipSongTracks, track_features
from deepphase.motion.clip import Clip
from deepphase.music.features import SongFeatures, features_of
from deepphase.phase.config import PhaseConfig
from deepphase.phase.model import PhaseModel
from deepphase.phase.training.train import train_phase
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.song import make_song
from tests.studies.dances.dance_databases import LAYOUT, Databases, Kind, pieces, write_dance

TRUTH = "truth"
_TEMPI_BPM, _SECONDS = (85.0, 140.0), 30.0
# Numbers of a round's songs: its dances first, then those that are danced to.
_ROUND, _NEW = 10_000, 5_000
_DRAWS = 5_000

Measures = dict[str, Any]


@dataclass(frozen=True)
class MadeSettings:
    """What a round is made of.

    Parameters
    ----------
    dances, songs
        In the databases; danced to.
    song_seeds
        Seeds of the search that each song is danced with.
    windows
        That the phase model is shown in training.
    """

    dances: int = 24
    songs: int = 6
    song_seeds: int = 2
    windows: int = 60_000


@dataclass(frozen=True, eq=False)
class MadeSong:
    """A song, its true beats in seconds, and the dance that was made to it."""

    heard: SongFeatures
    beats_s: np.ndarray
    truth: Clip


def compare_made(
    kinds: Mapping[str, Kind], settings: MadeSettings, seed: int, rounds: int, output: Path
) -> None:
    """Dance and measure what is missing of so many rounds; print the tables."""
    torch.set_num_threads(1)
    _check_same(output / "settings.json", {**asdict(settings), "seed": seed})
    found: list[Measures] = []
    for number in range(rounds):
        folder, began = output / f"round_{number}", time.perf_counter()
        files = {name: folder / f"{name}.json" for name in (TRUTH, *kinds)}
        missing = {name: kinds[name] for name in kinds if not files[name].exists()}
        if missing or not files[TRUTH].exists():
            _danced_round(missing, settings, [seed, number], folder)
            print(f"round {number}: {time.perf_counter() - began:.0f} s", flush=True)
        for name, file in files.items():
            rows = json.loads(file.read_bytes())
            found += [{**row, "kind": name, "round": number} for row in rows]
    print("\n".join(tables(found)))


def _danced_round(
    kinds: Mapping[str, Kind], settings: MadeSettings, seed: list[int], folder: Path
) -> None:
    drawn = np.random.default_rng(seed)
    first = _ROUND * seed[1] + 1_000_000 * seed[0]
    dances = _made_songs(drawn.uniform(*_TEMPI_BPM, settings.dances), first, None)
    new = list(_made_songs(drawn.uniform(*_TEMPI_BPM, settings.songs), first + _NEW, folder))
    truths = [measure_dance(each.truth) for each in new]
    scale = DanceScale.of(truths)
    rows = []
    for song in new:
        write_dance(song.truth, folder / TRUTH, folder / "songs")
        rows.append(_measured(song.truth, song, scale))
    _keep(rows, folder / f"{TRUTH}.json")
    if not kinds:
        return
    danced = list(dances)
    store = ClipStore.from_clips([each.truth for each in danced])
    heard = ClipSongTracks(
        store,
        {each.truth.source.song: each.heard for each in danced},
        (),
        tuple(track_features(LAYOUT)),
    )
    databases = Databases(heard, dict(kinds), _phase_model(store, settings.windows, seed, folder))
    for name in kinds:
        rows = []
        for song in new:
            for song_seed in range(settings.song_seeds):
                made, spent = databases.dance(name, song.heard, 100 * seed[1] + song_seed)
                clip = replace(
                    made.clip,
                    source=song.truth.source,
                    name=f"{song.truth.name}_seed_{song_seed}",
                )
                write_dance(clip, folder / name, folder / "songs")
                row = _measured(clip, song, scale)
                row["jumps"] = len(pieces(made)) - 1
                row["off_speed"] = float(np.abs(made.rates - 1.0).mean())
                row["spent_s"] = spent
                rows.append(row)
        _keep(rows, folder / f"{name}.json")


def _made_songs(tempi: Sequence[float], first: int, folder: Path | None) -> Iterator[MadeSong]:
    """Songs with dances to them; written into a folder's `songs` where one is given."""
    for number, bpm in enumerate(tempi, start=first):
        song = make_song(number, _SECONDS, tempo_bpm=float(bpm))
        name = f"made_{number}.flac"
        if folder is not None:
            (folder / "songs").mkdir(parents=True, exist_ok=True)
            soundfile.write(folder / "songs" / name, song.samples, song.sample_rate)
        clip = dance(song, number).clip
        clip = replace(
            clip,
            name=Path(name).stem,
            source=replace(clip.source, song=name, path=name),
            labels={**clip.labels, "tempo_bpm": f"{bpm:.1f}"},
        )
        yield MadeSong(features_of(song.samples, name=name), song.beats, clip)


def _phase_model(store: ClipStore, windows: int, seed: list[int], folder: Path) -> PhaseModel:
    file = folder / "dances.model"
    if not file.exists():
        recipe = PhaseConfig.load("default", **{"network.channels": 5})
        training = replace(recipe.training, windows=windows, seed=seed[1])
        model = train_phase(
            store, replace(recipe, training=training), folder=folder / "training", accelerator="cpu"
        )
        assert model is not None, "one process trains"
        model.save(file)
    return PhaseModel.load(file)


def _measured(clip: Clip, song: MadeSong, scale: DanceScale) -> Measures:
    dance = measure_dance(clip)
    own = beat_alignment(dance.beats, song.beats_s, dance.seconds)
    chance = beat_alignment_by_chance(dance.beats, song.beats_s, dance.seconds)
    return {
        "song": song.truth.name,
        "tempo_bpm": float(song.truth.labels["tempo_bpm"]),
        "seconds": dance.seconds,
        "by_motion": own.by_motion,
        "by_motion_chance": chance.by_motion,
        "by_music": own.by_music,
        "by_music_chance": chance.by_music,
        "sliding": float(dance.sliding.mean()) if len(dance.sliding) else 0.0,
        "standing": scale.standing(dance),
    }


def tables(found: Sequence[Measures]) -> list[str]:
    """Markdown: a line a kind, of means over songs; brackets are 95 % over songs.

    A share is of the truth's mean over the same songs, so that both are resampled together.
    """
    truth = [row for row in found if row["kind"] == TRUTH]
    kinds = list(dict.fromkeys(row["kind"] for row in found))
    lines = [
        "| | motion beats; chance | share of the truth's | by round | music beats; chance "
        "| share of the truth's | sliding, cm/s | standing |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind in kinds:
        rows = [row for row in found if row["kind"] == kind]
        cells = [kind]
        for key in ("by_motion", "by_music"):
            mean, chance = (_interval(rows, each) for each in (key, f"{key}_chance"))
            cells.append(f"{_stated(mean)}; {chance[0]:.3f}")
            cells.append(_stated(_interval(rows, key, truth)))
            if key == "by_motion":
                cells.append(", ".join(f"{each:.3f}" for each in _by_round(rows, truth, key)))
        cells.append(_stated([100 * each for each in _interval(rows, "sliding")], 2))
        cells.append(_stated(_interval(rows, "standing")))
        lines.append(f"| {' | '.join(cells)} |")
    for kind in (each for each in kinds if each != TRUTH):
        rows = [row for row in found if row["kind"] == kind]
        seconds = sum(row["seconds"] for row in rows)
        jumps = max(sum(row["jumps"] for row in rows), 1)
        lines.append(
            f"{kind}: {len(rows)} dances to {len({row['song'] for row in rows})} songs, "
            f"a jump in {seconds / jumps:.1f} s, playback "
            f"{100 * np.mean([row['off_speed'] for row in rows]):.1f} % off the captured speed, "
            f"{seconds / sum(row['spent_s'] for row in rows):.1f} times real time"
        )
    return lines


def _by_round(rows: Sequence[Measures], truth: Sequence[Measures], key: str) -> list[float]:
    numbers = sorted({row["round"] for row in rows})
    return [
        _interval(
            [row for row in rows if row["round"] == number],
            key,
            [row for row in truth if row["round"] == number],
        )[0]
        for number in numbers
    ]


def _interval(
    rows: Sequence[Measures], key: str, truth: Sequence[Measures] | None = None
) -> list[float]:
    """Mean over songs, as a share of the truth's where that is given, and its 95 % interval."""
    songs = sorted({row["song"] for row in rows})
    values = np.array([_song_mean(rows, song, key) for song in songs])
    scale = np.ones(len(songs))
    if truth is not None:
        scale = np.array([_song_mean(truth, song, key) for song in songs])
    picks = np.random.default_rng(0).integers(0, len(songs), (_DRAWS, len(songs)))
    drawn = values[picks].mean(1) / scale[picks].mean(1)
    return [float(values.mean() / scale.mean()), *map(float, np.percentile(drawn, (2.5, 97.5)))]


def _song_mean(rows: Sequence[Measures], song: str, key: str) -> float:
    return float(np.mean([row[key] for row in rows if row["song"] == song]))


def _stated(interval: Sequence[float], digits: int = 3) -> str:
    mean, low, high = (f"{each:.{digits}f}" for each in interval)
    return f"{mean} [{low}, {high}]"


def _keep(content: Any, file: Path) -> None:
    with atomic_write(file) as out:
        out.write(json.dumps(content, indent=1).encode())


def _check_same(file: Path, settings: Measures) -> None:
    """Keep what the folder is of; refuse to go on with something else."""
    if file.exists() and json.loads(file.read_bytes()) != settings:
        raise ParameterError(
            f"begun with other settings: {json.loads(file.read_bytes())}",
            hint="give the same, or another folder",
            path=file,
        )
    _keep(settings, file)
