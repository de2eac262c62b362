"""The choosers of page Control: which way, in which gait, how obediently."""

from __future__ import annotations

import streamlit as st

from apps.dashboard.parts.desired_path import choose_path
from apps.dashboard.parts.messages import plain
from apps.dashboard.parts.steerables import OpenController, OpenMatching
from apps.dashboard.parts.steered_runs import MOST_CHARACTER_S, Ask
from apps.runs.controller import BLENDS
from controllers.runtime.frame import CharacterSettings
from matching.player.player import PlayerSettings

_MOST_CHARACTERS, _LARGEST_SEED = 12, 2**31 - 1
_OWN = "own"
# Values of a label that stand beside each other, and labels of clips that can be chosen.
_BESIDE, _MOST_LABELS = 6, 2


def choose_run(opened: OpenController | OpenMatching, id: str) -> Ask | None:
    """Draw the choosers of label, path and the rest.

    Parameters
    ----------
    opened, id
        What is steered.

    Returns
    -------
    None where there is no path yet; the page has said what to do.

    Raises
    ------
    DeepPhaseError
        Where what is chosen is impossible.
    """
    if isinstance(opened, OpenController):
        labels = _label(opened, id)
        value = labels[opened.label][0] if labels else None
        usual = opened.speed(value)
    else:
        labels = _labels(opened, id)
        usual = opened.speed(labels)
    about = f"{id} {labels}"
    desired = choose_path(usual, about)
    if isinstance(opened, OpenController):
        biases = _blending()
    with st.expander("More", icon=":material/tune:"):
        most = _MOST_CHARACTERS
        if desired is not None:
            most = max(1, min(most, int(MOST_CHARACTER_S // desired[1])))
        characters = 1
        if most > 1:
            characters = st.slider(
                "Characters", 1, most, 1, key=f"characters {most}",
                help="Side by side, each on its own copy of the path; seconds times characters "
                f"are {MOST_CHARACTER_S:g} at most",
            )  # fmt: skip
        seed = st.number_input(
            "Seed", 0, _LARGEST_SEED, 0, key="run seed",
            help="Of how all but the first character begin, and of networks that draw",
        )  # fmt: skip
        held = st.toggle("Hold feet where they stand", True, key="hold feet")
        settings: CharacterSettings | PlayerSettings
        if isinstance(opened, OpenController):
            settings = CharacterSettings(
                position_bias=biases[0], direction_bias=biases[1], foot_ik=held
            )
        else:
            settings = _playing(held)
    if desired is None:
        return None
    path, seconds = desired
    return Ask(path, seconds, characters, int(seed), labels, settings)


def _label(opened: OpenController, id: str) -> dict[str, list[str]]:
    """The label that a controller is steered by."""
    if not opened.values:
        return {}
    words = opened.label[:1].upper() + opened.label[1:]
    usual = "walk" if "walk" in opened.values else opened.values[0]
    key = f"label {id}"
    if len(opened.values) <= _BESIDE:
        value = st.segmented_control(
            plain(words), opened.values, default=usual, required=True, key=key
        )
    else:
        value = st.selectbox(plain(words), opened.values, index=opened.values.index(usual), key=key)
    return {opened.label: [value or usual]}


def _labels(opened: OpenMatching, id: str) -> dict[str, list[str]]:
    """Which clips may be played."""
    found = {}
    for name, values in list(opened.labels.items())[:_MOST_LABELS]:
        chosen = st.multiselect(
            f"Only {plain(name)}", values, placeholder="any", key=f"only {id} {name}"
        )
        if chosen:
            found[name] = chosen
    return found


def _blending() -> tuple[float, float]:
    """Biases of positions and directions."""
    name = st.segmented_control(
        "Blending", [*BLENDS, _OWN], default="natural", required=True,
        format_func=str.capitalize, key="blending",
        help="How much the wish counts against what the network predicts: natural motion, or one "
        "that obeys",
    )  # fmt: skip
    if name != _OWN:
        return BLENDS[name or "natural"]
    columns = st.columns(2)
    position = columns[0].slider("Position bias", 0.1, 10.0, 0.5, step=0.1, key="position bias")
    direction = columns[1].slider("Direction bias", 0.1, 20.0, 2.0, step=0.1, key="direction bias")
    return position, direction


def _playing(held: bool) -> PlayerSettings:
    usual = PlayerSettings()
    search_s = st.slider(
        "Seconds between searches", 0.05, 1.0, usual.search_s, step=0.05, key="search seconds"
    )
    halflife = st.slider(
        "Blend halflife (s)", 0.02, 0.5, usual.transition_halflife_s, step=0.02, key="halflife",
        help="In which the difference from the motion before a jump is halved",
    )  # fmt: skip
    share = st.slider(
        "Drawn to the path (%)", 0, 50, round(100 * usual.adjust_share), step=5, key="drawn",
        help="At most this share of the motion's own speed is added, to keep to the path",
    )  # fmt: skip
    return PlayerSettings(
        search_s=search_s,
        transition_halflife_s=halflife,
        adjust_share=share / 100,
        foot_lock=held,
    )
