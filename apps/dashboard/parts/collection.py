"""The open collection: the clips and the phase model that the pages show."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from pathlib import Path

import streamlit as st

from apps.dashboard.parts import demo
from apps.dashboard.parts.address import remember_clip
from apps.dashboard.parts.folder import (
    FoundFolder,
    Stamp,
    configured_folder,
    look_into,
    prepared_store,
)
from apps.dashboard.parts.session import session
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store, store_groups
from deepphase.errors import ParameterError
from deepphase.phase.confidence import confidence_words, explained_variance
from deepphase.phase.config import ANY_SKELETON
from deepphase.phase.extractor import PhaseExtractor, load_model, shipped_model
from deepphase.phase.model import PhaseModel

# Keys of the choosers, which are also parts of the address.
CLIPS_KEY, MODEL_KEY = "clips", "model"
EMBEDDING_PRESET = "conv_embedding"
# Clips whose explained variance is measured.
_CONFIDENCE_CLIPS = 6
# Open stores and models that all sessions share.
_STORES, _MODELS = 8, 16
# Seconds after which the folder is listed again.
_FRESH_S = 20.0


@dataclass(frozen=True)
class ClipSource:
    """Clips that can be chosen.

    Parameters
    ----------
    id
        Value of the chooser.
    name
        Name shown in the chooser.
    open
        Function that opens the clips; raises DeepPhaseError.
    """

    id: str
    name: str
    open: Callable[[], OpenClips] = field(compare=False)


@dataclass(frozen=True, eq=False)
class OpenClips:
    """The clips that are open.

    Parameters
    ----------
    id, name
        As in their `ClipSource`.
    key
        Cache key; changes with their content.
    store
        The clips.
    """

    id: str
    name: str
    key: Hashable
    store: ClipStore


@dataclass(frozen=True)
class ModelSource:
    """A phase model that can be chosen: as `ClipSource`, and what it reads."""

    id: str
    name: str
    joints: tuple[str, ...]
    preset: str
    open: Callable[[], OpenModel] = field(compare=False)


@dataclass(frozen=True, eq=False)
class OpenModel:
    """The phase model, or baseline, that is open; `key` changes with its content."""

    id: str
    name: str
    key: str
    extractor: PhaseExtractor


def open_folder() -> FoundFolder | None:
    """Content of the folder that the program was started on; None without one."""
    folder = configured_folder()
    return None if folder is None else _found(folder)


def look_again() -> None:
    """Clear the cached content of the folder, so that it is listed again."""
    _found.clear()


def clip_sources() -> list[ClipSource]:
    """The clips to choose from: uploads, then the folder or the demo."""
    found = open_folder()
    sources = _uploaded()
    if found is None:
        return [_demo_source(), *sources]
    for file in found.stores:
        try:
            groups = _groups(file.stamp)
        except ParameterError:
            continue
        for group in groups:
            several = f", {group}" if len(groups) > 1 else ""
            sources.append(_store_source(file.name + several, file.stamp, group))
    if found.motion and not found.stores:
        prepared = prepared_store(found)
        groups = _groups(prepared)
        for group in groups:
            several = f", {group}" if len(groups) > 1 else ""
            name = f"Motion files of {found.path.name}{several}"
            sources.append(_store_source(name, prepared, group))
    return sources


def model_sources(clips: OpenClips, *, embeddings: bool = False) -> list[ModelSource]:
    """Phase models that can read these clips; or the embeddings that they are compared with."""
    sources = [
        ModelSource(
            f"session:{name}",
            f"{name} (this session)",
            model.signals.joints,
            _preset(model),
            _opener(f"session:{name}", name, model, clips),
        )
        for name, model in session().models.items()
    ]
    found = open_folder()
    sources += [
        ModelSource(
            f"file:{file.path}",
            file.name,
            file.joints,
            file.preset,
            _file_opener(file.name, file.stamp, clips),
        )
        for file in (found.models if found else [])
    ]
    shipped = demo.demo_embedding if embeddings else demo.demo_model
    model = shipped()
    of_demo = ModelSource(
        "demo",
        "Small demo model",
        model.signals.joints,
        _preset(model),
        _opener("demo", "Small demo model", model, clips),
    )
    name = "Model for any skeleton"
    any_skeleton = ModelSource(
        "any skeleton",
        name,
        (),
        ANY_SKELETON,
        lambda: _opener("any skeleton", name, shipped_model(), clips)(),
    )
    # Joints of users may have the names of those of the demo.
    sources += [of_demo, any_skeleton] if clips.id == "demo" else [any_skeleton, of_demo]
    joints = set(clips.store.skeleton.names)
    return [
        each
        for each in sources
        if (each.preset == EMBEDDING_PRESET) is embeddings and joints.issuperset(each.joints)
    ]


def open_clips() -> OpenClips:
    """The clips that the sidebar's chooser names.

    Raises DeepPhaseError where they cannot be opened, ParameterError where there are none.
    """
    sources = clip_sources()
    if not sources:
        found = open_folder()
        raise ParameterError(
            "there are no clips here yet",
            hint="upload motion files on page Data, or start `deepphase app` on a folder with "
            "stores or motion files",
            path=None if found is None else found.path,
        )
    chosen = st.session_state.get(CLIPS_KEY)
    source = next((each for each in sources if each.id == chosen), sources[0])
    return source.open()


def open_model(clips: OpenClips | None = None) -> OpenModel:
    """The phase model that the sidebar's chooser names; that for any skeleton reads all clips."""
    sources = model_sources(open_clips() if clips is None else clips)
    chosen = st.session_state.get(MODEL_KEY)
    return next((each for each in sources if each.id == chosen), sources[0]).open()


