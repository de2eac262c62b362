"""Sections of the demo's page: phase errors, the files of its folder, and commands to type."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np

from apps.demo.motion import (
    HELD_OUT,
    LIVE,
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

# Errors in cycles: not visible in a movement; and small enough to distinguish successive steps.
_GOOD, _FAIR = 0.02, 0.05
# Suffix of a clip's name -> words for its speed.
_CHANGING = {"_drift": " at drifting speed", "_ramp": " at ramping speed"}


def add_known_phase(page: Page, errors: Sequence[KnownPhaseError], fps: float) -> None:
    """Add a summary of the errors, and a table with one row per held-out clip."""
    page.add_text(_verdict(errors, fps), heading="Did it work?")
    page.add_table(
        ("Held-out clip", "Strides per second", "Error (cycles)", "Error (ms)", "Channel"),
        [
            (
                in_words(error.clip),
                f"{error.stride_hz[0]:.2f}",
                f"{max(error.cycles):.4f}",
                f"{1000 * max(error.seconds):.1f}",
                _channels(error.keys),
            )
            for error in errors
        ],
        colours=[channel_colour(error.keys[0].channel) for error in errors],
    )
    page.add_text(
        "A cycle is one stride, from one touch-down of a foot to the next. The origin of a learnt "
        "phase is arbitrary, so one channel and one constant shift were chosen for each gait and "
        "foot on the training clips. The table lists the median error over the frames of the "
        "held-out clip, for the worse foot. A drifting speed varies by 15 % within 8 s. A ramping "
        "speed varies by 30 % and reverses within a window, where each sinusoid has only one "
        "frequency: this is the hard case."
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
        f"{begin} On held-out clips with a steady speed, the phase of the feet is off by "
        f"{100 * typical:.1f} % of a cycle in a typical gait, or {1000 * time:.0f} ms (a frame "
        f"lasts {1000 / fps:.0f} ms), and by {100 * worst[furthest]:.1f} % in the worst gait, "
        f"{in_words(steady[furthest].clip)}."
    )
    changing = [
        f"{100 * max(error.cycles):.1f} % for a {in_words(error.clip)}"
        for error in errors
        if error not in steady
    ]
    if changing:
        words += f" With a changing speed, the error is {' and '.join(changing)}."
    if worst[furthest] > _GOOD:
        words += " More motion and longer training reduce it."
    return words


def _channels(keys: Sequence[PhaseKey]) -> str:
    texts = [
        f"channel {key.channel}{' (twice per stride)' if key.multiple == 2 else ''}" for key in keys
    ]
    return ", ".join(dict.fromkeys(texts))


def add_demo_folder(
    page: Page,
    config: PhaseConfig,
    *,
    data: Path | None = None,
    group: str | None = None,
    pictures: bool = True,
) -> None:
    """Add a list of the folder's files, the commands that write them, and commands to type next.

    Parameters
    ----------
    config
        Config of the model.
    data
        The user's folder of motion files; None for synthetic motion.
    group
        Name of the skeleton group, if the data may have several.
    pictures
        Whether figures are written as PNG files.
    """
    default, training = PhaseConfig.load("default").training, config.training
    given = "".join(
        f" --training.{item.name} {getattr(training, item.name)}"
        for item in fields(training)
        if getattr(training, item.name) != getattr(default, item.name)
    )
    skeleton = f" --skeleton {shlex.quote(group)}" if group else ""
    rows: list[tuple[object, str]] = []
    if data is None:
        source, encoded = TRAINING, HELD_OUT
        rows += [
            (TRAINING, "The training motion as BVH files, which any 3D program opens."),
            (HELD_OUT, "The held-out motion, for testing."),
            (TRUTH, "True phases, frequencies and ground contacts of the feet in all clips."),
        ]
    else:
        source, encoded = shlex.quote(os.path.abspath(data)), STORE
    rows += [
        (STORE, "The training clips, checked, in metres and at 60 frames per second, in one file."),
        (MODEL, "The phase model: everything that is needed to encode other clips."),
        (PHASES, "Phase, frequency, amplitude and offset of every frame, one .npz per clip."),
        (f"{MODEL}.metrics.csv", "Loss and explained variance during the training."),
        (Link(LIVE), "A character to steer, offline: the controller that comes with the program."),
        (Link(PLAYER), "Plays held-out clips beside their phases, offline."),
        (Link(f"{REPORT}/index.html", REPORT), "The report of the training, with more figures."),
    ]
    if pictures:
        rows.append((PICTURES, "The figures of this page as PNG, where Chromium was found."))
    page.add_table(("File or folder", "Content"), rows, heading="Files in this folder")
    page.add_text("Typed in this folder, these commands write the same files again:")
    page.add_commands(
        [
            f"deepphase prepare {source} -o {STORE}",
            f"deepphase train phase {STORE} -o {MODEL} --report {REPORT}{skeleton}{given}",
            f"deepphase encode {MODEL} {encoded} -o {PHASES}{skeleton}",
        ]
    )
    page.add_text(
        "With your own motion capture (captures is a folder of BVH files):",
        heading="Next steps",
    )
    page.add_commands(
        [
            "deepphase demo --data captures -o my_demo           # this page for your motion",
            "deepphase inspect captures                          # content of the files",
            "deepphase prepare captures -o mocap.store           # read, check, resample",
            "deepphase train phase mocap.store -o mocap.model    # train a phase model",
            "deepphase encode mocap.model captures -o phases     # phases of every frame",
            "deepphase play captures --model mocap.model         # watch them with their phases",
        ]
    )
