"""All figures of a phase model on some clips, as one page and as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from apps.reports.example_window import example_window
from apps.reports.figure_material import FigureMaterial
from apps.reports.manifold_cloud import ModelCloud
from apps.reports.page import Page
from deepphase.figures.explained_by_joint import explained_by_joint
from deepphase.figures.image import Images, write_images
from deepphase.figures.manifold import manifold_2d, manifold_3d
from deepphase.figures.parameter_distributions import parameter_distributions
from deepphase.figures.parameters_over_time import parameters_over_time
from deepphase.figures.phase_strips import phase_strips
from deepphase.figures.similarity_map import similarity_map
from deepphase.figures.theme import dressed, label
from deepphase.figures.window_fit import window_fit
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.embedding_autoencoder import EmbeddingAutoencoder
from deepphase.phase.parameters import PhaseParameters

FigureSet = dict[str, go.Figure]

# Seconds of a clip over time, and joined: more cycles would run into each other.
_SHOWN_S = 10.0
# Pixels across below which a figure is scrolled; those of a space keep their axes' names.
_LEAST_WIDTH, _LEAST_SOLID = 640, 600
# Pixels of a picture's file for each of the drawing.
_SCALE = 2.0


def figures_page(
    material: FigureMaterial,
    folder: Path,
    *,
    colours: Sequence[str] | None = None,
    compared: Mapping[str, FigureMaterial] | None = None,
    dark: bool = False,
    pictures: bool = False,
) -> tuple[Path, Images]:
    """Write FOLDER/index.html with all figures and, if wanted, each as FOLDER/<figure>.png.

    Parameters
    ----------
    material
        What they are drawn of.
    colours
        What the manifold is coloured by, as in `FigureMaterial.colourings`.
    compared
        The same clips as other models see them, by a name for each.
    dark
        On a dark ground; the page otherwise follows the reader's colour scheme.
    pictures
        Whether PNG files are wanted too.

    Returns
    -------
    The page, and the pictures with a reason where there are none.

    Raises
    ------
    ParameterError
        Where a colour is unknown.
    CheckpointError
        Where the disk or the folder refuses.
    """
    model = material.model
    clips = f"{len(material.phases)} clips"
    if material.left_out:
        clips += f" of {len(material.phases) + material.left_out}"
    page = Page(
        "The phase model in pictures",
        f"{model.channels} phase channels, read off {clips} in windows of "
        f"{model.window / model.fps:.2g} s at {model.fps:g} frames a second. "
        "A channel has the same colour in all figures.",
        look="dark" if dark else "auto",
    )
    charts = _add_manifold(page, material, colours)
    if compared:
        charts |= _add_comparison(page, material, compared)
    charts |= _add_series(page, material)
    charts |= _add_clips(page, material)
    charts |= _add_distributions(page, material)
    charts |= _add_windows(page, material)
    charts |= _add_similarity(page, material)
    if model.health is not None and model.health.explained_by_joint:
        charts["explained_by_joint"] = explained_by_joint(model.health.explained_by_joint)
        page.add_figure(
            charts["explained_by_joint"],
            "What comes back, joint by joint",
            "How much of each joint's motion the reconstruction explains, on the clips that were "
            "held out of the training.",
        )
    images = Images([])
    if pictures:
        files: dict[str | Path, go.Figure] = {
            folder / f"{name}.png": dressed(chart, dark=dark) for name, chart in charts.items()
        }
        images = write_images(files, height=None, scale=_SCALE, time_limit_s=60 + 5 * len(files))
    return page.write(folder / "index.html"), images


def _add_manifold(page: Page, material: FigureMaterial, colours: Sequence[str] | None) -> FigureSet:
    cloud = material.cloud
    charts: FigureSet = {}
    if cloud.padded:
        page.add_text(
            "No clip is as long as a window: every frame below was encoded with repeated poses.",
            heading="A word of care",
        )
    chosen = material.colourings(colours)
    for axes, draw, heading, words in (
        (
            2,
            manifold_2d,
            "The phase manifold in the plane",
            "Each point is one frame: all channels' phases and amplitudes, seen along the "
            "directions in which the training clips vary most. This view is kept with the model: "
            "other clips land in the same picture. Motion that repeats draws rings, once around a "
            "cycle, larger where the motion is larger.",
        ),
        (
            3,
            manifold_3d,
            "The phase manifold in space",
            "Drag to turn it, scroll to come closer. A third direction pulls apart rings that lie "
            "on each other in the plane.",
        ),
    ):
        drawn = {name: draw(colour=each, **cloud.given) for name, each in chosen.items()}
        tabs = {f"by {name}": chart for name, chart in drawn.items()}
        page.add_choice(tabs, heading, words, least_width=_LEAST_SOLID if axes == 3 else 0)
        charts |= {f"manifold_{axes}d_by_{_safe(name)}": each for name, each in drawn.items()}
    return charts


def _add_comparison(
    page: Page, material: FigureMaterial, compared: Mapping[str, FigureMaterial]
) -> FigureSet:
    colour, velocities = material.cloud.by_clip(), material.cloud.gathered(material.signals)
    view = ManifoldProjection.fit(velocities)
    moved = {"points": view(velocities), "explained": view.explained, "unit": "m/s"}
    charts = {
        "joint velocities": manifold_2d(
            colour=colour, title="Joint velocities", **(material.cloud.given | moved)
        )
    }
    for name, other in compared.items():
        charts[name] = manifold_2d(
            colour=other.cloud.by_clip(), title=label(name), **other.cloud.given
        )
    charts["this model"] = manifold_2d(colour=colour, title="This model", **material.cloud.given)
    page.add_choice(
        charts,
        "The same frames in other spaces",
        "Each picture shows the two directions in which its own space varies most; a colour is "
        "a clip in all of them. Where motion that repeats draws rings, angle is its timing and "
        "radius its size; where it draws knots, neither can be read off.",
    )
    return _numbered("compared", charts)


def _add_series(page: Page, material: FigureMaterial) -> FigureSet:
    detailed = material.detailed()
    begun, cut = [], False
    for index in detailed:
        clip = material.phases[index]
        stop = int(material.inside(index)[0]) + round(_SHOWN_S * clip.fps)
        cut |= bool((material.inside(index) >= stop).any())
        begun.append(
            replace(clip, parameters=clip.parameters[:stop], interior=clip.interior[:stop])
        )
    cloud = ModelCloud.of(material.model, begun, material.projection)
    if cut:
        words = f"the first {_SHOWN_S:g} s of each clip"
        cloud = replace(cloud, note=", ".join(filter(None, (cloud.note, words))))
    everything = ManifoldProjection.fit(material.cloud.gathered(material.signals))
    velocities = everything(cloud.gathered([material.signals[index] for index in detailed]))
    moved = {**cloud.given, "points": velocities, "explained": everything.explained, "unit": "m/s"}
    colour = cloud.by_clip()
    charts = {
        "phase manifold": manifold_2d(
            colour=colour, lines=True, title="Single clips on the phase manifold", **cloud.given
        ),
        "joint velocities": manifold_2d(
            colour=colour, lines=True, title="Single clips by their joint velocities", **moved
        ),
    }
    page.add_choice(
        charts,
        "Single clips, frame by frame",
        "Consecutive frames are joined. On the phase manifold a steady movement goes round and "
        "round; a change of pace leads from one ring to another. The joint velocities, along the "
        "directions in which they vary most, are what the network was given: compare the two.",
    )
    return _numbered("single_clips", charts)


def _add_clips(page: Page, material: FigureMaterial) -> FigureSet:
    strips, over_time = {}, {}
    for index in material.detailed():
        clip = material.phases[index]
        strips[clip.name] = phase_strips(
            clip.parameters,
            clip.fps,
            interior=clip.interior,
            title=f"Phases of all channels: {label(clip.name)}",
        )
        part = slice(0, round(_SHOWN_S * clip.fps))
        over_time[clip.name] = parameters_over_time(
            clip.parameters[part],
            clip.fps,
            interior=clip.interior[part],
            title=f"Phase parameters: {label(clip.name)}",
        )
    page.add_choice(
        strips,
        "Whole clips as strips of phase",
        "A row is a channel: it fills up over each cycle and starts again, and it is faint where "
        "the channel has little amplitude. Where a movement changes into another one, see which "
        "channels fade and which change their pace.",
        least_width=_LEAST_WIDTH,
    )
    page.add_choice(
        over_time,
        "Parameters over time",
        f"The first {_SHOWN_S:g} seconds at most. In a steady motion each phase climbs in straight "
        "lines, as steep as its frequency is high, while frequency and amplitude stay level.",
    )
    return {**_numbered("phase_strips", strips), **_numbered("parameters_over_time", over_time)}


def _add_distributions(page: Page, material: FigureMaterial) -> FigureSet:
    parts = [each.parameters[material.inside(index)] for index, each in enumerate(material.phases)]
    whole = PhaseParameters(
        *(
            np.concatenate([getattr(each, name) for each in parts])
            for name in ("phase", "frequency", "amplitude", "offset")
        )
    )
    chart = parameter_distributions(whole)
    page.add_figure(
        chart,
        "Which frequencies and amplitudes each channel takes",
        "Over all frames of these clips. Channels divide the movement among themselves as a set "
        "of band-pass filters would: each should keep to a range of its own.",
        least_width=_LEAST_WIDTH,
    )
    return {"parameter_distributions": chart}


def _add_windows(page: Page, material: FigureMaterial) -> FigureSet:
    model, charts = material.model, {}
    # Baselines reconstruct nothing, and an embedding has no sinusoids.
    if not isinstance(model, PhaseModel) or isinstance(model.network, EmbeddingAutoencoder):
        return {}
    for index in material.detailed():
        inside, name = material.inside(index), material.phases[index].name
        example = example_window(
            model, material.signals[index], int(inside[len(inside) // 2]), clip=name
        )
        charts[name] = window_fit(example)
    page.add_choice(
        charts,
        "One window and its reconstruction",
        "Left: the strongest joint velocities of a window, and what comes back out of the "
        "sinusoids. Right: the latent of each channel, and the sinusoid that fits it.",
        least_width=_LEAST_WIDTH,
    )
    return _numbered("window", charts)


def _add_similarity(page: Page, material: FigureMaterial) -> FigureSet:
    detailed = material.detailed()
    first, last = detailed[0], detailed[-1]
    pairs = list(dict.fromkeys([(first, first), (last, last), (first, last)]))
    charts = {}
    for one, other in pairs:
        names = (material.phases[one].name, material.phases[other].name)
        manifolds, velocities = (
            tuple(values(index)[material.inside(index)] for index in (one, other))
            for values in (
                lambda index: material.phases[index].parameters.manifold(),
                lambda index: material.signals[index],
            )
        )
        title = f"{names[0]} with {names[1] if one != other else 'itself'}"
        charts[title] = similarity_map(
            {"phase manifold": manifolds, "joint velocities": velocities},
            material.model.fps,
            names=names,
        )
    page.add_choice(
        charts,
        "Which frames are alike",
        "Every frame of one clip against every frame of another (or itself); bright: alike. "
        "Lines along the diagonal are passages that run alike, one for every cycle of a movement "
        "that repeats. Lines across it are frames that look alike while time runs backwards: the "
        "phase manifold should have none.",
        least_width=_LEAST_WIDTH,
    )
    return _numbered("similarity", charts)


def _numbered(name: str, charts: FigureSet) -> FigureSet:
    """The charts under file names; their titles say which clip it is."""
    return {f"{name}_{number}": chart for number, chart in enumerate(charts.values(), start=1)}


def _safe(name: str) -> str:
    """A label's name as part of a file's."""
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in name)
