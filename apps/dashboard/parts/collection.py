"""The open collection: the clips and the phase model that the pages show."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import streamlit as st

from deepphase.apps.dashboard.parts import choosers, folder
from deepphase.apps.dashboard.parts.session import session
from deepphase.apps.dashboard.parts.widgets import PlayerPlace
from deepphase.apps.demo import PHASES
from deepphase.apps.reports.player import takes_of_clips
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.motion_files import STORE_FORMAT
from deepphase.corpus.store import open_store, store_groups
from deepphase.errors import DeepPhaseError, ParameterError
from deepphase.motion.clip import Clip
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


@st.cache_resource(max_entries=_STORES, show_spinner="Opening the clips", show_time=True)
def _opened_store(stamp: folder.Stamp, group: str) -> ClipStore:
    return open_store(stamp[0], group)


@st.cache_resource(max_entries=_MODELS, show_spinner=False, hash_funcs=BY_KEY)
def _for_clips(clips: OpenClips, model_key: str, _file: folder.FoundFile) -> PhaseExtractor:
    return MODELS.open(_file).bound(clips.store)
