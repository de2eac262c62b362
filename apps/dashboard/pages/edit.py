"""Page Edit: clips repaired, filled in, constrained, led along paths and given styles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import streamlit as st

from apps.dashboard.parts.collection import OpenClips, open_clips
from apps.dashboard.parts.editors import Edits, edits_of, folder_editors, opened_editor
from apps.dashboard.parts.messages import plain, show_error, working
from apps.dashboard.parts.pose_pad import pose_pad
from apps.dashboard.parts.theme import heading, wide_columns
from apps.dashboard.parts.widgets import offer, offer_player, show_figure, show_player
from deepphase.arrays import Array
from deepphase.editing.constrain import constrained
from deepphase.editing.damage import Damage, find_damage
from deepphase.editing.editor import MotionEditor
from deepphase.editing.inbetween import between_keys
from deepphase.editing.path_motion import motion_on_path, path_networks
from deepphase.editing.repair import repaired
from deepphase.editing.style import MAX_AMOUNT, styled
from deepphase.editing.targets import JointTarget
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.figures.player.actor import Actor
from deepphase.figures.player.take import Take
from deepphase.formats.bvh.writer import save_bvh
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.limbs import subtree_mask
from deepphase.motion.roles import find_roles
from deepphase.steering.made_paths import MADE_PATHS, made_path
from deepphase.temporary_files import temporary_folder

# Longest part of a clip that is edited, in seconds.
_EDITED_S = 60.0
_PLAYER_HEIGHT, _TIMELINE_HEIGHT = 720, 130
_TASKS = ("Repair", "In between", "Constrain", "Path", "Style")
# What an edit does: its words, and the function that makes the clip.
Edit = tuple[str, Callable[[], Clip]]


def page() -> None:
    """Draw the page."""
    heading(
        "Edit",
        "An editor knows which movements a body makes. Repair a clip, fill in between its key "
        "poses, put a hand or a foot at a place, make motion along a path, or take the style of "
        "another clip. Each edit starts from the result of the one before.",
    )
    left, right = wide_columns("edit", [3, 7])
    edits: Edits | None = None
    with left:
        try:
            edits = _choices()
        except DeepPhaseError as error:
            show_error(error)
    if edits is not None:
        with right:
            _result(edits)


def _choices() -> Edits | None:
    """Draw the choices; return the edits of the chosen clip, None without an editor."""
    editors = folder_editors()
    if not editors:
        st.info(
            "No editor is in the folder. `deepphase train editor STORE -o human.editor` makes one "
            "of your clips; then open the dashboard on its folder with `deepphase app FOLDER`.",
            icon=":material/info:",
        )
        return None
    name = st.selectbox("Editor", list(editors), key="editor")
    editor = opened_editor(editors[name])
    clips = open_clips()
    chosen = st.selectbox("Clip", list(clips.store.names), key="edited clip")
    whole = clips.store.clip(clips.store.names.index(chosen))
    given = editor.space.on_hips(whole.sliced(0, round(_EDITED_S * whole.fps)))
    if len(given) < len(whole):
        st.caption(f"The first {_EDITED_S:g} s of {whole.duration:,.0f} s are edited.")
    edits = edits_of((editors[name], clips.key, chosen), given)
    task = st.segmented_control("What to do", _TASKS, default=_TASKS[0], key="task")
    draw = {
        "Repair": _repair,
        "In between": _in_between,
        "Constrain": _constrain,
        "Path": _path,
        "Style": _style,
    }.get(task or "")
    edit = None if draw is None else draw(edits.clip, editor, clips)
    with st.container(horizontal=True):
        if st.button("Apply", type="primary", disabled=edit is None) and edit is not None:
            words, make = edit
            with working(words) as progress:
                progress(words, 0, 1, chosen)
                edits.add(words, make())
            st.rerun()
        if st.button("Undo", icon=":material/undo:", disabled=not edits.steps):
            edits.steps.pop()
            st.rerun()
    for number, (words, _) in enumerate(edits.steps, start=1):
        st.caption(f"{number}. {plain(words)}")
    return edits


def _repair(clip: Clip, editor: MotionEditor, clips: OpenClips) -> Edit | None:
    find = st.toggle("Find what is broken", value=True, key="find damage")
    if find:
        damage = find_damage(clip, editor)
        for finding in damage.findings:
            st.caption(plain(finding))
        if not damage.any:
            st.caption("Nothing broken was found. Switch this off to say what is broken.")
            return None
    else:
        last = len(clip) - 1
        first, stop = st.slider("Broken frames", 0, last, (last // 3, last // 2), key="broken")
        joints = st.multiselect(
            "Broken joints", editor.space.joints, placeholder="all", key="broken joints"
        )
        damage = Damage.stated(
            len(clip), editor.space.joints, joints=joints, stretches=[(first, stop)]
        )
    _timeline(clip, np.flatnonzero(damage.frames), "broken frames")
    words = f"repaired {damage.frames.sum()} frames"
    return words, lambda: repaired(clip, editor, damage)


def _in_between(clip: Clip, editor: MotionEditor, clips: OpenClips) -> Edit | None:
    every = st.slider("A key every so many frames", 5, 120, 30, key="every")
    usual = ", ".join(str(frame) for frame in range(0, len(clip), every))
    text = st.text_input(
        "Key frames", usual, key=f"keys {every} {len(clip)}",
        help="Frames whose poses stay, separated by commas; all others are made.",
    )  # fmt: skip
    try:
        keys = [int(word) for word in text.split(",")]
    except ValueError:
        raise ParameterError(f"{text!r}: frames are numbers, as in 0, 30, 60") from None
    _timeline(clip, np.array(keys), "key poses")
    return f"between {len(keys)} keys", lambda: between_keys(clip, keys, editor)


def _constrain(clip: Clip, editor: MotionEditor, clips: OpenClips) -> Edit | None:
    roles = find_roles(clip.skeleton, editor.space.description, clip=clip)
    ends = [joint for part in ("hand", "foot") for joint in roles.both(part) or ()]
    below = np.any([subtree_mask(clip.skeleton, joint) for joint in ends], axis=0)
    names = [clip.skeleton.names[joint] for joint in np.flatnonzero(below)]
    joint = st.selectbox("Joint", names, key="target joint")
    last = len(clip) - 1
    first, stop = st.slider("At frames", 0, last, (last // 2, last // 2), key="target frames")
    index = clip.skeleton.index(joint)
    own = joint_positions(clip)[first, index]
    name = f"{joint} {first} {clip.name} {len(clip)}"
    keys = [f"{axis} {name}" for axis in "xyz"]

    def put(values: Array) -> None:
        for key, value in zip(keys, values, strict=True):
            st.session_state[key] = round(float(value), 3)

    if any(key not in st.session_state for key in keys):
        put(own)
    place = tuple(
        column.number_input(f"{axis} (m)", step=0.05, format="%.3f", key=key)
        for column, axis, key in zip(st.columns(3), "xyz", keys, strict=True)
    )
    pose_pad(clip, first, index, roles, np.array(place), f"pad {name}", put)
    feet = st.toggle("Hold feet still", key="hold feet")
    st.caption(
        f"Drag the handle of {joint}, or give its place; then *Apply*. In frame {first} it is at "
        f"{own[0]:.2f}, {own[1]:.2f}, {own[2]:.2f} m; y is up."
    )
    _timeline(clip, np.arange(first, stop + 1), "target")
    target = JointTarget(joint, first, stop, (place[0], place[1], place[2]))
    return f"{joint} at a place", lambda: constrained(clip, editor, [target], feet=feet).clip


def _path(clip: Clip, editor: MotionEditor, clips: OpenClips) -> Edit | None:
    limits = path_networks(editor).limits
    name = st.selectbox("Path", list(MADE_PATHS), key="edit path")
    speed = st.slider(
        "Speed (m/s)",
        0.3,
        max(round(limits.speed, 1), 0.4),
        round(limits.usual, 1),
        key="edit speed",
    )
    seconds = st.slider("Seconds", 2, 60, 10, key="edit seconds")
    st.caption("The clip is replaced by motion along the path.")
    return (
        f"{name} at {speed:g} m/s",
        lambda: motion_on_path(made_path(name, speed, float(seconds)), editor).clip,
    )


def _style(clip: Clip, editor: MotionEditor, clips: OpenClips) -> Edit | None:
    names = st.multiselect("Clips of the style", list(clips.store.names), key="style clips")
    amount = st.slider("Amount", 0.0, MAX_AMOUNT, 1.0, 0.1, key="style amount")
    if not names:
        return None
    styles = [clips.store.clip(clips.store.names.index(each)) for each in names]
    words = f"style of {names[0]}"
    return words, lambda: styled(clip, styles, editor, amount=amount).clip


def _timeline(clip: Clip, frames: np.ndarray, what: str) -> None:
    """Draw where in the clip an edit is."""
    chart = go.Figure(
        go.Scatter(
            x=frames / clip.fps, y=np.zeros(len(frames)), mode="markers",
            marker={"symbol": "line-ns-open", "size": 22}, name=what,
            customdata=frames, hovertemplate="frame %{customdata}, %{x:.2f} s<extra></extra>",
        )
    )  # fmt: skip
    chart.update_xaxes(range=[0, clip.duration], title=f"s ({what})")
    chart.update_yaxes(visible=False)
    chart.update_layout(margin={"t": 4, "b": 4, "l": 4, "r": 4})
    show_figure(chart, "edit timeline", height=_TIMELINE_HEIGHT, alt=f"Times of the {what}")


def _result(edits: Edits) -> None:
    """Draw the player with the clip before and after, and the downloads."""
    clip = edits.clip
    actors = [Actor.of_clip(replace(edits.given, name="before"))]
    if edits.steps:
        actors.append(Actor.of_clip(replace(clip, name="after")))
    takes = [Take(edits.given.name, actors)]
    show_player(takes, height=_PLAYER_HEIGHT, title=edits.given.name, playing=True)
    if not edits.steps:
        st.caption("This is the clip as it is. After an edit, both stand in one place here.")
        return
    with st.container(horizontal=True):
        offer("Clip (BVH)", lambda: _bvh(clip), "edited.bvh", "text/plain", "edited bvh")
        offer_player(lambda: takes, "edited", "edited html")


def _bvh(clip: Clip) -> bytes:
    with temporary_folder() as folder:
        path = folder / "clip.bvh"
        save_bvh(clip, path)
        return path.read_bytes()
