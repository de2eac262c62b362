"""Page of `deepphase demo`: the phase errors, and every command beside the report it wrote."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deepphase.apps.demo.motion import HELD_OUT, PAGE, TRAINING, TRUTH
from deepphase.apps.demo.steps import DemoStep
from deepphase.apps.reports.health_section import add_health
from deepphase.apps.reports.page import Link, Page
from deepphase.apps.reports.player_takes import takes_of_clips
from deepphase.evaluation.known_phase import KnownPhaseError, PhaseKey
from deepphase.figures.theme import channel_colour
from deepphase.motion.clip import Clip
from deepphase.phase.model import ClipPhases, PhaseModel
from deepphase.viewer.page import player_html

# Errors in cycles: not visible in a movement; and small enough to distinguish successive steps.
_GOOD, _FAIR = 0.02, 0.05
# Suffix of a clip's name -> words for its speed.
_CHANGING = {"_drift": " at drifting speed", "_ramp": " at ramping speed"}
# Pixels of the frames of players.
_RING_HEIGHT, _PLAYER_HEIGHT = 580, 760


@dataclass(frozen=True, eq=False)
class Demo:
    """Results of a run of the demo.

    Parameters
    ----------
    model
        The model.
    steps
        The commands that were run.
    clip, phases
        A held-out clip with its phases; None if none can be encoded.
    errors
        Phase errors of the held-out clips; empty if the true phases are unknown.
    toy
        Whether the run has the smallest size.
    """

    model: PhaseModel
    steps: Sequence[DemoStep]
    clip: Clip | None
    phases: ClipPhases | None
    errors: Sequence[KnownPhaseError]
    toy: bool = False


def demo_page(demo: Demo, folder: Path) -> Path:
    """Write the page into the folder."""
    page = Page(
        "deepphase demo: from motion capture to phases",
        "Movement that repeats has a phase: where in its cycle it is. This folder shows how phases "
        "are learnt from unlabelled clips, and what they are used for.",
    )
    if demo.clip is not None and demo.phases is not None:
        (take,) = takes_of_clips([demo.clip], [demo.phases], demo.model)
        ring = replace(take, channels=None, curves=())
        page.add_player(
            player_html([ring], title="A body and its ring", playing=True, bare=True),
            "A body in motion, and its moment on the ring of its phases",
            height=_RING_HEIGHT,
            first=True,
        )
    if demo.toy:
        page.add_text(
            "This is a toy run (--smallest). It shows that everything works on this machine. With "
            "so little motion and training, its errors are larger than those of the method. Run "
            "the demo without this option for better ones.",
            heading="Limits of this run",
        )
    if demo.errors:
        _add_known_phase(page, demo.errors, demo.model.fps)
    else:
        add_health(page, demo.model.health)
    page.add_table(
        ("Report", "Content"),
        [(Link(step.report, step.heading), step.words) for step in demo.steps if step.report],
        heading="Reports in this folder",
    )
    for number, step in enumerate(demo.steps, start=1):
        heading = f"{number}. {step.heading}"
        if step.player:
            page.add_player(
                (folder / step.player).read_text(encoding="utf-8"),
                step.heading,
                height=_PLAYER_HEIGHT,
                heading=heading,
                words=step.words,
            )
        else:
            page.add_text(step.words, heading=heading)
        page.add_commands([step.line])
    if demo.errors:
        page.add_text(
            f"{TRAINING} and {HELD_OUT} are BVH files, which any 3D program opens; {TRUTH} has the "
            "true phases, frequencies and ground contacts of the feet in all clips.",
            heading="Motion and truth",
        )
    page.add_text(
        "With your own motion capture (captures is a folder of BVH files):", heading="Next steps"
    )
    page.add_commands(
        [
            "deepphase demo --data captures -o my_demo           # this page for your motion",
            "deepphase inspect captures                          # content of the files",
            "deepphase play captures --model phases.model        # watch them with their phases",
        ]
    )
    return page.write(folder / PAGE)


def _add_known_phase(page: Page, errors: Sequence[KnownPhaseError], fps: float) -> None:
    """Add a summary of the errors, and a table with one row per held-out clip."""
    page.add_text(_verdict(errors, fps), heading="Did it work?")
    page.add_table(
        ("Held-out clip", "Strides per second", "Error (cycles)", "Error (ms)", "Channel"),
        [
            (
                _in_words(error.clip),
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


def _in_words(name: str) -> str:
    """ "side_step_right" as "side step right", "LeftFoot" as "left foot"."""
    for suffix, words in _CHANGING.items():
        if name.endswith(suffix):
            return _in_words(name.removesuffix(suffix)) + words
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
        f"{_in_words(steady[furthest].clip)}."
    )
    changing = [
        f"{100 * max(error.cycles):.1f} % for a {_in_words(error.clip)}"
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
