"""Comparison of two phase models on the open clips, and the embedding to compare with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts.clouds import LABEL_COLOUR, OpenCloud, open_cloud
from deepphase.apps.dashboard.parts.collection import MODELS, OpenClips, OpenModel, model_sources
from deepphase.apps.dashboard.parts.files import ListedSource
from deepphase.apps.dashboard.parts.messages import plain, show_error, working
from deepphase.apps.dashboard.parts.session import session
from deepphase.apps.dashboard.parts.trainings import curve_of, own_trainings
from deepphase.apps.dashboard.parts.widgets import (
    offer_table,
    show_figure,
    show_table,
    table_height,
)
from deepphase.apps.reports.health_section import health_rows
from deepphase.arrays import Array
from deepphase.errors import DeepPhaseError
from deepphase.figures.learning_curves import learning_curves
from deepphase.figures.manifold import alignment
from deepphase.figures.theme import label
from deepphase.phase.model import PhaseModel
from deepphase.temporary_files import temporary_folder

# A training of about a minute on a laptop: enough for a picture.
_WINDOWS, _BATCH = 40_960, 128
_NAME = "Without phases"
# Points of each figure, and its height in pixels.
_POINTS, _HEIGHT = 5_000, 520
_NONE = "none"
# Frames of two models are the same within this step of time, and so many are enough to align them.
_SAME_HZ, _MOST_FRAMES, _LEAST_SAME = 60.0, 1e9, 50


def embedding_for(clips: OpenClips, model: OpenModel) -> OpenModel | None:
    """The embedding for these clips; if there is none, the page offers to train one."""
    sources = model_sources(clips, embeddings=True)
    window = model.extractor.window
    for source in sources:
        opened = source.open()
        if opened.extractor.window == window:
            return opened
    st.info(
        "No autoencoder without phase layers reads this skeleton yet. It trains in about a "
        "minute, for this session only.",
        icon=":material/compare:",
    )
    if isinstance(model.extractor, PhaseModel) and st.button(
        "Train it", type="primary", key="train embedding"
    ):
        path = session().new_path(MODELS.suffix)
        _trained(clips, model.extractor).save(path)
        session().add_file(path, _NAME)
        st.rerun()
    return None


def _trained(clips: OpenClips, model: PhaseModel) -> PhaseModel:
    """Train the model's convolutions, window and channels with fully connected layers."""
    # Lightning is imported in seconds, and no page needs it before.
    from deepphase.phase.training.train import train_phase

    network = replace(model.config.network, preset="conv_embedding")
    training = replace(
        model.config.training,
        windows=_WINDOWS,
        batch_size=_BATCH,
        learning_rate=2e-3,
        schedule="cosine",
    )
    with (
        working("Training the autoencoder without phases") as progress,
        temporary_folder(session().folder) as folder,
    ):
        trained: PhaseModel | None = train_phase(
            clips.store,
            replace(model.config, network=network, training=training),
            folder=folder,
            progress=progress,
            accelerator="cpu",
        )
    assert trained is not None, "one process trains"
    return trained


def compare_models(clips: OpenClips) -> None:
    """Draw the comparison of two models: measures, learning curves and manifolds."""
    sources = _sources(clips)
    st.header("Compare two models", anchor=False)
    if len(sources) < 2:
        st.caption(
            "Only one model reads these clips. Train or open another one to compare them here."
        )
        return
    if not st.toggle(
        "Show the comparison", key="compare", help="Both models read the phases of all clips"
    ):
        return
    _compared(clips)


def _sources(clips: OpenClips) -> list[ListedSource[OpenModel]]:
    embeddings = model_sources(clips, embeddings=True)
    return [*model_sources(clips), *(each for each in embeddings if each.id != "demo embedding")]


