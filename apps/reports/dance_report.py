"""A dance to a song: files, a page that plays it with its sound, and its measures."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from apps.reports.dance_made import Dance
from apps.reports.dance_sound import danced_song
from apps.reports.evaluation_report import FORMAT, VERSION
from apps.reports.page import Link, Page
from apps.runs.files import write_motion, write_table
from controllers.dance_reference import DanceReference
from deepphase.figures.player.actor import Actor
from deepphase.figures.player.page import save_player
from deepphase.figures.player.take import Channels, Take
from deepphase.progress import Progress
from deepphase.replacing import replacing

_BAR = (
    "{} of the {}-beat bar, 20 s windows; recorded dances follow the bar more than the beat",
    "the same where the song is faster or slower by 13 to 21 %",
)
# Measure -> (unit, definition).
MEASURES = {
    "by_motion": (
        "",
        "beat alignment over motion beats: mean of exp(-d^2 / (2 s^2)), d to the nearest beat of "
        "the song, s = 0.05 s (AIST++)",
    ),
    "by_motion_chance": ("", "the same with the song shifted round the dance"),
    "by_music": ("", "beat alignment over music beats: d to the nearest beat of the movement"),
    "by_music_chance": ("", "the same with the song shifted round the dance"),
    "beat_height": ("", "share of the hips' height that a sinusoid of the beat explains"),
    "beat_height_shifted": ("", _BAR[1]),
    "bar_3_speed": ("", _BAR[0].format("vector strength of the joints' speed", 3)),
    "bar_3_speed_shifted": ("", _BAR[1]),
    "bar_3_height": ("", _BAR[0].format("share of the hips' height explained by a sinusoid", 3)),
    "bar_3_height_shifted": ("", _BAR[1]),
    "bar_4_speed": ("", _BAR[0].format("vector strength of the joints' speed", 4)),
    "bar_4_speed_shifted": ("", _BAR[1]),
    "bar_4_height": ("", _BAR[0].format("share of the hips' height explained by a sinusoid", 4)),
    "bar_4_height_shifted": ("", _BAR[1]),
    "speed": ("m/s", "mean over joints and frames"),
    "accents": ("1/s", "beats of the movement a second"),
    "turning": ("degrees/s", "mean over joints of local rotation"),
    "jerk": ("m/s3", "mean over points of the body and frames"),
    "sliding": ("m/s", "mean speed over the ground of feet in contact"),
    "skating": ("", "the same over the recorded dances' largest"),
    "foot_contact": ("", "physical foot contact score (EDGE); less is better"),
    "standing": ("", "share of seconds slower than a tenth of the recorded dances' usual speed"),
    "broken": ("", "share of seconds faster than 1.5 times the recorded dances' fastest"),
    "begun_anew": ("1/min", "how often it had come to a halt and went on with another moment"),
}


@dataclass(frozen=True)
class DanceReport:
    """What was written, and its table as texts."""

    page: Path
    columns: list[str]
    rows: list[list[str]]


def dance_report(
    dance: Dance, song: Path, folder: Path, progress: Progress | None = None
) -> DanceReport:
    """Write all files of a dance into a folder, index.html last.

    Parameters
    ----------
    song
        The song's file.

    Raises
    ------
    ParameterError
        Where the page would be too large for a browser.
    CheckpointError
        Where the folder cannot be written.
    """
    stem = _stem(dance.song.name)
    steps = ("measuring", "writing motion", "writing the page")

    def tell(step: int) -> None:
        if progress is not None:
            progress("finishing", step, len(steps), steps[step] if step < len(steps) else "")

    tell(0)
    values = _values(dance)
    tell(1)
    files = write_motion(dance.clip, folder, stem)
    if dance.phases is not None:
        name = f"{stem}.phases.csv"
        write_table(folder / name, *_phase_table(dance))
        files.append((name, "phase, frequency and amplitude of every channel and frame"))
    tell(2)
    title = f"A dance to {dance.song.name}"
    save_player(folder / "player.html", [dance_take(dance, song)], title=title)
    columns, rows = _table(dance, values)
    content = {
        "format": FORMAT,
        "version": VERSION,
        "made_with": {"deepphase": metadata.version("deepphase"), **dance.made_with},
        "data": _song_data(dance),
        "seeds": [dance.made_with.get("seed", 0)],
        "measures": [
            {
                "name": name,
                "definition": definition,
                "value": values[name],
                "unit": unit,
                "n": len(dance.clip),
                "by": {"song": dance.song.name},
                **_recorded(dance.reference, name),
            }
            for name, (unit, definition) in MEASURES.items()
            if name in values
        ],
        "notes": list(dance.notes),
    }
    with replacing(folder / "report.json") as file:
        file.write(json.dumps(content, indent=1).encode())
    page = _page(title, dance, columns, rows, files).write(folder / "index.html")
    tell(3)
    return DanceReport(page, columns, rows)


def dance_take(dance: Dance, song: Path) -> Take:
    """A dance as the player shows it, with its sound."""
    clip = dance.clip
    return Take(
        name=dance.song.name,
        actors=[Actor.of_clip(clip, name="dancer")],
        channels=None if dance.phases is None else Channels(dance.phases, clip.fps),
        gating=dance.gating,
        curves=dance.curves,
        markers=dance.markers,
        song=danced_song(song, dance.song, dance.start_s, clip.duration),
        note=" ".join(dance.notes),
    )


def _values(dance: Dance) -> dict[str, float]:
    clip = dance.clip
    if clip.duration < 1.0:
        return {}
    reference = dance.reference or DanceReference.of([clip], [dance.song])
    found = reference.measured(clip, dance.song, dance.start_s)
    if dance.reference is None:
        # Against itself these say nothing.
        for name in ("standing", "broken", "skating"):
            found.pop(name, None)
    if dance.anew_s is not None:
        found["begun_anew"] = len(dance.anew_s) / (clip.duration / 60.0)
    return found


def _recorded(reference: DanceReference | None, name: str) -> dict[str, float]:
    values = {} if reference is None else reference.values
    return {"recorded": values[name]} if name in values else {}


def _table(dance: Dance, values: Mapping[str, float]) -> tuple[list[str], list[list[str]]]:
    recorded = {} if dance.reference is None else dance.reference.values
    columns = ["measure", "unit", "this dance", *(["recorded dances"] if recorded else [])]
    rows = []
    for name, (unit, _) in MEASURES.items():
        if name not in values:
            continue
        row = [name.replace("_", " "), unit, f"{values[name]:.3g}"]
        if recorded:
            row.append(f"{recorded[name]:.3g}" if name in recorded else "")
        rows.append(row)
    return columns, rows


def _song_data(dance: Dance) -> dict[str, Any]:
    song = dance.song
    return {
        "song": song.name,
        "song_sha256": song.sha256,
        "start_s": dance.start_s,
        "seconds": dance.clip.duration,
        "fps": dance.clip.fps,
        "tempo_bpm": song.tempo_bpm,
        "beat_confidence": song.beat_confidence,
        "beats_per_bar": song.beats_per_bar,
    }


def _phase_table(dance: Dance) -> tuple[list[str], list[list[object]]]:
    phases = dance.phases
    assert phases is not None
    names = ("phase", "frequency", "amplitude")
    columns = ["t", *(f"{name}_{i}" for name in names for i in range(phases.channels))]
    values = [getattr(phases, name) for name in names]
    return columns, [
        [f"{frame / dance.clip.fps:.4f}", *(f"{v:.5f}" for each in values for v in each[frame])]
        for frame in range(len(dance.clip))
    ]


def _page(
    title: str,
    dance: Dance,
    columns: list[str],
    rows: list[list[str]],
    files: list[tuple[str, str]],
) -> Page:
    song = dance.song
    beats = (
        f"{song.tempo_bpm:.0f} beats a minute, confidence {song.beat_confidence:.2f}"
        if len(song.beats_s)
        else "no beat"
    )
    metre = f", bars of {song.beats_per_bar}" if song.beats_per_bar else ""
    page = Page(title, f"{song.name}: {beats}{metre}. player.html plays the dance with its sound.")
    if dance.notes:
        page.add_list(list(dance.notes), heading="Notes")
    if rows:
        page.add_table(columns, rows, heading="Measures")
        page.add_list(
            [
                f"{name.replace('_', ' ')}: {MEASURES[name][1]}"
                for name in MEASURES
                if name.replace("_", " ") in {row[0] for row in rows}
            ]
        )
    else:
        page.add_text("A dance of less than a second is not measured.", heading="Measures")
    page.add_table(
        ("File", "What it is"),
        [(Link("player.html"), "plays the dance"), *((Link(name), what) for name, what in files)],
        heading="Files",
    )
    return page


def _stem(name: str) -> str:
    """The name of the song as a file's, which other programs can be told."""
    plain = "".join(each if each.isalnum() or each in "-_." else "_" for each in name)
    return plain.strip("._")[:80] or "dance"
