"""Evaluation of a phase model on clips, as a page and as a JSON file; the health of a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import deepphase as dp
from deepphase.apps.reports.page import Page, measure_entries, save_report
from deepphase.apps.reports.player import takes_of_store
from deepphase.apps.verdicts import phase_verdict
from deepphase.arrays import counted
from deepphase.evaluation.phase_measures import measure_phases
from deepphase.figures.explained import explained_by_joint
from deepphase.figures.theme import channel_colour
from deepphase.phase.extractor import PhaseExtractor
from deepphase.phase.health import Health
from deepphase.work import Progress


def evaluation_report(
    model: PhaseExtractor,
    store: dp.ClipStore,
    folder: Path,
    *,
    queries: int = 10_000,
    against: Sequence[str] = (),
    progress: Progress,
) -> tuple[Path, Health, dict[str, list[dp.evaluation.Measure]]]:
    """Write index.html and report.json of phases on a store; the page, health and measures."""
    health, measures, frames = measure_phases(
        model, store, queries=queries, against=against, progress=progress
    )
    page = Page(
        "Evaluation of the phase model",
        f"Measured on {counted(len(store), 'clip')}, {store.minutes:.1f} minutes at {store.fps:g} "
        "frames per second. They hold only for clips that the model was not trained on.",
    )
    page.add_takes(takes_of_store(model, store))
    page.add_measures(measures, reference="good")
    add_health(page, health)
    entries = {name: measure_entries(found, frames, {}) for name, found in measures.items()}
    clips, minutes = len(store), store.minutes
    save_report(
        folder,
        {"model_sha256": model.sha256},
        {"clips": clips, "minutes": minutes, "fps": store.fps, "skeleton": store.group},
        0,
        entries.pop("this model"),
        health=health.as_mapping(),
        **({"against": entries} if entries else {}),
    )
    return page.write(folder / "index.html"), health, measures


_OF_JOINTS = (
    "Share of each joint's velocity that the sinusoids reconstruct. Swinging limbs are at the top; "
    "joints that hardly move, or move without a rhythm, are low and grey."
)
_OF_FEATURES = (
    "Share of each feature that the sinusoids reconstruct. Features that follow the beat are at "
    "the top; harmony, and features that change without a rhythm, are low and grey."
)


def add_health(page: Page, health: Health | None, *, of_songs: bool = False) -> None:
    """Add the measures of a model's health, for each channel and each joint."""
    data, part = ("songs", "feature") if of_songs else ("motion", "joint")
    page.add_text(f"{phase_verdict(health)}.", heading="Did the training work?")
    if health is None:
        return
    if health.findings:
        page.add_list(health.findings)
    page.add_table(("Measure", "Value", "Meaning"), _rows(health, data))
    page.add_table(
        (
            *("Channel", "Frequency (Hz)", "from 5 % to 95 %", "Amplitude", "from 5 % to 95 %"),
            "In use",
        ),
        [
            (
                str(index),
                f"{channel.frequency[1]:.2f}",
                _band(channel.frequency),
                f"{channel.amplitude[1]:.3f}",
                _band(channel.amplitude),
                channel.in_use,
            )
            for index, channel in enumerate(health.channels)
        ],
        heading="Channels",
        colours=[channel_colour(index) for index in range(len(health.channels))],
    )
    if health.explained_by_joint:
        page.add_figure(
            explained_by_joint(health.explained_by_joint, what=part),
            f"Explained variance by {part}",
            _OF_FEATURES if of_songs else _OF_JOINTS,
        )


def _rows(health: Health, data: str) -> list[tuple[str, str, str]]:
    """Name, value and meaning of each measure."""
    explained = f"Share of the {data} that the sinusoids reconstruct; higher is better."
    forward = "Share of frames in which the phase grows; near 100 % is good."
    all_forward = "The same over all channels, weighted by amplitude."
    speed = "Relative difference of phase speed and frequency (median); lower is better."
    roughness = "Relative change of the frequency per second (median); lower is smoother."
    return [
        ("Explained variance", _percent(health.explained_variance), explained),
        ("Phase goes forward, strongest channel", _percent(health.forward_strongest), forward),
        ("Phase goes forward, all channels", _percent(health.forward_share), all_forward),
        ("Speed error", _percent(health.speed_error), speed),
        ("Frequency roughness", f"{health.frequency_roughness:.2f} /s", roughness),
        ("Held-out frames", f"{health.frames:,}", "Number of measured frames."),
    ]


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.1f} %"


def _band(values: tuple[float, float, float]) -> str:
    return f"{values[0]:.3g} to {values[2]:.3g}"
