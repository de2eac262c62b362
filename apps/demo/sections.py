"""The part of the demo's page on its folder: what lies in it, and which commands come next."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from apps.demo.motion import (
    HELD_OUT,
    MODEL,
    PHASES,
    PICTURES,
    PLAYER,
    REPORT,
    STORE,
    TRAINING,
    TRUTH,
)
from apps.reports.page import Link, Page
from deepphase.evaluation.known_phase import KnownPhaseError, PhaseKey
from deepphase.figures.theme import channel_colour
from deepphase.phase.config import PhaseConfig

# Cycles: errors that nobody sees in a movement, and such as still tell a step from the next.
_GOOD, _FAIR = 0.02, 0.05
# Suffix of a clip's name -> its speed in words.
_CHANGING = {"_drift": " at drifting speed", "_ramp": " at ramping speed"}


def add_known_phase(page: Page, errors: Sequence[KnownPhaseError], fps: float) -> None:
    """Add the verdict in words, and a table with a row each held-out clip."""
    page.add_text(_verdict(errors, fps), heading="Did it work?")
    page.add_table(
        ("Held-out clip", "Strides a second", "Off by (cycles)", "Off by (ms)", "Read from"),
        [
            (
                in_words(error.clip),
                f"{error.stride_hz[0]:.2f}",
                f"{max(error.cycles):.4f}",
                f"{1000 * max(error.seconds):.1f}",
                _read_from(error.keys),
            )
            for error in errors
        ],
        colours=[channel_colour(error.keys[0].channel) for error in errors],
    )
    page.add_text(
        "A cycle is one stride: from a foot's touch-down to its next. Where a cycle begins is "
        "arbitrary, so for each gait and foot one channel and one constant shift were chosen on "
        "the training clips; the table tells the median error over the frames of the held-out "
        "clip, of the worse foot. Drifting speed goes up and down by 15 % within 8 s. Ramping "
        "speed goes up and down by 30 % so quickly that it turns round within a window, where a "
        "sinusoid has but one frequency: that is the hard case."
    )


def in_words(name: str) -> str:
    """ "side_step_right" as "side step right", "LeftFoot" as "left foot"."""
    for suffix, words in _CHANGING.items():
        if name.endswith(suffix):
            return in_words(name.removesuffix(suffix)) + words
    spaced = "".join(f" {c.lower()}" if c.isupper() else c for c in name)
    return spaced.replace("_", " ").strip()


def _verdict(errors: Sequence[KnownPhaseError], fps: float) -> str:
    steady = [error for error in errors if not error.clip.endswith(tuple(_CHANGING))]
    worst = [max(error.cycles) for error in steady]
    typical, furthest = float(np.median(worst)), int(np.argmax(worst))
    time = float(np.median([max(error.seconds) for error in steady]))
    if worst[furthest] <= _GOOD:
        begin = "Yes."
    elif typical <= _GOOD:
        begin = "Mostly."
    else:
        begin = "In part." if typical <= _FAIR else "No."
    words = (
        f"{begin} On clips that the model has never seen, at a steady speed, the phase of the feet "
        f"is off by {100 * typical:.1f} % of a cycle in a typical gait, or {1000 * time:.0f} ms "
        f"(a frame lasts {1000 / fps:.0f} ms), and by {100 * worst[furthest]:.1f} % in the worst, "
        f"{in_words(steady[furthest].clip)}."
    )
    changing = [
        f"{100 * max(error.cycles):.1f} % for a {in_words(error.clip)}"
        for error in errors
        if error not in steady
    ]
    if changing:
        words += f" Where the speed changes it is {' and '.join(changing)}."
    if worst[furthest] > _GOOD:
        words += " More motion and a longer training bring it down."
    return words


def _read_from(keys: Sequence[PhaseKey]) -> str:
    given = [
        f"channel {key.channel}{' (twice a stride)' if key.multiple == 2 else ''}" for key in keys
    ]
    return ", ".join(dict.fromkeys(given))


def add_demo_folder(
    page: Page,
    config: PhaseConfig,
    *,
    data: Path | None = None,
    group: str | None = None,
    pictures: bool = True,
) -> None:
    """Add what lies in the folder, the commands that made it, and those that come next.

    Parameters
    ----------
    config
        Of the model.
    data
        The user's folder; None where the motion was made.
    group
        The skeleton group that was taken, where it has to be told.
    pictures
        Whether figures lie there as files.
    """
    usual, training = PhaseConfig.load("default").training, config.training
    given = "".join(
        f" --training.{item.name} {getattr(training, item.name)}"
        for item in fields(training)
        if getattr(training, item.name) != getattr(usual, item.name)
    )
    skeleton = f" --skeleton {shlex.quote(group)}" if group else ""
    rows: list[tuple[object, str]] = []
    if data is None:
        source, encoded = TRAINING, HELD_OUT
        rows += [
            (TRAINING, "The motion that was learnt from, as BVH: any 3D program opens it."),
            (HELD_OUT, "The motion that was kept aside to test on."),
            (TRUTH, "True phase, frequency and ground contacts of the feet in all of them."),
        ]
    else:
        source, encoded = shlex.quote(os.path.abspath(data)), STORE
    rows += [
        (STORE, "The clips to learn from: checked, in metres, at 60 frames a second, one file."),
        (MODEL, "The model: all that is needed to read phases off further clips."),
        (PHASES, "Phase, frequency, amplitude and offset of every frame, one .npz a clip."),
        (Link(PLAYER), "Plays clips that were held out beside their phases, offline."),
        (Link(f"{REPORT}/index.html", REPORT), "The report of the training, with more figures."),
    ]
    if pictures:
        rows.append((PICTURES, "The figures of this page as PNG, where Chromium was found."))
    page.add_table(("In this folder", "What it is"), rows, heading="What lies in this folder")
    page.add_text("Typed in this folder, these commands make the same again:")
    page.add_commands(
        [
            f"deepphase prepare {source} -o {STORE}",
            f"deepphase train phase {STORE} -o {MODEL} --report {REPORT}{skeleton}{given}",
            f"deepphase encode {MODEL} {encoded} -o {PHASES}{skeleton}",
        ]
    )
    page.add_text(
        "With motion capture of your own (captures/ stands for a folder of BVH files):",
        heading="What next",
    )
    page.add_commands(
        [
            "deepphase demo --data captures -o my_demo           # this page, about your motion",
            "deepphase inspect captures                          # what is in these files",
            "deepphase prepare captures -o mocap.store           # read, check, resample",
            "deepphase train phase mocap.store -o mocap.model    # learn phases; did it work?",
            "deepphase encode mocap.model captures -o phases     # phases of every frame",
            "deepphase play captures --model mocap.model         # watch them with their phases",
        ]
    )
