"""Page Edit: clips repaired, filled in, constrained, led along paths and given styles."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from deepphase.apps.dashboard.parts import choosers, collection, drawing, messages, widgets
from deepphase.apps.dashboard.parts.messages import plain, shown_errors
from deepphase.apps.dashboard.parts.trainings import EDITORS, offer_editor_training
from deepphase.arrays import Array, true_runs
from deepphase.edit.bound_editor import bound_editor
from deepphase.edit.constrain import constrained
from deepphase.edit.damage import Damage, find_damage
from deepphase.edit.editor import MotionEditor
from deepphase.edit.inbetween import between_keys
from deepphase.edit.path_motion import motion_on_path, path_networks
from deepphase.edit.repair import repaired
from deepphase.edit.style import MAX_AMOUNT, styled
from deepphase.edit.targets import JointTarget
from deepphase.errors import ParameterError
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import subtree_mask
from deepphase.shipped import SHIPPED
from deepphase.viewer.take import Take

_PLAYER_HEIGHT = 720
# Frames between keys before any is moved.
_KEY_FRAMES = 30
# What the editor that comes with the package does, the example first.
_SHIPPED_TASKS = ("In between", "Repair")
# Tasks whose result follows each change of what is drawn.
_FOLLOWING = ("Repair", "In between", "Constrain")
# Says that something was drawn since the page last ran.
_DRAWN = "edit drawn"
# Edits that are listed, and those that can be taken back.
_LISTED, _MAX_STEPS = 6, 20
# Session state: the edits of a clip. Id of the editor that comes with the package.
_EDITS, _SHIPPED = "edits", "shipped"


@dataclass(frozen=True)
class Edit:
    """What is chosen: its words, the values of the session that give it, and the clip of it."""

    words: str
    make: Callable[[], Clip]
    state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class EditStep:
    """An edit of the clip `start`; while it is `open`, what is drawn further replaces it."""

    words: str
    clip: Clip
    task: str
    start: Clip
    state: Mapping[str, Any]
    open: bool = False


@dataclass
class Edits:
    """A clip and what was done to it."""

    given: Clip
    steps: list[EditStep] = field(default_factory=list)
    dropped: int = 0

    @property
    def clip(self) -> Clip:
        """The clip after the last edit."""
        return self.steps[-1].clip if self.steps else self.given

    def start(self, task: str) -> tuple[Clip, int]:
        """The clip that a task starts from, and the number of edits before it."""
        count = len(self.steps)
        while count and self.steps[count - 1].open and self.steps[count - 1].task == task:
            count -= 1
        start = self.steps[count].start if count < len(self.steps) else self.clip
        return start, self.dropped + count

    def add(self, edit: Edit, task: str, *, open: bool) -> None:
        """Make an edit and add it; one that stands as drawn is kept; the oldest goes."""
        last = self.steps[-1] if self.steps else None
        stands = last is not None and last.open and last.task == task and last.state == edit.state
        if last is not None and stands and not open:
            self.steps[-1] = replace(last, open=False)
            return
        start, _ = self.start(task)
        self.steps.append(EditStep(edit.words, edit.make(), task, start, dict(edit.state), open))
        extra = max(len(self.steps) - _MAX_STEPS, 0)
        del self.steps[:extra]
        self.dropped += extra

    def undo(self) -> None:
        """Take back the last edit, and what was drawn for it in the session."""
        if not self.steps:
            return
        last = self.steps.pop()
        for key in last.state:
            st.session_state.pop(key, None)
        before = self.steps[-1] if self.steps else None
        if before is not None and before.open and last.open and before.task == last.task:
            st.session_state.update(before.state)


@dataclass(frozen=True)
class Sheet:
    """What the choices of a task are of."""

    clip: Clip
    editor: MotionEditor
    clips: collection.OpenClips
    id: str
    timeline: DeltaGenerator


def editor_sources() -> list[choosers.ListedSource[MotionEditor]]:
    """Editors of the folder and the session, then the one that comes with the package."""
    shipped = SHIPPED["editor"]
    return [
        *EDITORS.sources(),
        choosers.ListedSource(_SHIPPED, f"Shipped: {shipped.title}", _shipped),
    ]


@st.cache_resource(show_spinner=False)
def _shipped() -> MotionEditor:
    return MotionEditor.load(SHIPPED["editor"].path)


def edits_of(key: Hashable, given: Clip) -> tuple[Edits, bool]:
    """The session's edits of a clip, and whether they begin; those of another clip are dropped."""
    begins = st.session_state.get(_EDITS, (None,))[0] != key
    if begins:
        st.session_state[_EDITS] = key, Edits(given)
    return st.session_state[_EDITS][1], begins


