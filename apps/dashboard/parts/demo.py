"""Demo data of the dashboard: synthetic motion of all gaits, and the model that is shipped."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import streamlit as st

from deepphase.apps.demo import PHASES
from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.model import PhaseModel
from deepphase.synthetic.gait import gaits_of
from deepphase.synthetic.gait_motion import locomotion
from deepphase.synthetic.training_set import corpus

NAME = "Made motion (demo)"
# Other individuals than those that the models learnt from.
_SEED = 2203
_CLIP_S, _BODY = 11.0, "biped"
# The fourth motion of a corpus is a medley of gaits.
_MEDLEY = 3


@st.cache_resource(show_spinner=False)
def demo_clips() -> ClipStore:
    """Every gait at a drifting speed, and a medley: some 5,000 interior frames."""
    generator = np.random.default_rng(_SEED)
    clips = []
    for gait in (gait.name for gait in gaits_of(_BODY).values() if gait.moves):
        made = locomotion(
            int(generator.integers(2**31)), _CLIP_S, body=_BODY, gait=gait, profile="drift"
        )
        labels = {"gait": gait.replace("_", " "), "pace": "drifting"}
        clips.append(replace(made.clip, name=gait, labels=labels))
    *_, medley = corpus(_SEED, (_MEDLEY + 1) * _CLIP_S / 60, body=_BODY, clip_seconds=_CLIP_S)
    labels = {"gait": "medley", "pace": "changing"}
    clips.append(replace(medley.clip, name="medley", labels=labels))
    return ClipStore.from_clips(clips)


@st.cache_resource(show_spinner=False)
def demo_model() -> PhaseModel:
    """The small phase model that is shipped."""
    return PhaseModel.load(PHASES)
