"""The part of the demo's page on its folder: what lies in it, and which commands come next."""

from __future__ import annotations

import os
import shlex
from dataclasses import fields
from pathlib import Path

from apps.demo_places import (
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
from deepphase.phase.configuration import PhaseConfig


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
    told = "".join(
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
            f"deepphase train phase {STORE} -o {MODEL} --report {REPORT}{skeleton}{told}",
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
