"""Can a classifier tell generated motion from captured motion?

python -m tests.studies.motion_classifier STORE NAME=FOLDER [NAME=FOLDER ...]
    [--held-out style=happy+old] [--seeds 0,1] [--controls]

STORE is a store or folder of captured clips; each FOLDER has motion files of the same skeleton, as
`deepphase control` and `match run` write them. A random forest compares windows of half a second,
in root space and below 8 Hz, at equal speeds and turning, and is tested on captured clips, and on
what plays them, that it has not seen: NAME.frames.csv beside NAME says which are played. The
judge's clips are those of `--held-out`, else a third of the clips; the first row is the control,
the other clips of the store. `--controls` adds rows that must be told apart: the other clips
frozen, 4 cm too low, and with toes that do not move. It also adds the others of each value of
`--single`, a label: what the judge says of captured motion in one style, as that of a character
without labels is, and the others low-passed at 7 and 5 Hz.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import corpus_of
from deepphase.motion.clip import Clip
from deepphase.motion.resample import low_passed_clip
from tests.studies.motion_classifier.falsified import FALSIFIED
from tests.studies.motion_classifier.judge import Verdict, told_apart
from tests.studies.motion_classifier.windows import windows_of

# Clips of a value of the label that is judged alone.
_SINGLE = 20
_LOW_PASSES = (7.0, 5.0)


def _halves_of(store: ClipStore, held_out: str) -> tuple[list[Clip], list[Clip]]:
    """Clips of the judge, and the others."""
    if held_out:
        label, values = held_out.split("=", 1)
        judged = np.isin(store.label_column(label), values.split("+"))
    else:
        judged = np.zeros(len(store), bool)
        judged[np.random.default_rng(0).permutation(len(store))[: max(2, len(store) // 3)]] = True
    clips = list(store)
    return (
        [clip for clip, is_judged in zip(clips, judged, strict=True) if is_judged],
        [clip for clip, is_judged in zip(clips, judged, strict=True) if not is_judged],
    )


def takes_of(clip: Clip, folder: Path) -> list[str]:
    """(frames,) names of the captured clips that a clip plays, or its own name.

    Mirrored clips, and parts of clips, have the name of the whole.
    """
    table = folder / f"{clip.name}.frames.csv"
    names = [clip.name]
    if table.exists():
        with table.open(newline="", encoding="utf-8") as file:
            names = [row.get("clip", clip.name) for row in csv.DictReader(file)]
    return [re.sub(r" mirrored| from frame \d+", "", name) for name in names]


def _row(name: str, verdicts: list[Verdict]) -> str:
    """One line of the table: means over the seeds."""
    first = verdicts[0]
    cells = [f"{np.mean([each.accuracy for each in verdicts]):.2f}"]
    for table in ("by_group", "by_part"):
        means = {
            key: np.mean([getattr(each, table)[key] for each in verdicts])
            for key in getattr(first, table)
        }
        cells += [f"{key} {value:.2f}" for key, value in means.items()]
    return " | ".join([name, *cells, f"{first.windows} windows", f"covered {first.covered:.2f}"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("generated", nargs="*", help="NAME=FOLDER")
    parser.add_argument("--held-out", default="")
    parser.add_argument("--seeds", default="0,1")
    parser.add_argument("--controls", action="store_true")
    parser.add_argument("--single", default="style")
    given = parser.parse_args()
    judge, others = _halves_of(corpus_of(given.store), given.held_out)
    captured = windows_of(judge)
    sets: dict[str, Iterable[Clip]] = {"other captured clips": others}
    takes: dict[str, list[list[str]]] = {}
    if given.controls:
        sets |= {name: map(change, others) for name, change in FALSIFIED.items()}
        for hz in _LOW_PASSES:
            sets[f"below {hz:g} Hz"] = [low_passed_clip(clip, hz) for clip in others]
        values = [clip.labels.get(given.single, "") for clip in others]
        for value in sorted(set(values) - {""}):
            of_value = [clip for clip, each in zip(others, values, strict=True) if each == value]
            if len(of_value) >= _SINGLE:
                sets[f"{given.single} {value} alone"] = of_value
    for each in given.generated:
        name, folder = each.split("=", 1)
        sets[name] = corpus_of(folder)
        takes[name] = [takes_of(clip, Path(folder)) for clip in sets[name]]
    for name, clips in sets.items():
        windows = windows_of(clips, takes.get(name))
        seeds = [int(seed) for seed in given.seeds.split(",")]
        print(_row(name, [told_apart(captured, windows, seed) for seed in seeds]), flush=True)


if __name__ == "__main__":
    main()