def page() -> None:
    """Draw the page."""
    widgets.heading(
        "Edit",
        "Repair a clip, fill in between its keys, put a hand or a foot at a place, lead it "
        "along a path, or give it a style.",
    )
    left, right = widgets.wide_columns("edit", [3, 7])
    timeline, place = right.container(), widgets.PlayerPlace(right)
    edits: Edits | None = None
    with left, shown_errors():
        edits = _choices(timeline, place)
    if edits is not None:
        with right:
            _result(edits, place)


def _choices(timeline: DeltaGenerator, place: widgets.PlayerPlace) -> Edits:
    """Draw the choices; return the edits of the chosen clip, which plays before the first one."""
    source = choosers.chooser("Editor", EDITORS.name, editor_sources())
    editor = source.open()
    clips = collection.open_clips()
    first = clips.store.clip(0)
    if source.id == _SHIPPED and find_roles(first.skeleton, clip=first).kind != "biped":
        st.info(
            "The shipped editor is for bodies on two legs: this is its example. Train one on the "
            "open clips below.",
            icon=":material/info:",
        )
        clips = collection.demo_clips()
    names = list(clips.store.names)
    choosers.say_unknown(names)
    chosen = st.selectbox("Clip", names, index=choosers.shown_index(names), key="edited clip")
    whole = clips.store.clip(names.index(chosen))
    if source.id == _SHIPPED:
        editor = bound_editor(editor, whole)
    given = whole.sliced(0, round(choosers.SHOWN_S * whole.fps))
    if len(given) < len(whole):
        st.caption(f"The first {choosers.SHOWN_S:g} s of {whole.duration:,.0f} s are edited.")
    # The same clip of a store that has grown keeps its edits.
    key = source.id, source.stamp, chosen, hash(given.rotations.tobytes())
    edits, begins = edits_of(key, given)
    tasks = _SHIPPED_TASKS if editor.bound else tuple(_TASKS)
    task = st.segmented_control(
        "What to do", tasks, default=tasks[0], key=f"task {editor.bound}"
    ) or ""  # fmt: skip
    start, depth = edits.start(task)
    sheet = Sheet(start, editor, clips, f"{task} {chosen} {source.id} {depth}", timeline)
    # The first edit of the shipped editor is made at once, as an example.
    drawn = st.session_state.pop(_DRAWN, False) or (begins and editor.bound)
    with shown_errors():
        edit = _TASKS[task](sheet) if task else None
        follow = task in _FOLLOWING and st.toggle(
            "Follow", value=True, key="follow",
            help="Make the edit again whenever something is drawn or dragged",
        )  # fmt: skip
        with st.container(horizontal=True):
            apply = st.button("Apply", type="primary", disabled=edit is None)
            st.button("Undo", icon=":material/undo:", disabled=not edits.steps, on_click=edits.undo)
        if edit is not None and (apply or (follow and drawn)):
            if begins:
                collection.play_meanwhile(place, clips.store, names.index(chosen), _PLAYER_HEIGHT)
            # Each is asked for by a click or a stroke, and made anew.
            once, cache = secrets.token_hex(8), messages.shared_cache("edited clips", 1)
            make = partial(cache.find_or_make, once, lambda _: edit.make(), edit.words)
            edits.add(replace(edit, make=make), task, open=not apply)
            st.rerun()
    listed = edits.steps[-_LISTED:]
    for number, step in enumerate(listed, start=1 + edits.dropped + len(edits.steps) - len(listed)):
        st.caption(f"{number}. {plain(step.words)}")
    with st.expander("Train another editor", icon=":material/model_training:"):
        if source.id == _SHIPPED:
            st.caption(
                f"The shipped one learnt from {plain(SHIPPED['editor'].motion)}. It fills in "
                "between keys and repairs; one that is trained on your clips does the rest, too."
            )
        offer_editor_training()
    return edits