@st.fragment
def _compared(clips: OpenClips) -> None:
    sources = _sources(clips)
    places = list(range(len(sources)))
    columns = st.columns(2, gap="medium")
    chosen = [
        column.selectbox(
            words, places, index=at, format_func=lambda at: sources[at].name, key=f"compared {at}"
        )
        for at, (column, words) in enumerate(zip(columns, ("One", "Other"), strict=True))
    ]
    try:
        models = [sources[at].open() for at in chosen]
        _measures(models)
        _curves(models)
        clouds = [open_cloud(clips, model, _POINTS) for model in models]
        points, alike = aligned_clouds(clouds)
        for at, (column, model) in enumerate(zip(columns, models, strict=True)):
            with column:
                _manifold(clips, model, clouds[at], points[at], at)
        if alike is not None:
            st.caption(
                "The other manifold is turned and mirrored so that the same frames lie as near to "
                f"each other as they can: {alike:.0%} of its variance is then that of the one."
            )
    except DeepPhaseError as error:
        show_error(error)


def _measures(models: list[OpenModel]) -> None:
    columns = [_values(model) for model in models]
    rows = [
        (name, *(values.get(name, _NONE) for values in columns))
        for name in dict.fromkeys(name for values in columns for name in values)
    ]
    names = [models[0].name, models[1].name]
    if names[0] == names[1]:
        names[1] += " (again)"
    show_table(
        "both models",
        {
            "Measure, each on its own held-out clips": [row[0] for row in rows],
            names[0]: [row[1] for row in rows],
            names[1]: [row[2] for row in rows],
        },
        height=table_height(len(rows)),
    )
    offer_table(["measure", *names], rows, "models_compared", "compared csv")


def _curves(models: list[OpenModel]) -> None:
    trainings = {each.kept.id: each for each in own_trainings() if each.kept}
    runs = list(dict.fromkeys(model.id for model in models if model.id in trainings))
    if not runs:
        return
    chart = learning_curves(
        [curve_of(trainings[each].run.name, trainings[each].run.status().epochs) for each in runs],
        title="Learning curves",
    )
    show_figure(chart, "compared curves", file="learning_curves_compared")


def aligned_clouds(clouds: list[OpenCloud]) -> tuple[list[Array], float | None]:
    """Places of both clouds, the second turned towards the first, and what they share of variance.

    None, and the second as it is, where the models do not read the same frames.
    """
    first, second = (each.cloud for each in clouds)
    one_key, other_key = (
        each.clip * _MOST_FRAMES + np.rint(each.cloud.time * _SAME_HZ) for each in clouds
    )
    _, *same = np.intersect1d(one_key, other_key, assume_unique=True, return_indices=True)
    if len(same[0]) < _LEAST_SAME:
        return [first.points, second.points], None
    one, other = first.points[same[0]], second.points[same[1]]
    turn = alignment(other, one)
    turned, kept = other @ turn - (other @ turn).mean(0), one - one.mean(0)
    alike = np.square((turned * kept).sum()) / (np.square(turned).sum() * np.square(kept).sum())
    return [first.points, second.points @ turn], float(alike)


def _manifold(clips: OpenClips, model: OpenModel, cloud: OpenCloud, points: Array, at: int) -> None:
    labels = [name for name in cloud.colourings if name.startswith(LABEL_COLOUR)]
    colouring = cloud.colourings[labels[0] if labels else "Clip"]
    space = (points, points.var(0) / max(float(cloud.phases.values.var(0).sum()), 1e-12))
    chart = cloud.cloud.figure(colouring, space, title=label(model.name))
    show_figure(chart, f"compared manifold {at}", height=_HEIGHT, file=f"manifold_{at + 1}")
    st.caption(f"{plain(model.name)} on {plain(clips.name)}.")


def _values(model: OpenModel) -> dict[str, str]:
    """Measure -> its value, for a model's row of the table."""
    extractor, health = model.extractor, model.extractor.health
    values = {
        "Phase channels": str(extractor.channels),
        "Window": f"{extractor.window / extractor.fps:.2f} s",
    }
    if health is not None:
        used = sorted(channel.frequency[1] for channel in health.channels if channel.in_use)
        frequencies = f"{', '.join(f'{each:.2f}' for each in used)} Hz" if used else _NONE
        values |= {name: value for name, value, _ in health_rows(health)}
        values["Channels in use"] = f"{len(used)} of {len(health.channels)}"
        values["Frequencies in use"] = frequencies
    return values
