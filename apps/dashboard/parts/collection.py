"""The open collection: the clips and the phase model that the pages show."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.fft
import streamlit as st

from deepphase.apps.dashboard.parts import choosers, folder
from deepphase.apps.dashboard.parts.session import session
from deepphase.apps.dashboard.parts.widgets import PlayerPlace
from deepphase.apps.demo import PHASES
from deepphase.apps.reports.player import takes_of_clips
from deepphase.arrays import Array
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.motion_files import STORE_FORMAT
from deepphase.corpus.store import open_store, store_groups
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import path_length
from deepphase.phase.config import ANY_SKELETON
from deepphase.phase.extractor import PhaseExtractor, load_model
from deepphase.phase.model import PhaseModel
from deepphase.shipped import SHIPPED
from deepphase.synthetic.gait import gaits_of
from deepphase.synthetic.gait_motion import locomotion
from deepphase.synthetic.training_set import corpus
from deepphase.viewer.take import Take

# Keys of the choosers, which are also parts of the address.
CLIPS_KEY, MODEL_KEY = "clips", "model"
# Open stores, and models for the open clips, that all sessions share.
_STORES, _MODELS = 8, 16
DEMO_NAME = "Made motion (demo)"
# Other individuals than those that the models learnt from.
_DEMO_SEED = 2203
_CLIP_S, _BODY = 11.0, "biped"
# The fourth motion of a corpus is a medley of gaits.
_MEDLEY = 3
# Clips that are compared, spread over the collection, and how much of each.
_COMPARED, _COMPARED_S = 256, 40.0
# Rate at which poses are compared, and length and distance of the passages that are.
_RATE, _PASSAGE_S, _STEP_S = 15.0, 4.0, 1.0
# Cycles of bodies, seconds: the beat of a trot to a slow step.
_SHORTEST_S, _LONGEST_S = 0.25, 2.2
# Before that, no window of a phase model lies within its clip.
_LEAD_S = 1.0
# Speed over the ground, m/s, that counts half, and length of a clip that counts in full.
_SPEED, _LONG_S = 0.5, 8.0
MODELS = choosers.FileKind("model", lambda file: load_model(file.path))


@dataclass(frozen=True, eq=False)
class OpenClips:
    """The clips that are open."""

    id: str
    name: str
    key: Hashable
    store: ClipStore


@dataclass(frozen=True, eq=False)
class OpenModel:
    """The phase model, or baseline, that is open; `key` changes with its content."""

    id: str
    name: str
    key: str
    extractor: PhaseExtractor


# How Streamlit's caches know clips and models again.
BY_KEY: dict[Any, Callable[[Any], Hashable]] = {
    OpenClips: lambda clips: clips.key,
    OpenModel: lambda model: model.key,
}


@st.cache_resource(show_spinner=False)
def demo_store() -> ClipStore:
    """Every gait at a drifting speed, and a medley: some 5,000 interior frames."""
    generator = np.random.default_rng(_DEMO_SEED)
    clips = []
    for gait in (gait.name for gait in gaits_of(_BODY).values() if gait.moves):
        made = locomotion(
            int(generator.integers(2**31)), _CLIP_S, body=_BODY, gait=gait, profile="drift"
        )
        labels = {"gait": gait.replace("_", " "), "pace": "drifting"}
        clips.append(replace(made.clip, name=gait, labels=labels))
    *_, medley = corpus(_DEMO_SEED, (_MEDLEY + 1) * _CLIP_S / 60, body=_BODY, clip_seconds=_CLIP_S)
    labels = {"gait": "medley", "pace": "changing"}
    clips.append(replace(medley.clip, name="medley", labels=labels))
    return ClipStore.from_clips(clips)


@st.cache_resource(show_spinner=False)
def demo_model() -> PhaseModel:
    """The small phase model that is shipped."""
    return PhaseModel.load(PHASES)


def demo_clips() -> OpenClips:
    """The clips of the demo."""
    return OpenClips("demo", DEMO_NAME, "demo", demo_store())


def clip_sources() -> list[choosers.ListedSource[OpenClips]]:
    """The clips to choose from: uploads, then the folder or the demo."""
    uploads = []
    for store in session().stores():
        key = ("uploads", *(str(given.get("key", "")) for given in store.provenance))
        name = f"Your files: {store.group}"
        opened = OpenClips(f"uploads:{store.group}", name, key, store)
        uploads.append(choosers.ListedSource(opened.id, name, lambda opened=opened: opened))  # type: ignore[misc]
    found = folder.open_folder()
    if found is None:
        return [choosers.ListedSource("demo", DEMO_NAME, demo_clips), *uploads]
    # Only the whole folder has the clip that a link names.
    whole = (
        any(key in st.query_params for key in (choosers.CLIP_KEY, CLIPS_KEY))
        and choosers.is_opened()
    )
    return uploads + _sources_of(found, whole=whole)


def _sources_of(
    found: folder.FoundFolder, *, whole: bool
) -> list[choosers.ListedSource[OpenClips]]:
    sources: list[choosers.ListedSource[OpenClips]] = []
    stores = found.of_format(STORE_FORMAT)
    for file in stores:
        try:
            sources += _store_sources(f"store:{file.name}", file.name, file.stamp)
        except ParameterError:
            continue
    if found.motion and not stores:
        name = f"Motion files of {found.path.name}"
        sources += _store_sources("motion", name, folder.prepared_store(found, whole=whole))
    if found.recordings:
        recordings = replace(found, motion=found.recordings)
        sources += _store_sources("recordings", "Recordings", folder.prepared_store(recordings))
    return sources


def _store_sources(
    id: str, name: str, stamp: folder.Stamp
) -> list[choosers.ListedSource[OpenClips]]:
    """The skeleton groups of a store. Raises ParameterError as `store_groups`."""
    groups = _groups(stamp)

    def source(group: str) -> choosers.ListedSource[OpenClips]:
        title = f"{name}, {group}" if len(groups) > 1 else name
        own, key = f"{id}#{group}", (*stamp, group)
        return choosers.ListedSource(
            own, title, lambda: OpenClips(own, title, key, _opened_store(stamp, group))
        )

    return [source(group) for group in groups]


def model_sources(clips: OpenClips) -> list[choosers.ListedSource[OpenModel]]:
    """Phase models that can read these clips."""
    return _models_for(clips, MODELS.files(_is_model))


def _models_for(
    clips: OpenClips, files: Iterable[folder.FoundFile]
) -> list[choosers.ListedSource[OpenModel]]:
    """The models of files, and the shipped ones."""
    shipped = [
        ("any skeleton", "Model for any skeleton", SHIPPED["any_skeleton"].path),
        ("demo", "Small demo model", PHASES),
    ]
    if clips.id == "demo":
        # Joints of users may have the names of those of the demo.
        shipped.reverse()
    joints = set(clips.store.skeleton.names)
    return [
        choosers.ListedSource(id, name, partial(_opened_model, id, name, file, clips))
        for id, name, file in [
            *((file.id, file.title, file) for file in files),
            *((id, name, _shipped(path, id)) for id, name, path in shipped),
        ]
        if joints.issuperset(file.joints)
    ]


def _is_model(file: folder.FoundFile) -> bool:
    """Phase models and baselines name the joints that they read, or read all."""
    # An embedding has no phases.
    return file.preset != "conv_embedding" and (bool(file.joints) or file.preset == ANY_SKELETON)


@st.cache_resource(show_spinner=False)
def _shipped(path: Path, name: str) -> folder.FoundFile:
    return folder.FoundFile.described(path, name)


def _opened_model(id: str, name: str, file: folder.FoundFile, clips: OpenClips) -> OpenModel:
    key = MODELS.open(file).sha256
    return OpenModel(id, name, key, _for_clips(clips, key, file))


def open_clips() -> OpenClips:
    """The clips that the sidebar's chooser names. ParameterError where there are none."""
    sources = clip_sources()
    if not sources:
        raise ParameterError(
            "there are no clips here yet",
            hint="upload motion files on page Data, or start `deepphase app` on a folder with "
            "stores or motion files",
            path=folder.configured_folder(),
        )
    return _chosen(CLIPS_KEY, sources).open()


