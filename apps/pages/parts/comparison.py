"""The convolutional autoencoder without phase layers that a phase model is compared with."""

from __future__ import annotations

import tempfile
from dataclasses import replace

import streamlit as st

from apps.pages.parts.collection import OpenClips, OpenModel, model_sources
from apps.pages.parts.session import session
from apps.pages.parts.telling import working
from deepphase.phase.model import PhaseModel
from deepphase.phase.training import train_phase

# As many windows as take a minute on a laptop; a look, not a result.
_WINDOWS, _BATCH = 40_960, 128
_NAME = "Without phases"


def compared_embedding(clips: OpenClips, model: OpenModel) -> OpenModel | None:
    """The embedding that reads these clips; where there is none, the page offers to train one."""
    sources = model_sources(clips, embeddings=True)
    window = model.extractor.window
    for source in sources:
        opened = source.open()
        if opened.extractor.window == window:
            return opened
    st.info(
        "No autoencoder without phase layers reads this skeleton yet. It trains in about a "
        "minute, for this session alone.",
        icon=":material/compare:",
    )
    if isinstance(model.extractor, PhaseModel) and st.button(
        "Train it", type="primary", key="train embedding"
    ):
        session().add_model(_NAME, _trained(clips, model.extractor))
        st.rerun()
    return None


def _trained(clips: OpenClips, model: PhaseModel) -> PhaseModel:
    """The same convolutions, window and channels around fully connected layers."""
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
        tempfile.TemporaryDirectory(prefix="deepphase-", dir=session().folder) as folder,
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
