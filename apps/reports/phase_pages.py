"""Pages of a phase model: the report of its training, and all figures of its phases on clips."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import torch

import deepphase as dp
from deepphase.apps.reports.evaluation_report import add_health
from deepphase.apps.reports.page import Page
from deepphase.apps.reports.player import in_words
from deepphase.arrays import Array, counted, wrapped
from deepphase.figures.explained import WindowExample, window_fit
from deepphase.figures.image import Images, write_images
from deepphase.figures.phase_cloud import PhaseCloud, ground_speed
from deepphase.figures.theme import label
from deepphase.phase.encoding import gather, padded
from deepphase.phase.networks.paper_autoencoder import EmbeddingAutoencoder
from deepphase.phase.song_signals import SongSignals
from deepphase.work import Progress, reported

FigureSet = dict[str, go.Figure]

# Length of the part of a clip in time series and paths; more cycles would overlap.
_PART_S = 10.0
# Width in pixels below which a figure scrolls, and the same of figures in space.
_MIN_WIDTH, _MIN_WIDTH_3D = 640, 600
# Clips that are drawn, and clips with figures of their own.
_CLIPS, _DETAILED = 48, 4


@dataclass(frozen=True, eq=False)
class FigureData:
    """Clips or songs with their phases and signals (frames, signals), and the cloud of them all."""

    model: dp.phase.PhaseExtractor
    phases: tuple[dp.ClipPhases, ...]
    signals: tuple[Array, ...]
    labels: tuple[Mapping[str, str], ...]
    left_out: int
    projection: dp.phase.ManifoldProjection
    cloud: PhaseCloud

    @classmethod
    def read(
        cls,
        model: dp.phase.PhaseExtractor,
        clips: dp.ClipStore | dp.phase.SignalCorpus,
        *,
        count: int = _CLIPS,
        projection_file: Path | None = None,
        progress: Progress | None = None,
    ) -> FigureData:
        """Encode some clips of a store, or some songs, spread evenly over those with windows."""
        labels: Sequence[Mapping[str, str]]
        read: Callable[[int], Any]
        if isinstance(clips, dp.ClipStore):
            lengths, labels, read = clips.lengths, clips.labels, clips.clip
        else:
            lengths, sources = clips.stops - clips.starts, clips.sources
            labels, read = (
                [{}] * len(lengths),
                lambda index: dp.music.song_features(str(sources[index])),
            )
        whole = np.flatnonzero(lengths >= model.window)
        chosen = _evenly(whole if whole.size else np.arange(len(lengths)), count)
        phases, signals = [], []
        for index in reported(progress, "encoding", chosen, len(chosen)):
            clip: Any = read(index)
            signals.append(model.signals.read(clip))
            phases.append(model.encode(clip))
        projection = model.projection or _saved_projection(projection_file, phases)
        return cls(
            model,
            tuple(phases),
            tuple(signals),
            tuple(labels[index] for index in chosen),
            len(lengths) - len(chosen),
            projection,
            PhaseCloud.from_phases(model, phases, projection),
        )

    def detailed(self) -> list[int]:
        """Indices of the clips with figures of their own: long clips, spread evenly."""
        lengths = np.array([_interior(each).sum() for each in self.phases])
        return _evenly(np.flatnonzero(lengths >= np.median(lengths)), _DETAILED)

    def inside(self, index: int) -> Array:
        """Interior frames of a clip; all frames if none is interior."""
        return np.flatnonzero(_interior(self.phases[index]))

    def colourings(self) -> dict[str, dp.figures.Colouring]:
        """Name -> colours of the cloud; of the labels those with two to a dozen values."""
        cloud = self.cloud
        labels = [{in_words(name).lower(): each[name] for name in each} for each in self.labels]
        speeds = [ground_speed(self.model, values) for values in self.signals]
        return {"clip": cloud.by_clip(), **cloud.by_labels(labels, 12), **cloud.measured(speeds)}


def _interior(clip: dp.ClipPhases) -> Array:
    return clip.interior if clip.interior.any() else np.ones(len(clip), bool)


def _evenly(indices: Array, count: int) -> list[int]:
    chosen = np.unique(np.linspace(0, len(indices) - 1, count).round().astype(int))
    return [int(indices[index]) for index in chosen]


def _saved_projection(
    path: Path | None, phases: Sequence[dp.ClipPhases]
) -> dp.phase.ManifoldProjection:
    """Load the projection from a file; if there is none, fit it to these clips and save it."""
    if path is not None and path.exists():
        return dp.phase.ManifoldProjection.load(path)
    manifold = [each.parameters.manifold()[_interior(each)] for each in phases]
    projection = dp.phase.ManifoldProjection.fit(np.concatenate(manifold))
    if path is not None:
        projection.save(path)
    return projection


def training_page(
    model: dp.PhaseModel, data: FigureData, metrics: Mapping[str, Array] | None = None
) -> Page:
    """The page of a trained model: its health, its training, its figures and its origin."""
    network, signals = model.config.network, model.signals
    of_songs = isinstance(signals, SongSignals)
    parts: Sequence[str] = getattr(signals, "features" if of_songs else "joints")
    read = f"{len(parts)} audio features" if of_songs else f"the velocities of {len(parts)} joints"
    page = Page(
        "Report of the phase model",
        f"{network.channels} phase channels, learnt from {read} at {model.fps:g} frames a second, "
        f"each window {network.window_s:g} s long.",
    )
    add_health(page, model.health, of_songs=of_songs)
    if metrics:
        page.add_figure(
            dp.figures.training_metrics(metrics),
            "Training curves",
            "Loss on training windows, and the explained variance of held-out windows, over the "
            "optimizer steps. If explained variance still rises at the end, train longer; if it "
            "falls while the loss falls, add clips. The values are in the CSV file beside the "
            "model.",
        )
    _add_manifold(page, data, ("clip", "frequency"))
    _add_parameters(page, data)
    _add_windows(page, data)
    entries = {
        **{str(key).replace("_", " "): value for key, value in model.provenance.items()},
        **asdict(model.config),
        "features" if of_songs else "joints": ", ".join(parts),
        "model (SHA-256)": model.sha256,
    }
    return page.add_table(("Name", "Value"), list(_flat(entries)), heading="Origin of the model")


def _flat(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    """Nested mappings as dotted names with their values."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            text = f"{value:.6g}" if isinstance(value, float) else str(value)
            yield f"{prefix}{key}", "not set" if value is None else text


