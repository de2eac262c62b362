"""Page of `deepphase demo`: its figures, their explanation and the measured phase errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from apps.demo.motion import LIVE, PAGE, PICTURES, PLAYER
from apps.demo.players import chain, ring_take
from apps.demo.sections import add_demo_folder, add_known_phase, in_words
from apps.reports.health_section import add_health
from apps.reports.manifold_cloud import PhaseCloud
from apps.reports.page import Link, Page
from deepphase.corpus.clip_store import ClipStore
from deepphase.cycles import wrapped
from deepphase.evaluation.known_phase import KnownPhaseError
from deepphase.figures.channel_frequencies import channel_frequencies
from deepphase.figures.image import write_images
from deepphase.figures.manifold import Colouring, manifold_2d, manifold_3d
from deepphase.figures.parameters_over_time import parameters_over_time
from deepphase.figures.phase_and_truth import phase_and_truth
from deepphase.motion.clip import Clip
from deepphase.phase.model import ClipPhases, PhaseModel
from deepphase.phase.parameter_errors import weighted_percentile
from deepphase.progress import Progress
from deepphase.synthetic.truth_file import Truth
from deepphase.viewer.page import player_html

DemoFigures = dict[str, go.Figure]

# Maximum number of clips in the figures: as many as there are distinct colours.
_MAX_CLIPS = 12
# Length of the figures over time, in seconds.
_PLOTTED_S = 10.0
# Pixels of the frames of players; those of the chain take the height of their content.
_RING_HEIGHT, _PLAYER_HEIGHT = 580, 760


@dataclass(frozen=True, eq=False)
class Demo:
    """Results of a run of the demo.

    Parameters
    ----------
    model, store
        The model, and the clips that it was trained on.
    phases
        Phases of the held-out clips, as read from their files.
    clips
        Name -> clip, of the first of these clips, to play.
    truths, errors
        True phases and phase errors of these clips; empty if the true phases are unknown.
    toy
        Whether the run has the smallest size.
    pictures
        Whether to write the figures as PNG files.
    data
        The user's folder of motion files; None for synthetic motion.
    group
        Name of the skeleton group; None for synthetic motion, which has only one.
    """

    model: PhaseModel
    store: ClipStore
    phases: Sequence[ClipPhases]
    clips: Mapping[str, Clip]
    truths: Sequence[Truth]
    errors: Sequence[KnownPhaseError]
    toy: bool = False
    pictures: bool = True
    data: Path | None = None
    group: str | None = None


def demo_page(demo: Demo, folder: Path, progress: Progress) -> Path:
    """Write the page into the folder, and its figures as PNG if Chromium is found."""
    page = Page(
        "deepphase demo: from motion capture to phases",
        "Movement that repeats has a phase: where in its cycle it is. This folder shows how phases "
        "are learnt from unlabelled clips, and what they look like.",
    )
    if demo.toy:
        page.add_text(
            "This is a toy run (--smallest). It shows that everything works on this machine. With "
            "so little motion and training, its errors are larger than those of the method. Run "
            "the demo without this option for better ones.",
            heading="Limits of this run",
        )
    if demo.clips:
        _add_players(page, demo, progress)
    views: list[tuple[Link, str]] = [
        (
            Link(LIVE, "Steer a character"),
            "A character that obeys keys, mouse, gamepad or touch. Its controller comes with the "
            "program and reads such phases.",
        )
    ]
    if demo.phases:
        views.append(
            (
                Link(PLAYER, "Open the player"),
                "The moving body beside its phase channels and its position on the manifold, "
                "with one time cursor.",
            )
        )
    page.add_table(("Watch it", "What it shows"), views)
    page.add_text(_what_was_done(demo), heading="What was done")
    charts: DemoFigures = {}
    if demo.truths:
        add_known_phase(page, demo.errors, demo.model.fps)
        charts |= _add_truth_over_time(page, demo)
    else:
        add_health(page, demo.model.health)
    clips = _plotted_clips(demo.phases)
    if clips:
        charts |= _add_manifold(page, demo, clips)
        charts |= _add_over_time(page, clips, known=bool(demo.truths))
        charts |= _add_frequencies(page, demo, clips)
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


def _add_players(page: Page, demo: Demo, progress: Progress) -> None:
    """Add the body and its ring above the title, and the links of the chain below."""
    phases = [each for each in demo.phases if each.name in demo.clips]
    clips = [demo.clips[each.name] for each in phases]
    ring = ring_take(clips, phases, demo.model)
    page.add_player(
        player_html([ring], title="A body and its ring", playing=True, bare=True),
        "A body in motion, and its moment on the ring of its phases",
        height=_RING_HEIGHT,
        first=True,
    )
    links = chain(clips, phases, demo.model, toy=demo.toy, progress=progress)
    for place, each in enumerate(links):
        page.add_player(
            player_html([each.take], title=each.heading, embedded=True, playing=True),
            each.heading,
            height=_PLAYER_HEIGHT,
            heading=f"{place + 1}. {each.heading}",
            words=each.words,
        )


def _what_was_done(demo: Demo) -> str:
    network, store = demo.model.config.network, demo.store
    learnt = (
        "From joint velocities alone, in windows of "
        f"{network.window_s:g} s, a periodic autoencoder has learnt to describe the movement "
        f"around every frame by {network.channels} sinusoids, its phase channels. Each has a phase "
        "(where in its cycle the movement is), a frequency, an amplitude and an offset. "
    )
    clips = f"{len(store)} clips, {store.minutes:.1f} minutes"
    if demo.data is None:
        return (
            "A body that walks, runs, skips, steps aside and turns was animated by formula "
            f"({clips}), without labels. {learnt}The model then encoded {len(demo.phases)} "
            "held-out clips in other styles of movement. Their phases are compared below with the "
            "true phase of the feet, which the formula gives."
        )
    chosen = f" of the skeleton {demo.group}" if demo.group else ""
    return (
        f"Your motion files became one store ({clips}{chosen}). {learnt}Part of the motion was "
        "held out of the training. It is measured and plotted below."
    )


def _plotted_clips(phases: Sequence[ClipPhases]) -> list[ClipPhases]:
    """An even selection of the clips, no more than there are colours."""
    usable = [clip for clip in phases if clip.interior.any()]
    usable = usable or [clip for clip in phases if len(clip)]
    chosen = np.unique(np.linspace(0, len(usable) - 1, _MAX_CLIPS).round().astype(int))
    return [usable[index] for index in chosen] if usable else []


def _add_truth_over_time(page: Page, demo: Demo) -> DemoFigures:
    clip, truth, error = demo.phases[0], demo.truths[0], demo.errors[0]
    limb = 0
    key, name = error.keys[limb], in_words(truth.limb_names[limb])
    inside = np.flatnonzero(clip.interior)[: round(_PLOTTED_S * clip.fps)]
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
        f"The broad grey line is the true phase of the {name}. It is 0 when the foot touches the "
        "ground, grows with time and starts again with each stride. The thin line is the phase of "
        f"the model (channel {key.channel}, shifted by a constant). The lower row is the "
        "difference in cycles.",
    )
    return {"phase_and_truth.png": chart}


def _add_manifold(page: Page, demo: Demo, clips: Sequence[ClipPhases]) -> DemoFigures:
    cloud = PhaseCloud.of(demo.model, clips)
    axes = cloud.figure_arguments
    if demo.truths:
        gaits = [np.full(len(t), in_words(t.clip)) for t in demo.truths]
        name = in_words(demo.truths[0].limb_names[0])
        first = Colouring("gait", cloud.gathered(gaits))
        phases = cloud.gathered([truth.phase[:, 0] for truth in demo.truths])
        second = Colouring(f"true phase, {name}", phases, unit="cycles", cyclic=True)
        what, text = (
            "gait",
            (
                f"The same points, coloured by the true phase of the {name} in its stride (0 when "
                "it touches the ground). Around each ring the colours should follow each other "
                "once, in the same order. The true phase was not used in training."
            ),
        )
    else:
        first, second, what = cloud.by_clip(), cloud.by_frequency(), "clip"
        text = (
            "The same points, coloured by the mean frequency over channels, weighted by amplitude. "
            "The colour should change smoothly from slow movements to fast ones."
        )
    flat = {"by": manifold_2d(colour=first, **axes), "of": manifold_2d(colour=second, **axes)}
    solid = {"by": manifold_3d(colour=first, **axes), "of": manifold_3d(colour=second, **axes)}
    page.add_figure(
        flat["by"],
        f"The phase manifold, coloured by {what}",
        "Each point is one frame of a held-out clip: the phases and amplitudes of all channels, "
        "projected onto the directions in which they vary most. A periodic movement forms a ring, "
        "with one turn per cycle; different movements form different rings. Click a name to hide "
        "it.",
    )
    page.add_figure(flat["of"], f"The same, coloured by {second.name}", text)
    page.add_figure(
        solid["by"],
        f"The manifold in 3D, coloured by {what}",
        "Drag to rotate, scroll to zoom. Rings that overlap in the plane are apart in the third "
        "direction.",
    )
    page.add_figure(
        solid["of"],
        f"The same in 3D, coloured by {second.name}",
        "Neighbouring points should have similar colours here, too.",
    )
    kind = "true_phase" if demo.truths else "frequency"
    return {
        f"manifold_2d_{what}.png": flat["by"],
        f"manifold_2d_{kind}.png": flat["of"],
        f"manifold_3d_{what}.png": solid["by"],
        f"manifold_3d_{kind}.png": solid["of"],
    }


def _add_over_time(page: Page, clips: Sequence[ClipPhases], *, known: bool) -> DemoFigures:
    clip = clips[0] if known else max(clips, key=lambda each: int(each.interior.sum()))
    part = slice(0, round(_PLOTTED_S * clip.fps))
    chart = parameters_over_time(
        clip.parameters[part], clip.fps, interior=clip.interior[part], title="Phase parameters"
    )
    page.add_figure(
        chart,
        f"All channels of one clip: {in_words(clip.name) if known else clip.name}",
        "The phase parameters that deepphase encode writes for every frame. In a steady movement "
        "the phases grow along straight lines, whose slope is the frequency, and the other "
        "parameters are constant. Strong channels are bold, weak ones faint.",
    )
    return {"parameters.png": chart}


def _add_frequencies(page: Page, demo: Demo, clips: Sequence[ClipPhases]) -> DemoFigures:
    inside = [c.parameters[c.interior] if c.interior.any() else c.parameters for c in clips]
    channels = range(demo.model.config.network.channels)
    frequency = [
        [weighted_percentile(each.frequency[:, c], each.amplitude[:, c], 0.5) for c in channels]
        for each in inside
    ]
    amplitude = np.stack([each.amplitude.mean(0) for each in inside])
    references = None
    text = ""
    if demo.errors:
        stride = np.array([error.stride_hz[0] for error in demo.errors])
        references = {"once a stride": stride, "twice a stride": 2 * stride}
        text = (
            " The grey lines are the true stride frequency and twice that: arms and legs swing "
            "once per stride, and the body bounces twice, with every step. The strong channels "
            "should lie on them."
        )
    names = [in_words(c.name) if demo.truths else c.name for c in clips]
    chart = channel_frequencies(names, np.array(frequency), amplitude, references=references)
    page.add_figure(
        chart,
        "Frequencies of the channels",
        "One column per held-out clip and one dot per channel. The height of a dot is the "
        f"frequency of the channel in that clip, its size the amplitude.{text}",
        min_width=720,
    )
    return {"channel_frequencies.png": chart}
