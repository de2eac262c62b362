"""Report of a dance to a song: motion files, player with sound, page and measures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deepphase.apps.dances.makers import DanceResult
from deepphase.apps.reports.measures import measure_entries
from deepphase.apps.reports.page import Page
from deepphase.apps.reports.player_songs import part_of_song
from deepphase.apps.reports.report_file import save_report
from deepphase.apps.runs.files import write_motion, write_table
from deepphase.controllers.dance.reference import DanceReference
from deepphase.evaluation.measure import Measure, measures_of, values_by_name
from deepphase.evaluation.runs import below
from deepphase.motion.resample import BANDS_HZ
from deepphase.motion.root_motion import RootMotion
from deepphase.progress import Progress
from deepphase.viewer.take import Channels, Take

_BAR = (
    "{} of the {}-beat bar, 20 s windows; recorded dances follow the bar more than the beat",
    "the same with the song 13 to 21 % faster or slower",
)
# Measure -> (unit, definition).
DANCE_MEASURES = {
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
    "net_turning": ("degrees/s", "turn of the hips over ten seconds"),
    "travel": ("m", "distance over the ground between the hips' places ten seconds apart"),
    "repeat": ("m", "distance of each two seconds from the nearest other two of the dance"),
    "distinct_pieces": ("", "pieces of two seconds in ten that differ by 6 cm or more, of 33"),
    "jerk": ("m/s3", "mean over points of the body and frames"),
    **{
        below("jerk", edge): ("m/s3", f"the same without what is faster than {edge:g} Hz")
        for edge in BANDS_HZ
    },
    "sliding": ("m/s", "mean speed over the ground of feet in contact"),
    "skating": ("", "the same over the recorded dances' largest"),
    "foot_contact": ("", "physical foot contact score (EDGE); less is better"),
    "standing": ("", "share of seconds slower than a tenth of the recorded dances' usual speed"),
    "broken": ("", "share of seconds faster than 1.5 times the recorded dances' fastest"),
    "restarts": ("1/min", "restarts of the dance because it had stalled"),
}


# A dance is on the beat, or follows the bars, if its score is so many times the score by chance.
_OVER_CHANCE, _OVER_SHIFTED = 1.1, 1.5
# Below this share of the hips' height that the bars explain, they are invisible.
_SEEN_SHARE = 0.05


@dataclass(frozen=True)
class DanceFinding:
    """What the measures of a dance say, and whether that is as hoped."""

    text: str
    good: bool


def dance_findings(
    values: Mapping[str, float], recorded: Mapping[str, float], beats_per_bar: int | None
) -> tuple[DanceFinding, ...]:
    """Whether a dance is on the beat and follows the bars of its song more than by chance.

    Parameters
    ----------
    values, recorded
        Measures of the dance, and of recorded dances, by the names of `DANCE_MEASURES`.
    beats_per_bar
        Of the song; None if they are not known.
    """

    def beside(name: str) -> str:
        return f"; recorded dances {recorded[name]:.3g}" if name in recorded else ""

    found = []
    if "by_motion" in values:
        own, chance = values["by_motion"], values["by_motion_chance"]
        good = own > _OVER_CHANCE * chance
        words = "more often than by chance" if good else "no more often than by chance"
        found.append(
            DanceFinding(
                f"the movement is on the beat {words}: beat alignment {own:.3g}, by chance "
                f"{chance:.3g}{beside('by_motion')}",
                good,
            )
        )
    name = f"bar_{beats_per_bar}_height"
    if name in values:
        own, shifted = values[name], values[f"{name}_shifted"]
        good = own > _SEEN_SHARE and own > _OVER_SHIFTED * shifted
        found.append(
            DanceFinding(
                f"the hips {'follow' if good else 'do not follow'} the bars of {beats_per_bar}: "
                f"these explain {own:.2g} of their height, bars of another tempo {shifted:.2g}"
                f"{beside(name)}",
                good,
            )
        )
    return tuple(found)


def dance_report(
    dance: DanceResult,
    song: Path,
    folder: Path,
    progress: Progress | None = None,
    root_motion: RootMotion = "auto",
) -> tuple[Path, list[Measure], tuple[DanceFinding, ...]]:
    """Write all files of a dance into a folder, index.html last; return it with the measures.

    Parameters
    ----------
    dance
        Dance to write.
    song
        The song's file.
    folder
        Folder to write to.
    progress
        Called with the number of steps done.
    root_motion
        The joint of the motion files that carries the travel, see `DanceResult.motion`.

    Raises
    ------
    ParameterError
        If the page would be too large for a browser.
    CheckpointError
        If the folder cannot be written.
    """
    stem = _stem(dance.song.name)
    steps = ("measuring", "writing motion", "writing the page")

    def report_step(step: int) -> None:
        if progress is not None:
            progress("finishing", step, len(steps), steps[step] if step < len(steps) else "")

    report_step(0)
    measures = dance_measures(dance)
    report_step(1)
    files = write_motion(dance.motion(root_motion), folder, stem)
    if dance.phases is not None:
        name = f"{stem}.phases.csv"
        write_table(folder / name, *_phase_table(dance))
        files.append((name, "phase, frequency and amplitude of every channel and frame"))
    report_step(2)
    title = f"A dance to {dance.song.name}"
    save_report(
        folder,
        dance.made_with,
        _song_data(dance),
        dance.made_with.get("seed", 0),
        measure_entries(measures, len(dance.clip), {"song": dance.song.name}, key="recorded"),
        notes=list(dance.notes),
    )
    findings = dance_findings(
        values_by_name(measures),
        {measure.name: measure.data for measure in measures if measure.data is not None},
        dance.song.beats_per_bar if dance.song.has_beat else None,
    )
    page = _page(title, dance, measures, findings)
    page.add_takes([dance_take(dance, song)])
    page.add_files(files)
    written = page.write(folder / "index.html")
    report_step(3)
    return written, measures, findings


def dance_take(dance: DanceResult, song: Path) -> Take:
    """Take of the player for a dance, with its sound."""
    clip = dance.clip
    return Take.of(
        {"dancer": clip},
        dance.song.name,
        channels=None if dance.phases is None else Channels(dance.phases, clip.fps),
        gating=dance.gating,
        curves=dance.curves,
        markers=dance.markers,
        song=part_of_song(song, dance.song, dance.start_s, clip.duration),
        note=" ".join(dance.notes),
    )


def dance_measures(dance: DanceResult) -> list[Measure]:
    """Measures of a dance beside those of recorded dances; none of less than a second."""
    found: dict[str, float | None] = {}
    clip = dance.clip
    if clip.duration >= 1.0:
        reference = dance.reference or DanceReference.of([clip], [dance.song])
        found |= reference.measured(clip, dance.song, dance.start_s)
        if dance.reference is None:
            # These compare with recorded dances only.
            for name in ("standing", "broken", "skating"):
                found.pop(name, None)
        if dance.restarts_s is not None:
            found["restarts"] = len(dance.restarts_s) / (clip.duration / 60.0)
    recorded = {} if dance.reference is None else dance.reference.values
    definitions = {name: (unit, "", text) for name, (unit, text) in DANCE_MEASURES.items()}
    return measures_of(definitions, found, recorded)


def _song_data(dance: DanceResult) -> dict[str, Any]:
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


def _phase_table(dance: DanceResult) -> tuple[list[str], list[list[object]]]:
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
    title: str, dance: DanceResult, measures: Sequence[Measure], findings: Sequence[DanceFinding]
) -> Page:
    song = dance.song
    page = Page(title, f"{song.name}: {song.rhythm}.")
    if dance.notes:
        page.add_list(list(dance.notes), heading="Notes")
    if findings:
        page.add_list([each.text for each in findings], heading="Beats and bars")
    if measures:
        page.add_measures({"this dance": measures}, reference="recorded dances")
    else:
        page.add_text("A dance of less than a second is not measured.", heading="Measures")
    return page


def _stem(name: str) -> str:
    """File name for a song, of characters that every program accepts."""
    plain = "".join(each if each.isalnum() or each in "-_." else "_" for each in name)
    return plain.strip("._")[:80] or "dance"