def figures_page(
    data: FigureData, folder: Path, *, pictures: str | None = None
) -> tuple[Path, Images]:
    """Write FOLDER/index.html with all figures, and each as FOLDER/<figure>.<pictures>."""
    model = data.model
    more = f" of {len(data.phases) + data.left_out}" if data.left_out else ""
    clips = f"{counted(len(data.phases), 'clip')}{more}"
    page = Page(
        "Figures of the phase model",
        f"{model.channels} phase channels, encoded from {clips} in windows of "
        f"{model.window / model.fps:.2g} s at {model.fps:g} frames a second. "
        "A channel has the same colour in all figures.",
    )
    charts = _add_manifold(page, data)
    charts |= _add_series(page, data)
    charts |= _add_strips(page, data)
    charts |= _add_parameters(page, data)
    parts = [each.parameters[data.inside(index)] for index, each in enumerate(data.phases)]
    charts["parameter_distributions"] = dp.figures.parameter_distributions(
        dp.PhaseParameters.joined(parts)
    )
    page.add_figure(
        charts["parameter_distributions"],
        "Frequencies and amplitudes of each channel",
        "Distributions over all frames of these clips. The channels divide the movement like a "
        "bank of band-pass filters: each should cover a range of its own.",
        min_width=_MIN_WIDTH,
    )
    charts |= _add_windows(page, data)
    charts |= _add_similarity(page, data)
    images = Images([])
    if pictures:
        files: dict[str | Path, go.Figure] = {
            folder / f"{name}.{pictures}": chart for name, chart in charts.items()
        }
        images = write_images(files, height=None, scale=2.0, time_limit_s=60 + 5 * len(files))
    return page.write(folder / "index.html"), images


