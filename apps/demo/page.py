"""The page of `deepphase demo`: what phases are, whether learning them worked, what comes next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from apps.demo.motion import PAGE, PICTURES, PLAYER
from apps.demo.sections import add_demo_folder, add_known_phase, in_words
from apps.reports.health_section import add_health
from apps.reports.manifold_cloud import ModelCloud
from apps.reports.page import Link, Page
from deepphase.corpus.clip_store import ClipStore
from deepphase.cycles import wrapped
from deepphase.evaluation.known_phase import KnownPhaseError
from deepphase.figures.channel_frequencies import channel_frequencies
from deepphase.figures.image import write_images
from deepphase.figures.manifold import Colouring, manifold_2d, manifold_3d
from deepphase.figures.parameters_over_time import parameters_over_time
from deepphase.figures.phase_and_truth import phase_and_truth
from deepphase.phase.health import weighted_median
from deepphase.phase.model import ClipPhases, PhaseModel
from deepphase.synthetic.truth_file import Truth

DemoFigures = dict[str, go.Figure]

# Of a user's clips, as many as have a colour of their own.
_CLIPS = 12
# Seconds that are shown over time.
_SHOWN_S = 10.0


@dataclass(frozen=True, eq=False)
class Demo:
    """What a run of the demo has made.

    Parameters
    ----------
    model, store
        The model, and the clips that it was trained on.
    phases
        Of the clips that were held out, as their files hold them.
    truths, errors
        The truth about each of those clips, and how far their phases are off; empty where
        nothing is known of them.
    toy
        Whether it was the smallest run.
    pictures
        Whether the figures are wanted as files.
    data
        The user's folder; None where the motion was made.
    group
        The skeleton group that was taken; None where there can be but one.
    """

    model: PhaseModel
    store: ClipStore
    phases: Sequence[ClipPhases]
    truths: Sequence[Truth]
    errors: Sequence[KnownPhaseError]
    toy: bool = False
    pictures: bool = True
    data: Path | None = None
    group: str | None = None


def demo_page(demo: Demo, folder: Path) -> Path:
    """Write the page into the folder, and its pictures where Chromium is found."""
    page = Page(
        "deepphase demo: from motion capture to phases",
        "Movement that repeats has a phase: where in its cycle it is. This folder shows how phases "
        "are learnt from clips that nobody has labelled, and what they look like.",
    )
    if demo.toy:
        page.add_text(
            "This is a toy run (--smallest). It shows that everything works on this machine; with "
            "so little motion and training, its numbers are not what the method can do. Run the "
            "same without that option for those.",
            heading="A word of care",
        )
    page.add_text(_what_was_done(demo), heading="What was done")
    if demo.phases:
        page.add_table(
            ("Watch it", "What it shows"),
            [
                (
                    Link(PLAYER, "Open the player"),
                    "The body in motion beside its phase channels and its place on the manifold, "
                    "under one time cursor.",
                )
            ],
        )
    charts: DemoFigures = {}
    if demo.truths:
        add_known_phase(page, demo.errors, demo.model.fps)
        charts |= _add_truth_over_time(page, demo)
    else:
        add_health(page, demo.model.health)
    shown = _shown(demo.phases)
    if shown:
        charts |= _add_manifold(page, demo, shown)
        charts |= _add_over_time(page, shown, known=bool(demo.truths))
        charts |= _add_frequencies(page, demo, shown)
    problem = ""
    if demo.pictures:
        files: dict[str | Path, go.Figure] = {
            folder / PICTURES / name: chart for name, chart in charts.items()
        }
        problem = write_images(files).problem
    add_demo_folder(
        page, demo.model.config, data=demo.data, group=demo.group, pictures=demo.pictures
    )
    if problem:
        page.add_text(f"The figures were not written as files: {problem}.")
    return page.write(folder / PAGE)


def _what_was_done(demo: Demo) -> str:
    network, store = demo.model.config.network, demo.store
    learnt = (
        "From the joints' velocities alone, in windows of "
        f"{network.window_s:g} s, a periodic autoencoder has learnt to describe the movement "
        f"around every frame by {network.channels} sinusoids, its phase channels: each has a phase "
        "(where in its cycle the movement is), a frequency, an amplitude and an offset. "
    )
    clips = f"{len(store)} clips, {store.minutes:.1f} minutes"
    if demo.data is None:
        return (
            "A body that walks, runs, skips, steps aside and turns was animated by formula "
            f"({clips}), without a word on which frame shows what. {learnt}Then it read the phases "
            f"of {len(demo.phases)} clips that it had never seen, by other individuals, and these "
            "are compared below with the true phase of the feet, which the formula knows."
        )
    chosen = f" of the skeleton {demo.group}" if demo.group else ""
    return (
        f"Your motion files became one store ({clips}{chosen}). {learnt}A part of the motion was "
        "kept from it, and that part is what is measured and shown below."
    )


def _shown(phases: Sequence[ClipPhases]) -> list[ClipPhases]:
    """As many clips as the figures can tell apart, spread evenly."""
    usable = [clip for clip in phases if clip.interior.any()]
    usable = usable or [clip for clip in phases if len(clip)]
    chosen = np.unique(np.linspace(0, len(usable) - 1, _CLIPS).round().astype(int))
    return [usable[index] for index in chosen] if usable else []


def _add_truth_over_time(page: Page, demo: Demo) -> DemoFigures:
    clip, truth, error = demo.phases[0], demo.truths[0], demo.errors[0]
    limb = 0
    key, name = error.keys[limb], in_words(truth.limb_names[limb])
    inside = np.flatnonzero(clip.interior)[: round(_SHOWN_S * clip.fps)]
    chart = phase_and_truth(
        clip.time[inside],
        wrapped(clip.parameters.phase[inside, key.channel] - key.shift),
        wrapped(key.multiple * truth.phase[inside, limb]),
        channel=key.channel,
        contacts=truth.contacts[inside, limb],
        limb=name,
    )
    page.add_figure(
        chart,
        f"A held-out clip over time: {in_words(clip.name)}",
        f"The broad grey line is the true phase of the {name}: it is 0 when the foot touches the "
        "ground, climbs with time and starts again with each stride. The thin line is what the "
        f"model says (channel {key.channel}, shifted by one constant). The lower row is the "
        "difference, in cycles.",
    )
    return {"phase_and_truth.png": chart}


def _add_manifold(page: Page, demo: Demo, shown: Sequence[ClipPhases]) -> DemoFigures:
    cloud = ModelCloud.of(demo.model, shown)
    given = cloud.given
    if demo.truths:
        gaits = [np.full(len(t), in_words(t.clip)) for t in demo.truths]
        name = in_words(demo.truths[0].limb_names[0])
        first = Colouring("gait", cloud.gathered(gaits))
        phases = cloud.gathered([truth.phase[:, 0] for truth in demo.truths])
        second = Colouring(f"true phase, {name}", phases, unit="cycles", cyclic=True)
        what, text = (
            "gait",
            (
                f"The same points; the colour is now where the {name} truly is in its stride (0: "
                "it touches the ground). Around each ring the colours should follow each other "
                "once, in the same order. The model was told nothing of this."
            ),
        )
    else:
        first, second, what = cloud.by_clip(), cloud.by_frequency(), "clip"
        text = (
            "The same points; the colour is the mean frequency over channels, weighted by "
            "amplitude. It should change smoothly from slow movements to quick ones."
        )
    flat = {"by": manifold_2d(colour=first, **given), "of": manifold_2d(colour=second, **given)}
    solid = {"by": manifold_3d(colour=first, **given), "of": manifold_3d(colour=second, **given)}
    page.add_figure(
        flat["by"],
        f"The phase manifold, coloured by {what}",
        "Each point is one frame of a held-out clip: the phases and amplitudes of all channels "
        "together, seen from the side that shows most. A movement that repeats draws a ring, once "
        "around a cycle; different movements draw rings of their own. Click a name to hide it.",
    )
    page.add_figure(flat["of"], f"The same, coloured by {second.name}", text)
    page.add_figure(
        solid["by"],
        f"The manifold in space, coloured by {what}",
        "Drag to turn it, scroll to come closer. Rings that lie on each other in the plane come "
        "apart in a third direction.",
    )
    page.add_figure(
        solid["of"],
        f"In space, coloured by {second.name}",
        "Points that lie close together should have colours that are close together, here too.",
    )
    kind = "true_phase" if demo.truths else "frequency"
    return {
        f"manifold_2d_{what}.png": flat["by"],
        f"manifold_2d_{kind}.png": flat["of"],
        f"manifold_3d_{what}.png": solid["by"],
        f"manifold_3d_{kind}.png": solid["of"],
    }


def _add_over_time(page: Page, shown: Sequence[ClipPhases], *, known: bool) -> DemoFigures:
    clip = shown[0] if known else max(shown, key=lambda each: int(each.interior.sum()))
    part = slice(0, round(_SHOWN_S * clip.fps))
    chart = parameters_over_time(
        clip.parameters[part], clip.fps, interior=clip.interior[part], title="Phase parameters"
    )
    page.add_figure(
        chart,
        f"All channels of one clip: {in_words(clip.name) if known else clip.name}",
        "What deepphase encode writes for every frame. In a steady movement the phases climb in "
        "straight lines, as steep as their frequency is high, and the rest stays level. Strong "
        "channels are bold, weak ones faint.",
    )
    return {"parameters.png": chart}


def _add_frequencies(page: Page, demo: Demo, shown: Sequence[ClipPhases]) -> DemoFigures:
    inside = [c.parameters[c.interior] if c.interior.any() else c.parameters for c in shown]
    channels = range(demo.model.config.network.channels)
    frequency = [
        [weighted_median(each.frequency[:, c], each.amplitude[:, c]) for c in channels]
        for each in inside
    ]
    amplitude = np.stack([each.amplitude.mean(0) for each in inside])
    references = None
    text = ""
    if demo.errors:
        stride = np.array([error.stride_hz[0] for error in demo.errors])
        references = {"once a stride": stride, "twice a stride": 2 * stride}
        text = (
            " The grey strokes are the true frequency of the strides, and twice that: arms and "
            "legs swing once a stride, the body bounces twice, with every step. The strong "
            "channels should sit on them."
        )
    names = [in_words(c.name) if demo.truths else c.name for c in shown]
    chart = channel_frequencies(names, np.array(frequency), amplitude, references=references)
    page.add_figure(
        chart,
        "How the channels divide the frequencies",
        "A column for each held-out clip, a dot for each channel: how high it stands is its "
        f"frequency, how large it is its amplitude in that clip.{text}",
        least_width=720,
    )
    return {"channel_frequencies.png": chart}