def _draw(key: str, value: Any) -> None:
    """Take what was drawn into the session."""
    st.session_state[key] = value
    st.session_state[_DRAWN] = True


def _repair(sheet: Sheet) -> Edit | None:
    clip, editor = sheet.clip, sheet.editor
    joints = editor.space.joints
    rows = ["all", *joints]
    if st.toggle("Find what is broken", value=True, key="find damage"):
        damage = find_damage(clip, editor)
        for finding in damage.findings:
            st.caption(plain(finding))
        if not damage.any:
            st.caption("No damage found. Turn this off to mark it yourself.")
            return None
        st.caption(
            f"Apply restores {damage.frames.sum()} of {len(clip)} frames; all else stays as it is."
        )
        broken = damage.known < 1
        found = [
            [row, start, stop - 1]
            for row in range(len(rows))
            for start, stop in true_runs(broken[:, row])
        ]
        with sheet.timeline:
            drawing.span_timeline(clip, ["place", *joints], found, f"found {sheet.id}")
        state = {}
    else:
        last, key = len(clip) - 1, f"mask {sheet.id}"
        spans = st.session_state.setdefault(key, [[0, last // 3, last // 2]])
        st.caption(
            "Draw the broken frames on the timeline, of all joints or of one: drag over its row. "
            "Drag a stretch or its ends; a double click takes it away."
        )
        with sheet.timeline:
            drawing.span_timeline(clip, rows, spans, f"pad {key}", lambda marks: _draw(key, marks))
        if not spans:
            return None
        known = np.ones((len(clip), len(rows)), np.float32)
        for row, first, stop in spans:
            stated = [joints[row - 1]] if row else []
            part = Damage.stated(len(clip), joints, joints=stated, stretches=[(first, stop)])
            known = np.minimum(known, part.known)
        damage, state = Damage(known, joints), {key: spans}
    words = f"repaired {damage.frames.sum()} frames"
    return Edit(words, lambda: repaired(clip, editor, damage), state)


def _in_between(sheet: Sheet) -> Edit | None:
    clip, editor = sheet.clip, sheet.editor
    key = f"keys {sheet.id}"

    def spread() -> list[list[int]]:
        # The last frame is a key too: the motion behind the last key would be left out.
        last, every = len(clip) - 1, st.session_state.get("every", _KEY_FRAMES)
        frames = np.linspace(0, last, 1 + max(1, round(last / every))).round().astype(int)
        return [[frame, frame] for frame in frames.tolist()]

    st.slider(
        "A key every so many frames", 5, 120, _KEY_FRAMES, key="every",
        on_change=lambda: _draw(key, spread()),
    )  # fmt: skip
    keys = st.session_state.setdefault(key, spread())
    st.caption(
        "The poses of the keys stay, all others are generated. Drag a key to another time, or move "
        "it with the arrow keys; a double click adds a key, Delete takes one away."
    )
    with sheet.timeline:
        drawing.key_timeline(clip, keys, f"pad {key}", lambda marks: _draw(key, marks))
    if len(keys) < 2:
        raise ParameterError("there is only one key", hint="choose fewer frames between keys")
    frames = [frame for frame, _ in keys]
    times = np.array([at for _, at in keys]) / clip.fps
    return Edit(
        f"between {len(keys)} keys",
        lambda: between_keys(clip, frames, editor, times=times.tolist()),
        {key: keys},
    )


def _constrain(sheet: Sheet) -> Edit | None:
    clip, editor = sheet.clip, sheet.editor
    roles = find_roles(clip.skeleton, editor.space.description, clip=clip)
    ends = [joint for part in ("hand", "foot") for joint in roles.both(part) or ()]
    below = np.any([subtree_mask(clip.skeleton, joint) for joint in ends], axis=0)
    names = [clip.skeleton.names[joint] for joint in np.flatnonzero(below)]
    joint = st.selectbox("Joint", names, key="target joint")
    last = len(clip) - 1
    span = f"target frames {sheet.id}"
    st.session_state.setdefault(span, (last // 2, last // 2))
    first, stop = cast(tuple[int, int], st.slider("At frames", 0, last, key=span))
    with sheet.timeline:
        drawing.span_timeline(
            clip, [joint], [[0, first, stop]], f"pad {span} {joint}",
            lambda marks: _draw(span, (marks[0][1], marks[0][2])), single=True,
        )  # fmt: skip
    index = clip.skeleton.index(joint)
    own = joint_positions(clip)[first, index]
    name = f"{joint} {first} {sheet.id}"
    keys = [f"{axis} {name}" for axis in "xyz"]

    def put(values: Array) -> None:
        for key, value in zip(keys, values, strict=True):
            _draw(key, round(float(value), 3))

    if any(key not in st.session_state for key in keys):
        put(own)
        st.session_state.pop(_DRAWN)
    place = tuple(
        column.number_input(f"{axis} (m)", step=0.05, format="%.3f", key=key)
        for column, axis, key in zip(st.columns(3), "xyz", keys, strict=True)
    )
    drawing.pose_pad(clip, first, index, roles, np.array(place), f"pad {name}", put)
    feet = st.toggle("Hold feet still", key="hold feet")
    st.caption(
        f"Drag the handle of {joint}, or give its place. In frame {first} it is at "
        f"{own[0]:.2f}, {own[1]:.2f}, {own[2]:.2f} m; y is up."
    )
    target = JointTarget(joint, first, stop, (place[0], place[1], place[2]))
    state = dict(zip(keys, place, strict=True)) | {span: (first, stop)}
    return Edit(
        f"{joint} at a place", lambda: constrained(clip, editor, [target], feet=feet).clip, state
    )


def _path(sheet: Sheet) -> Edit | None:
    editor = sheet.editor
    chosen = drawing.choose_path(path_networks(editor).limits.usual, f"edit {sheet.id}")
    if chosen is None:
        return None
    path = chosen[0].first_seconds(chosen[1])
    st.caption("The clip is replaced by motion along the path.")
    words = f"{path.name}, {path.duration:.1f} s"
    return Edit(words, lambda: motion_on_path(path, editor).clip)


def _style(sheet: Sheet) -> Edit | None:
    store = sheet.clips.store
    names = st.multiselect("Clips of the style", list(store.names), key="style clips")
    amount = st.slider("Amount", 0.0, MAX_AMOUNT, 1.0, 0.1, key="style amount")
    if not names:
        return None
    styles = [store.clip(store.names.index(name)) for name in names]
    return Edit(
        f"style of {names[0]}", lambda: styled(sheet.clip, styles, sheet.editor, amount=amount).clip
    )


_TASKS: dict[str, Callable[[Sheet], Edit | None]] = {
    "Repair": _repair,
    "In between": _in_between,
    "Constrain": _constrain,
    "Path": _path,
    "Style": _style,
}


def _result(edits: Edits, place: widgets.PlayerPlace) -> None:
    """Draw the player with the clip before and after, and the downloads."""
    clip = edits.clip
    bodies = {"before": edits.given} | ({"after": clip} if edits.steps else {})
    take = Take.from_motions(bodies, edits.given.name, ghost=bool(edits.steps))
    place.show(take, height=_PLAYER_HEIGHT, playing=True)
    if not edits.steps:
        st.caption("This is the clip as it is. After an edit, both stand in one place here.")
        return
    with st.container(horizontal=True):
        widgets.offer_motion(lambda: clip, "edited", clip.source.unit_m)
        widgets.offer_player(take, "edited")