def _add_manifold(page: Page, data: FigureData, colours: Sequence[str] = ()) -> FigureSet:
    if data.cloud.padded:
        page.add_text(
            "No clip is as long as a window: every frame has the sinusoids of its whole clip.",
            heading="Limits of these figures",
        )
    known, charts = data.colourings(), FigureSet()
    for axes, heading, words in (
        (
            2,
            "The phase manifold in the plane",
            "Each point is one frame: the phases and amplitudes of all channels, projected to the "
            "principal components of the training clips. The projection is saved with the model, "
            "so that figures of other clips compare. Periodic motion forms rings, one turn per "
            "cycle, whose radius grows with the amplitude of the motion.",
        ),
        (
            3,
            "The phase manifold in space",
            "Drag to rotate, scroll to zoom. The third component separates rings that overlap in "
            "the plane.",
        ),
    ):
        drawn = {name: data.cloud.figure(known[name], dimensions=axes) for name in colours or known}
        tabs = {f"by {name}": chart for name, chart in drawn.items()}
        page.add_choice(tabs, heading, words, min_width=_MIN_WIDTH_3D if axes == 3 else 0)
        for name, chart in drawn.items():
            # Of a label whatever a file name can have.
            safe = "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
            charts[f"manifold_{axes}d_by_{safe}"] = chart
    return charts


def _add_series(page: Page, data: FigureData) -> FigureSet:
    detailed = data.detailed()
    parts = []
    for index in detailed:
        clip = data.phases[index]
        parts.append(clip[: int(data.inside(index)[0]) + round(_PART_S * clip.fps)])
    cloud = PhaseCloud.from_phases(data.model, parts, data.projection)
    words = f"up to {_PART_S:g} s of each clip"
    cloud = replace(cloud, note=", ".join(filter(None, (cloud.note, words))))
    everything = dp.phase.ManifoldProjection.fit(data.cloud.gathered(data.signals))
    velocities = everything(cloud.gathered([data.signals[index] for index in detailed]))
    colour = cloud.by_clip()
    charts = {
        "phase manifold": cloud.figure(
            colour, lines=True, title="Single clips on the phase manifold"
        ),
        "joint velocities": cloud.figure(
            colour,
            (velocities, everything.explained),
            lines=True,
            unit="m/s",
            title="Single clips by their joint velocities",
        ),
    }
    page.add_choice(
        charts,
        "Single clips, frame by frame",
        "Consecutive frames are connected. On the phase manifold a steady movement circles on one "
        "ring, and a change of pace leads to another ring. The second figure shows the principal "
        "components of the joint velocities, the input of the network, for comparison.",
        min_width=_MIN_WIDTH,
    )
    return _numbered("single_clips", charts)


def _add_strips(page: Page, data: FigureData) -> FigureSet:
    charts = {}
    for clip in (data.phases[index] for index in data.detailed()):
        title = f"Phases of all channels: {label(clip.name)}"
        charts[clip.name] = dp.figures.phase_strips(
            clip.parameters, clip.fps, interior=clip.interior, title=title
        )
    page.add_choice(
        charts,
        "Phases of whole clips",
        "Each row is a channel: the height is its phase, which rises over each cycle, and the "
        "opacity its amplitude. Where one movement changes into another, some channels fade and "
        "others change their frequency.",
        min_width=_MIN_WIDTH,
    )
    return _numbered("phase_strips", charts)


def _add_parameters(page: Page, data: FigureData) -> FigureSet:
    charts = {}
    for clip in (data.phases[index] for index in data.detailed()):
        part, title = clip[: round(_PART_S * clip.fps)], f"Phase parameters: {label(clip.name)}"
        charts[clip.name] = dp.figures.parameters_over_time(
            part.parameters, clip.fps, interior=part.interior, title=title
        )
    page.add_choice(
        charts,
        "Parameters over time",
        f"Up to the first {_PART_S:g} seconds. In a steady motion each phase rises in straight "
        "lines, whose slope is the frequency, while frequency and amplitude stay constant.",
        min_width=_MIN_WIDTH,
    )
    return _numbered("parameters_over_time", charts)


