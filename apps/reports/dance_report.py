"""Report of a dance to a song: motion files, player with sound, page and measures."""

from __future__ import annotations

import re
from pathlib import Path

from deepphase.apps.dance_sources import DanceSource
from deepphase.apps.reports import page as reports
from deepphase.apps.reports.player import part_of_song
from deepphase.evaluation.dance import DANCE_MEASURES, DanceFinding, dance_findings, measure_dance
from deepphase.evaluation.measurement import Measure, measures_of
from deepphase.motion.root_trajectory import RootMotion
from deepphase.steering.dance import DanceRequest, DanceResult
from deepphase.viewer.take import Channels, Curve, Gating, Marker, Take

_RESTARTS = ("1/min", "less", "restarts of the dance because it had stalled")


def dance_stem(song: str) -> str:
    """The stem of a dance's files: the song's name, in characters that every program accepts."""
    return re.sub(r"[^\w.-]", "_", song).strip("._")[:80] or "dance"


def dance_report(
    dance: DanceResult,
    source: DanceSource,
    request: DanceRequest,
    song: Path,
    folder: Path,
    root_motion: RootMotion = "auto",
) -> tuple[Path, list[Measure], tuple[DanceFinding, ...]]:
    """Write all files of a dance into a folder, index.html last; return it with the measures."""
    stem = dance_stem(dance.song.name)
    values: dict[str, float] = {}
    if dance.clip.duration >= 1.0:
        values |= measure_dance(dance.clip, dance.song, dance.start_s)
    if dance.restarts_s is not None:
        values["restarts"] = len(dance.restarts_s) / (dance.clip.duration / 60.0)
    recorded = {} if source.reference is None else source.reference.values
    measures = measures_of({**DANCE_MEASURES, "restarts": _RESTARTS}, values, recorded)
    findings = dance_findings(values, recorded)
    files = reports.write_motion(dance.motion(root_motion), folder, stem)
    if dance.phases is not None:
        name = f"{stem}.phases.csv"
        table = reports.frame_table(dance.clip.fps, reports.phase_columns(dance.phases))
        reports.write_table(folder / name, list(table), zip(*table.values(), strict=True))
        files.append((name, "phase, frequency and amplitude of every channel and frame"))
    reports.save_report(
        folder,
        {**source.made_with, "seed": request.seed},
        {
            "song": dance.song.name,
            "song_sha256": dance.song.sha256,
            "start_s": dance.start_s,
            "seconds": dance.clip.duration,
            "fps": dance.clip.fps,
            "tempo_bpm": dance.song.tempo_bpm,
            "beat_confidence": dance.song.beat_confidence,
            "beats_per_bar": dance.song.beats_per_bar,
        },
        request.seed,
        reports.measure_entries(
            measures, len(dance.clip), {"song": dance.song.name}, key="recorded"
        ),
        notes=list(dance.notes),
    )
    page = reports.Page(
        f"A dance to “{dance.song.name}”", f"{dance.song.rhythm}. {source.credit}".strip()
    )
    page.add_takes([dance_take(dance, song)])
    page.add_list([finding.text for finding in findings] + list(dance.notes))
    page.add_measures({"this dance": measures}, reference="recorded dances")
    page.add_files(files)
    return page.write(folder / "index.html"), measures, findings


def dance_take(dance: DanceResult, song: Path) -> Take:
    """Take of the player for a dance, with its sound."""
    clip = dance.clip
    curves = []
    for name, values in dance.tracks.items():
        title, _, unit = name.removesuffix(")").partition(" (")
        if values.dtype.kind == "f":
            curves.append(Curve(title, unit, values, clip.fps))
    return Take.from_motions(
        {"dancer": clip},
        dance.song.name,
        channels=None if dance.phases is None else Channels(dance.phases, clip.fps),
        gating=None if dance.gating is None else Gating(dance.gating, clip.fps),
        curves=curves,
        markers=[Marker(words, second, second) for words, second in dance.marks],
        song=part_of_song(song, dance.song, dance.start_s, clip.duration),
        note=" ".join(dance.notes),
    )