@st.cache_resource(
    max_entries=2, show_spinner=False, hash_funcs={folder.FoundFolder: folder.state_of}
)
def open_ahead(found: folder.FoundFolder | None) -> tuple[OpenClips, OpenModel] | None:
    """Open what the pages show first of a folder, or the demo; None of an empty or unread one."""
    # Cached as a whole: cached functions below it draw no spinner, for which a thread has no page.
    if found is None:
        clips = demo_clips()
    else:
        sources = _sources_of(replace(found, recordings=()), whole=False)
        if not sources:
            return None
        clips = sources[0].open()
    files = () if found is None else found.files
    return clips, _models_for(clips, filter(_is_model, files))[0].open()


def shown_part(store: ClipStore, index: int, span: choosers.Span) -> Clip:
    """Some seconds of a clip."""
    clip = store.clip(index)
    frames = span.frames(clip.fps)
    return clip.sliced(frames.start, min(frames.stop, len(clip)))


def opening_take(store: ClipStore, index: int, span: choosers.Span) -> Take:
    """Some seconds of a clip, as pages show it first."""
    return takes_of_clips([shown_part(store, index, span)])[0]


def play_open_clip(place: PlayerPlace, height: int, shown: str) -> None:
    """Play the open clip at a place, until the session's state says that more was `shown` there."""
    if not st.session_state.get(shown):
        with suppress(DeepPhaseError):
            store = open_clips().store
            play_meanwhile(place, store, choosers.shown_index(store.names), height)