def _add_windows(page: Page, data: FigureData) -> FigureSet:
    model, charts = data.model, {}
    # Baselines have no decoder, and embeddings no sinusoids.
    if not isinstance(model, dp.PhaseModel) or isinstance(model.network, EmbeddingAutoencoder):
        return {}
    for index in data.detailed():
        inside, name = data.inside(index), data.phases[index].name
        middle = int(inside[len(inside) // 2])
        charts[name] = window_fit(example_window(model, data.signals[index], middle, clip=name))
    signals = "audio features" if isinstance(model.signals, SongSignals) else "joint velocities"
    page.add_choice(
        charts,
        "One window and its reconstruction",
        f"Left: the strongest {signals} of a window, and their reconstruction from the sinusoids. "
        "Right: the latent of each channel, and the sinusoid that fits it, with frequency, "
        "amplitude, phase and offset.",
        min_width=_MIN_WIDTH,
    )
    return _numbered("window", charts)


def _add_similarity(page: Page, data: FigureData) -> FigureSet:
    detailed, charts = data.detailed(), {}
    first, last = detailed[0], detailed[-1]
    for pair in dict.fromkeys([(first, first), (last, last), (first, last)]):
        names = (data.phases[pair[0]].name, data.phases[pair[1]].name)
        inside = [(index, data.inside(index)) for index in pair]
        manifolds = tuple(data.phases[i].parameters.manifold()[kept] for i, kept in inside)
        velocities = tuple(data.signals[i][kept] for i, kept in inside)
        title = f"{names[0]} with {names[1] if pair[0] != pair[1] else 'itself'}"
        charts[title] = dp.figures.similarity_map(
            {"phase manifold": manifolds, "joint velocities": velocities},
            data.model.fps,
            names=names,
        )
    page.add_choice(
        charts,
        "Similar frames",
        "Similarity of every frame of one clip to every frame of another (or itself); bright means "
        "similar. Lines along the diagonal are similar passages, one per cycle of a periodic "
        "movement. Lines across it are poses that recur in reverse order: the phase manifold "
        "should have none.",
        min_width=_MIN_WIDTH,
    )
    return _numbered("similarity", charts)


def _numbered(name: str, charts: FigureSet) -> FigureSet:
    """The charts under numbered file names."""
    return {f"{name}_{number}": chart for number, chart in enumerate(charts.values(), start=1)}


@torch.inference_mode()
def example_window(
    model: dp.PhaseModel, signals: Array, frame: int, *, clip: str = ""
) -> WindowExample:
    """Encode and decode the window around one frame of signals (frames, signals)."""
    network = model.network
    values = torch.as_tensor(
        padded(signals, model.window, model.signals.PADDING),
        device=next(network.parameters()).device,
    )
    centre = torch.tensor([frame + model.window // 2], device=values.device)
    window = gather(values, centre, model.window)
    encoding = network.encode(window)
    fitted = network.sinusoids(encoding)
    phase, *others = (_numpy(item) for item in encoding[:4])
    times = (np.arange(model.window) - model.window // 2) / model.fps
    parameters = dp.PhaseParameters(wrapped(phase), *others)
    latent_times = network.times.cpu().numpy()
    return WindowExample(
        times=times,
        names=tuple(model.signals.names),
        signals=_numpy(window),
        reconstruction=_numpy(network.decode(fitted)),
        latent=np.stack([np.interp(times, latent_times, each) for each in _numpy(encoding.latent)]),
        fitted=parameters.sinusoid(times),
        parameters=parameters,
        clip=clip,
        unit=model.signals.UNIT,
        at=frame / model.fps,
    )


def _numpy(batch: torch.Tensor) -> Array:
    return batch[0].float().cpu().numpy()