def choose(*, clips: str | None = None, model: str | None = None) -> None:
    """Make the sidebar's choosers show other clips or another model, from the next run on."""
    wanted = st.session_state.setdefault("to choose", {})
    if clips is not None:
        wanted[CLIPS_KEY] = clips
    if model is not None:
        wanted[MODEL_KEY] = model


def choose_own_clip(name: str) -> None:
    """Make the choosers show a clip of this session's files, from the next run on."""
    group = next(each.group for each in session().stores() if name in each.names)
    choose(clips=f"uploads:{group}")
    remember_clip(name)


@st.cache_resource(ttl=_FRESH_S, max_entries=4, show_spinner="Listing the folder")
def _found(folder: Path) -> FoundFolder:
    return look_into(folder)


@st.cache_resource(max_entries=_STORES, show_spinner=False)
def _groups(stamp: Stamp) -> list[str]:
    return [group.name for group in store_groups(stamp[0])]


@st.cache_resource(max_entries=_STORES, show_spinner="Opening the clips")
def _opened_store(stamp: Stamp, group: str) -> ClipStore:
    return open_store(stamp[0], group)


@st.cache_resource(max_entries=_MODELS, show_spinner="Opening the phase model")
def _opened_model(stamp: Stamp) -> tuple[PhaseExtractor, str]:
    model = load_model(stamp[0])
    return model, model.sha256


def _demo_source() -> ClipSource:
    return ClipSource(
        "demo", demo.NAME, lambda: OpenClips("demo", demo.NAME, "demo", demo.demo_clips())
    )


def _store_source(name: str, stamp: Stamp, group: str) -> ClipSource:
    id = f"store:{stamp[0]}#{group}"
    return ClipSource(
        id, name, lambda: OpenClips(id, name, (*stamp, group), _opened_store(stamp, group))
    )


def _uploaded() -> list[ClipSource]:
    sources = []
    for store in session().stores():
        id, name = f"uploads:{store.group}", f"Your files: {store.group}"
        key = ("uploads", *(str(given.get("key", "")) for given in store.provenance))
        sources.append(ClipSource(id, name, _kept_opener(OpenClips(id, name, key, store))))
    return sources


def _kept_opener(clips: OpenClips) -> Callable[[], OpenClips]:
    return lambda: clips


def _opener(id: str, name: str, model: PhaseExtractor, clips: OpenClips) -> Callable[[], OpenModel]:
    return lambda: OpenModel(
        id, name, model.sha256, _for_clips(clips.key, model.sha256, clips, model)
    )


def _file_opener(name: str, stamp: Stamp, clips: OpenClips) -> Callable[[], OpenModel]:
    def opened() -> OpenModel:
        model, _ = _opened_model(stamp)
        return _opener(f"file:{stamp[0]}", name, model, clips)()

    return opened


@st.cache_resource(max_entries=_MODELS, show_spinner=False)
def _for_clips(
    clips_key: Hashable,
    model_key: str,
    _clips: OpenClips,
    _model: PhaseExtractor,
) -> PhaseExtractor:
    return _model.bound(_clips.store)


@st.cache_resource(max_entries=_MODELS, show_spinner=False)
def _confidence(clips_key: Hashable, model_key: str, _clips: OpenClips, _model: PhaseModel) -> str:
    store = _clips.store
    count = min(len(store), _CONFIDENCE_CLIPS)
    chosen = [int(each * len(store) / count) for each in range(count)]
    explained = [explained_variance(_model, store.clip(each)) for each in chosen]
    # Its advice names commands and options; the pages have buttons in their place.
    return confidence_words(explained, advice=False)


def model_confidence(clips: OpenClips, model: OpenModel) -> str:
    """How much of the clips a model for any skeleton explains, in words; empty for others."""
    extractor = model.extractor
    if not isinstance(extractor, PhaseModel) or not extractor.bound_from:
        return ""
    return _confidence(clips.key, model.key, clips, extractor)


def _preset(model: PhaseExtractor) -> str:
    config = getattr(model, "config", None)
    return "" if config is None else str(config.network.preset)


def content_key(*parts: bytes) -> str:
    """A hash of some content, to key caches by."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