def play_meanwhile(place: PlayerPlace, store: ClipStore, index: int, height: int) -> None:
    """Play a clip as pages show it first, while what belongs there is made."""
    span = choosers.Span.around(store, index, choosers.moment_of(store.names[index]))
    place.show(opening_take(store, index, span), height=height, **span.player)


def open_model(clips: OpenClips) -> OpenModel:
    """The phase model that the sidebar's chooser names; that for any skeleton reads all clips."""
    return _chosen(MODEL_KEY, model_sources(clips)).open()


def _chosen(key: str, sources: list[choosers.ListedSource]) -> choosers.ListedSource:
    id = st.session_state.get(key)
    return next((source for source in sources if source.id == id), sources[0])


def choose_own_clip(name: str) -> None:
    """Make the choosers show a clip of this session's files, from the next run on."""
    group = next(store.group for store in session().stores() if name in store.names)
    choosers.choose(CLIPS_KEY, f"uploads:{group}")
    choosers.choose_clip(name)


@st.cache_resource(max_entries=_STORES, show_spinner=False)
def _groups(stamp: folder.Stamp) -> list[str]:
    return [group.name for group in store_groups(stamp[0])]


@st.cache_resource(max_entries=_STORES, show_spinner="Opening the clips")
def _opened_store(stamp: folder.Stamp, group: str) -> ClipStore:
    return open_store(stamp[0], group)


@st.cache_resource(max_entries=_MODELS, show_spinner=False, hash_funcs=BY_KEY)
def _for_clips(clips: OpenClips, model_key: str, _file: folder.FoundFile) -> PhaseExtractor:
    return MODELS.open(_file).bound(clips.store)


class PeriodicMoment(NamedTuple):
    """A passage that repeats: index of its clip, and its first second there."""

    clip: int
    start_s: float


def periodic_moments(store: ClipStore, count: int) -> list[PeriodicMoment]:
    """The passages whose poses recur most exactly, among those that move most, one of each clip."""
    # Joint rotations are compared with themselves at later moments: a second for hundreds of clips.
    chosen = np.linspace(0, len(store), min(len(store), _COMPARED), endpoint=False).astype(int)
    roles = find_roles(store.skeleton)
    thighs = [joint for joint in roles.both("hip") or () if joint > 0]
    reach = 0.0
    if thighs and (feet := roles.both("foot")) is not None:
        reach = path_length(store.skeleton, thighs[0], feet[0])
    passages = [
        (index, *each) for index in chosen for each in _passages(store, index, thighs, reach)
    ]
    if not passages:
        return [PeriodicMoment(int(np.argmax(store.lengths)), 0.0)]
    clip, start, likeness, movement, speed = np.array(passages).T
    share = movement / (movement + max(float(np.median(movement)), 1e-9))
    seconds = store.lengths[clip.astype(int)] / store.fps
    score = likeness * share * (0.5 + speed / (speed + _SPEED))
    score *= np.sqrt(np.minimum(seconds / _LONG_S, 1.0))
    best: dict[int, PeriodicMoment] = {}
    for at in np.argsort(-score):
        best.setdefault(int(clip[at]), PeriodicMoment(int(clip[at]), float(start[at])))
    return list(best.values())[:count]


