"""Evaluation of a phase model on clips, as a page and as a JSON file; the health of a model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

import deepphase as dp
from deepphase.apps.reports.page import Page, measure_entries, save_report
from deepphase.apps.reports.player import takes_of_store
from deepphase.apps.verdicts import phase_verdict
from deepphase.arrays import Array, counted, release_pages
from deepphase.evaluation.phase_measures import MeasuredPhases, measured
from deepphase.figures.channel_joints import explained_by_joint
from deepphase.figures.theme import channel_colour
from deepphase.files import mapped_array
from deepphase.phase.extractor import BASELINES, PhaseExtractor, fit_phases, load_model
from deepphase.phase.health import Health, measured_health
from deepphase.phase.health import measure as measure_phases
from deepphase.phase.matches import Frames
from deepphase.progress import Progress


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
    for name in against:
        if name not in BASELINES and not Path(name).is_file():
            raise dp.ParameterError(
                f"there is no baseline and no model file called {name!r}",
                hint=f"use one of {', '.join(BASELINES)}, or the file of a phase model",
            )
    if not (store.lengths >= model.window).any():
        raise dp.ParameterError(
            f"no clip is as long as the model's window of {model.window} frames",
            hint="evaluate on longer clips",
        )
    phases = []
    for clip in store:
        phases.append(model.encode(clip))
        progress("encoding", len(phases), len(store), "")
    if isinstance(model, dp.PhaseModel):
        corpus = dp.phase.SignalCorpus.from_store(
            store, signals=model.signals, memory=1_000_000_000
        )
        ranges = np.stack([corpus.starts, corpus.stops], axis=1)
        health = measured_health(model, corpus.values, ranges)
    else:
        health = measure_phases([own.parameters[own.interior] for own in phases], model.fps)
    progress("measuring", 1, 2, "")
    frames, inside, poses = frames_and_poses(model, store, phases)
    options = (poses, frames, model.fps, model.window, queries, 0)
    own = MeasuredPhases(gathered_parameters(phases, inside), *options, health)
    measures = {"this model": measured(own)}
    for name in dict.fromkeys(against):
        other = gathered_parameters(other_phases(name, model, store), inside)
        measures[name] = measured(MeasuredPhases(other, *options))
    progress("measuring", 2, 2, "")
    page = Page(
        "Evaluation of the phase model",
        f"Measured on {counted(len(store), 'clip')}, {store.minutes:.1f} minutes at {store.fps:g} "
        "frames per second. They hold only for clips that the model was not trained on.",
    )
    page.add_takes(takes_of_store(model, store))
    page.add_measures(measures, reference="good")
    add_health(page, health)
    entries = {name: measure_entries(found, len(poses), {}) for name, found in measures.items()}
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


def frames_and_poses(
    model: PhaseExtractor, store: dp.ClipStore, phases: Sequence[dp.ClipPhases]
) -> tuple[Frames, list[Array], Array]:
    """The interior frames of all clips, their indices, and mapped poses (frames, joints, 3) m."""
    inside = [np.flatnonzero(encoded.interior) for encoded in phases]
    counts = np.array([indices.size for indices in inside])
    frames = Frames(np.repeat(np.arange(len(phases)), counts), np.concatenate(inside))
    poses: Array = np.zeros(0)
    stop = 0
    for number, kept in enumerate(inside):
        own = model.signals.poses(store.clip(number))[kept]
        if not number:
            poses = mapped_array((int(counts.sum()), *own.shape[1:]), own.dtype)
        start, stop = stop, stop + kept.size
        poses[start:stop] = own
        for array in (poses, store.rotations, store.translations):
            release_pages(array)
    return frames, inside, poses


def gathered_parameters(
    phases: Sequence[dp.ClipPhases], inside: Sequence[Array]
) -> dp.PhaseParameters:
    """Phase parameters (frames, channels) of the frames `inside` of each clip, clip by clip."""
    return dp.PhaseParameters.joined(
        [own.parameters[kept] for own, kept in zip(phases, inside, strict=True)]
    )


def other_phases(name: str, model: PhaseExtractor, store: dp.ClipStore) -> list[dp.ClipPhases]:
    """Phases of every clip by a baseline, fitted to these clips, or by another model's file."""
    other: PhaseExtractor
    if name in BASELINES:
        seconds = model.window / model.fps
        other = fit_phases(store, name, window_s=seconds, description=store.description)
    else:
        other = load_model(name).bound(store, store.description)
    if other.fps != model.fps:
        raise dp.ParameterError(
            f"{name} has {other.fps:g} frames per second, and the model {model.fps:g}",
            hint="compare models of one frame rate",
        )
    return [other.encode(clip) for clip in store]


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
