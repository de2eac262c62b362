"""An autoencoder without phase layers, beside which the phase manifold is shown."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from deepphase.apps.dashboard.parts.collection import MODELS, model_sources
from deepphase.apps.dashboard.parts.encodings import Encodings, encodings
from deepphase.apps.dashboard.parts.messages import working
from deepphase.apps.dashboard.parts.session import session
from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.model import PhaseModel
from deepphase.temporary_files import temporary_folder

# A training of about a minute on a laptop: enough for a picture.
_WINDOWS, _BATCH = 40_960, 128
_NAME = "Without phases"


def embedded(read: Encodings) -> Encodings | None:
    """The clips by an embedding; if there is none for them, the page offers to train one."""
    for source in model_sources(read.clips, embeddings=True):
        model = source.open()
        if model.extractor.window == read.extractor.window:
            return encodings(read.clips, model)
    st.info(
        "No autoencoder without phase layers reads this skeleton yet. It trains in about a "
        "minute, for this session only.",
        icon=":material/compare:",
    )
    if isinstance(read.extractor, PhaseModel) and st.button(
        "Train it", type="primary", key="train embedding"
    ):
        path = session().new_path(MODELS.suffix)
        _trained(read.store, read.extractor).save(path)
        session().add_file(path, _NAME)
        st.rerun()
    return None


def _trained(store: ClipStore, model: PhaseModel) -> PhaseModel:
    """Train the model's convolutions, window and channels with fully connected layers."""
    # Lightning is imported in seconds, and no page needs it before.
    from deepphase.phase.training.train import train_phase

    network = replace(model.config.network, preset="conv_embedding")
    training = replace(
        model.config.training,
        windows=_WINDOWS, batch_size=_BATCH, learning_rate=2e-3, schedule="cosine",
    )  # fmt: skip
    config = replace(model.config, network=network, training=training)
    with (
        working("Training the autoencoder without phases") as progress,
        temporary_folder(session().folder) as folder,
    ):
        trained: PhaseModel | None = train_phase(
            store, config, folder=folder, progress=progress, accelerator="cpu"
        )
    assert trained is not None, "one process trains"
    return trained