def _passages(
    store: ClipStore, index: int, thighs: list[int], reach: float
) -> list[tuple[float, ...]]:
    """Start, likeness of the pose one period later, movement and m/s of passages of a clip.

    The speed is that of the root, or of feet that hang `reach` m below `thighs`, as in place.
    """
    step = max(1, round(store.fps / _RATE))
    rate = store.fps / step
    begin = int(store.range_starts[index])
    end = min(int(store.range_stops[index]), begin + round(_COMPARED_S * store.fps))
    # The root turns with the way, which is not a cycle.
    rotations = np.array(store.rotations[begin:end:step, 1:], np.float32)
    places = np.asarray(store.translations[begin:end:step], np.float32)
    if len(rotations) < 2 or not rotations.shape[1]:
        return []
    # q and -q are one rotation.
    turned = np.sign((rotations[1:] * rotations[:-1]).sum(-1, keepdims=True))
    rotations[1:] *= np.cumprod(np.where(turned == 0, 1, turned), axis=0)
    poses = rotations.reshape(len(rotations), -1)
    turning = np.diff(rotations[:, [joint - 1 for joint in thighs]], axis=0)
    swing = 2.0 * rate * reach * np.sqrt(np.square(turning).sum(-1).mean(-1)) if thighs else None
    if not np.ptp(poses, axis=0).any():
        # Tracked points have places alone: those of bones, whichever way the body faces.
        across = np.hypot(places[:, 1:, 0], places[:, 1:, 2])
        poses = np.concatenate([across, places[:, 1:, 1]], axis=1)
    size = min(round(_PASSAGE_S * rate), len(poses))
    lags = np.arange(
        max(2, round(_SHORTEST_S * rate)), min(round(_LONGEST_S * rate), size // 2) + 1
    )
    if lags.size < 2:
        return []
    first = min(round(_LEAD_S * rate), len(poses) - size)
    found: list[tuple[float, ...]] = []
    for start in range(first, len(poses) - size + 1, max(1, round(_STEP_S * rate))):
        part = poses[start : start + size]
        likeness = _recurrence(part - part.mean(0), lags)
        if start == 0 and size == len(poses):
            likeness = max(likeness, _closing(poses))
        movement = float(np.square(np.diff(part, axis=0)).sum(-1).mean())
        moved = np.linalg.norm(np.ptp(places[start : start + size], axis=0), axis=-1).max(
            initial=0.0
        )
        speed = float(moved) * rate / size
        if swing is not None:
            speed = max(speed, float(swing[start : start + size].mean()))
        found.append((start / rate, likeness, movement, speed))
    return found


def _closing(poses: Array) -> float:
    """How well the end of (frames, values) goes on at their beginning, as loops of games do."""
    ends = poses[[0, -1]] - poses.mean(0), poses[[1, -1]] - poses[[0, -2]]
    alike = [float(a @ b) / max(float(np.sqrt((a @ a) * (b @ b))), 1e-12) for a, b in ends]
    return max(alike[0], 0.0) * max(alike[1], 0.0)


def _recurrence(poses: Array, lags: Array) -> float:
    """Correlation of (frames, values) with themselves after the lag that makes them most alike."""
    size = len(poses)
    spectrum = scipy.fft.rfft(poses, 2 * size, axis=0)
    products = scipy.fft.irfft(np.square(np.abs(spectrum)).sum(-1), 2 * size)[lags]
    power = np.cumsum(np.square(poses).sum(-1))
    before, after = power[size - 1 - lags], power[-1] - power[lags - 1]
    likeness = products / np.sqrt(np.maximum(before * after, 1e-12))
    # Neighbours are alike: a recurrence comes after something else.
    return max(float(likeness[int(np.argmin(likeness)) :].max()), 0.0)
