"""Report of a training: the health of a phase model and figures of its phases."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from deepphase.apps.reports.example_window import example_window
from deepphase.apps.reports.health_section import add_health, percent
from deepphase.apps.reports.manifold_cloud import PhaseCloud
from deepphase.apps.reports.page import Page
from deepphase.apps.reports.player_takes import takes_of_clips
from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.figures.learning_curves import training_metrics
from deepphase.figures.phase_parameters import parameters_over_time
from deepphase.figures.window_fit import WindowExample, window_fit
from deepphase.motion.clip import Clip
from deepphase.music.cache import song_features
from deepphase.music.features import SongFeatures
from deepphase.phase.clip_phases import ClipPhases
from deepphase.phase.model import PhaseModel
from deepphase.phase.signal_corpus import SignalCorpus
from deepphase.phase.song_signals import SongSignals
from deepphase.progress import Progress
from deepphase.training.metrics_file import read_metrics
from deepphase.viewer.take import Take

# Number of clips that are encoded for the report.
_CLIPS = 8
# Length of the figure over time, in seconds.
_PLOTTED_S = 10.0
# Frames of each clip that the player has.
_PLAYED_FRAMES = 3_000


def training_report(
    model: PhaseModel,
    clips: ClipStore | SignalCorpus,
    folder: str | Path,
    *,
    metrics: Path | None = None,
    progress: Progress | None = None,
) -> Path:
    """Encode some clips of the training data and write FOLDER/index.html.

    The clips are an even selection of those with whole windows. The example window is the middle
    of the clip with the largest mean amplitude.
    """
    if isinstance(clips, SignalCorpus):
        lengths, read = clips.stops - clips.starts, _songs_of(clips)
    else:
        lengths, read = clips.lengths, clips.clip
    usable = np.flatnonzero(lengths >= model.window)
    if not usable.size:
        usable = np.arange(len(lengths))
    chosen = usable[np.unique(np.linspace(0, usable.size - 1, _CLIPS).round().astype(int))]
    phases: list[ClipPhases] = []
    for done, index in enumerate(chosen, start=1):
        phases.append(model.encode(read(int(index))))
        if progress is not None:
            progress("writing the report", done, len(chosen) + 1, "")
    strongest = int(np.argmax([each.parameters.amplitude.mean() for each in phases]))
    signals = model.signals.read(read(int(chosen[strongest])))
    name = phases[strongest].name
    example = example_window(model, signals, len(signals) // 2, clip=name)
    takes: list[Take] = []
    if isinstance(clips, ClipStore):
        shown = [clips.clip(int(index)).sliced(0, _PLAYED_FRAMES) for index in chosen]
        takes = takes_of_clips(shown, [own[:_PLAYED_FRAMES] for own in phases], model)
    page = training_page(
        model,
        phases,
        example,
        Path(folder) / "index.html",
        metrics=None if metrics is None else read_metrics(metrics),
        takes=takes,
    )
    if progress is not None:
        progress("writing the report", len(chosen) + 1, len(chosen) + 1, "")
    return page


def _songs_of(corpus: SignalCorpus) -> Callable[[int], Clip | SongFeatures]:
    return lambda index: song_features(corpus.sources[index])


def training_page(
    model: PhaseModel,
    clips: Sequence[ClipPhases],
    example: WindowExample | None,
    path: str | Path,
    *,
    metrics: Mapping[str, Array] | None = None,
    takes: Sequence[Take] = (),
) -> Path:
    """Write the page of a trained model; its player plays some clips with their phases."""
    path = Path(path)
    of_songs = isinstance(model.signals, SongSignals)
    signals = model.signals.names
    read = (
        f"{len(signals)} values of audio features"
        if of_songs
        else f"the joint velocities of {len(model.signals.joints)} joints"
    )
    page = Page(
        "Report of the phase model",
        f"{model.config.network.channels} phase channels, learnt from {read} at {model.fps:g} "
        f"frames a second, each window {model.config.network.window_s:g} s long.",
    )
    if takes:
        page.add_takes(takes)
    add_health(page, model.health, of_songs=of_songs)
    if metrics:
        page.add_figure(
            training_metrics(metrics),
            "Training curves",
            "Loss on training windows, and the explained variance of held-out windows, over the "
            "optimizer steps. If explained variance still rises at the end, train longer; if it "
            "falls while the loss falls, add clips. The values are in the CSV file beside the "
            "model.",
        )
    _add_manifold(page, model, clips)
    _add_parameters(page, clips)
    if example is not None:
        page.add_figure(
            window_fit(example),
            f"One window, step by step: {example.clip}".rstrip(": "),
            f"At {example.at:.2f} s: {percent(example.explained)} of this window is explained. "
            f"The network encodes the {'features' if of_songs else 'joint velocities'} of one "
            "window as a latent curve for each channel, and keeps only the sinusoid that fits it: "
            "frequency F, amplitude A, phase and offset B. The sinusoids should follow the grey "
            "latent curves, and the reconstruction should follow the grey input.",
            min_width=640,
        )
    _add_origin(page, model)
    return page.write(path)


def _add_manifold(page: Page, model: PhaseModel, clips: Sequence[ClipPhases]) -> None:
    clips = [clip for clip in clips if len(clip)]
    if not clips:
        page.add_text("No clip was given to plot.", heading="The phase manifold")
        return
    cloud = PhaseCloud.of(model, clips)
    if cloud.padded:
        page.add_text(
            "No clip is as long as a window: every frame has the sinusoids of its whole clip.",
            heading="Limits of these figures",
        )
    by_clip, by_frequency = cloud.by_clip(), cloud.by_frequency()
    data = "Sound" if isinstance(model.signals, SongSignals) else "Motion"
    page.add_figure(
        cloud.figure(by_clip),
        "The phase manifold",
        "Each point is one frame: the phases and amplitudes of all channels, projected onto the "
        f"directions in which they vary most. {data} that repeats forms rings with one turn per "
        "cycle, larger where it is stronger; similar frames are close together. Click a name to "
        "hide a clip.",
    )
    page.add_figure(
        cloud.figure(by_frequency),
        "The same, coloured by frequency",
        "Frequency is the mean over channels, weighted by amplitude. Slow and fast frames should "
        "be apart, and the colour should change smoothly from one to the other.",
    )
    page.add_figure(
        cloud.figure(by_clip, dimensions=3),
        "The manifold in 3D, by clip",
        "Drag to rotate, scroll to zoom. Rings that overlap in the plane are often apart in the "
        "third direction.",
    )
    page.add_figure(
        cloud.figure(by_frequency, dimensions=3),
        "The manifold in 3D, by frequency",
        "The same points. The frequency often changes along a funnel or a tube.",
    )


def _add_parameters(page: Page, clips: Sequence[ClipPhases]) -> None:
    clips = [clip for clip in clips if len(clip)]
    if not clips:
        return
    # The clip with the most interior frames in the plotted seconds.
    clip = max(clips, key=lambda c: min(int(c.interior.sum()), round(_PLOTTED_S * c.fps)))
    plotted = slice(0, round(_PLOTTED_S * clip.fps))
    chart = parameters_over_time(
        clip.parameters[plotted],
        clip.fps,
        interior=clip.interior[plotted],
        title="Phase parameters over time",
    )
    page.add_figure(
        chart,
        f"One clip over time: {clip.name}",
        "Where the rhythm is steady, each phase grows along straight lines, whose slope is the "
        "frequency, and frequency and amplitude are constant. Strong channels are bold, weak ones "
        "faint. Click a channel to hide it in all four rows.",
    )


def _add_origin(page: Page, model: PhaseModel) -> None:
    entries = {
        **{str(key).replace("_", " "): value for key, value in model.provenance.items()},
        **asdict(model.config),
        **(
            {"features": ", ".join(model.signals.features)}
            if isinstance(model.signals, SongSignals)
            else {"joints": ", ".join(model.signals.joints)}
        ),
        "model (SHA-256)": model.sha256,
    }
    page.add_table(
        ("Name", "Value"),
        [(name, _plain(value)) for name, value in _flat(entries)],
        heading="Origin of the model",
    )


def _flat(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested mappings as dotted names with their values."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _plain(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
