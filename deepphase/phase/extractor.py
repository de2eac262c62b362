"""Phase extractors: models and baselines behind one protocol, and encoding of files with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Protocol, overload

import torch

from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.clips import ClipEntry
from deepphase.corpus.motion_files import unique_stems
from deepphase.errors import CheckpointError, DeepPhaseError, ParameterError
from deepphase.formats.array_file import read_header
from deepphase.formats.reading import warnings_of
from deepphase.motion.clip import Clip
from deepphase.phase.baselines.baseline import Baseline
from deepphase.phase.baselines.foot_phases import ContactPhase, PfnnPhase
from deepphase.phase.baselines.pca_phase import PcaPhase
from deepphase.phase.config import reads_songs
from deepphase.phase.health import Health
from deepphase.phase.model import FORMAT, Paths, PhaseModel
from deepphase.phase.parameters import ClipPhases, ManifoldProjection, save_csv, save_phases
from deepphase.phase.signals import JointVelocities, PointVelocities
from deepphase.shipped import SHIPPED
from deepphase.work import Progress, map_in_order, reported, within_memory, workers_for

BASELINES: dict[str, type[ContactPhase | PcaPhase | PfnnPhase]] = {
    kind.METHOD: kind for kind in (ContactPhase, PcaPhase, PfnnPhase)
}
_KINDS: dict[str, Any] = {
    FORMAT: PhaseModel,
    ContactPhase.FORMAT: ContactPhase,
    PcaPhase.FORMAT: PcaPhase,
    PfnnPhase.FORMAT: PfnnPhase,
}


class PhaseExtractor(Protocol):
    """Protocol of `PhaseModel` and of every baseline.

    Attributes
    ----------
    signals
        The joint velocities that it reads, or whose joints its poses are compared by.
    projection
        The PCA view of its manifold, where one is kept.
    health
        Its measures on held-out clips, where they were taken.
    """

    signals: JointVelocities
    projection: ManifoldProjection | None
    health: Health | None

    @property
    def fps(self) -> float:
        """Frames a second of the phases."""
        ...

    @property
    def window(self) -> int:
        """Frames around a frame that its phases are read off."""
        ...

    @property
    def channels(self) -> int:
        """Phase channels."""
        ...

    @property
    def sha256(self) -> str:
        """Hash of all that the phases depend on."""
        ...

    def bound(
        self, clips: Clip | ClipStore, description: Mapping[str, Any] | None = None
    ) -> PhaseExtractor:
        """The extractor of clips of one skeleton: itself, if it is not for any skeleton."""
        ...

    @overload
    def encode(self, clip: Clip) -> ClipPhases: ...

    @overload
    def encode(self, clip: Paths) -> ClipPhases | list[ClipPhases]: ...

    def encode(self, clip: Clip | Paths) -> ClipPhases | list[ClipPhases]:
        """Phases of every frame of a clip, or of those at paths, at `fps`."""
        ...

    def save(self, path: str | Path) -> None:
        """Write it as one file, whole or not at all."""
        ...


def load_extractor(path: str | Path) -> PhaseExtractor:
    """Read a phase model or a baseline of one skeleton.

    Raises
    ------
    CheckpointError
        As `load_model` does, and where the file is a model for any skeleton.
    """
    model = load_model(path)
    if isinstance(model.signals, PointVelocities):
        raise CheckpointError(
            "a model for any skeleton where one skeleton's model is needed",
            hint="`deepphase train phase CLIPS --start MODEL` makes the model of one skeleton",
            path=path,
        )
    return model


def load_model(path: str | Path) -> PhaseExtractor:
    """Read a phase model or a baseline of motion: the format name in the header says which.

    Its `bound` gives the extractor of some clips: a model for any skeleton has no joints before.

    Raises
    ------
    CheckpointError
        Where the file is neither, reads songs, or is damaged.
    """
    found = read_header(path)["format"]
    if found not in _KINDS:
        raise CheckpointError(
            f"this is a {found}, not a phase model",
            hint="give what `deepphase train phase` or `deepphase fit phases` wrote",
            path=path,
        )
    if reads_songs(path):
        raise CheckpointError(
            "a phase model of songs where a phase model of motion is needed",
            hint="`deepphase encode` reads songs with it; train a model of motion with "
            "`deepphase train phase` on motion files",
            path=path,
        )
    return _KINDS[found].load(path)


@lru_cache(maxsize=1)
def shipped_model() -> PhaseModel:
    """The shipped model, which reads any skeleton; its file is read once per process."""
    return PhaseModel.load(SHIPPED["any_skeleton"].path)


@overload
def phases(clips: Clip, model: PhaseExtractor | str | Path | None = None) -> ClipPhases: ...


@overload
def phases(
    clips: Paths, model: PhaseExtractor | str | Path | None = None
) -> ClipPhases | list[ClipPhases]: ...


def phases(
    clips: Clip | Paths, model: PhaseExtractor | str | Path | None = None
) -> ClipPhases | list[ClipPhases]:
    """Phases of every frame of a clip, a file, a folder or several.

    Parameters
    ----------
    clips
        A clip; or the path of a motion file, a folder or a store, or several paths.
    model
        Phase model or baseline, or its file; the shipped model, which reads any skeleton, if None.

    Returns
    -------
    The phases; of a folder, a store or several paths a list, a clip after the other.

    Raises
    ------
    As :func:`load_model` and :meth:`deepphase.phase.model.PhaseModel.encode` do.
    """
    if model is None:
        model = shipped_model()
    elif isinstance(model, str | Path):
        model = load_model(model)
    return model.encode(clips)


def fit_phases(
    store: ClipStore,
    method: str = "contact",
    *,
    window_s: float = 2.0,
    description: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> Baseline:
    """Fit a baseline: phases by a rule, without training.

    Parameters
    ----------
    store
        Clips of one skeleton.
    method
        "contact" (a phase per foot, of when it stands), "pca" (a phase per hand and foot, of its
        velocity along its main direction) or "pfnn" (one phase, of the foot strikes).
    window_s
        Seconds around a frame that its phases are fitted to.
    description
        A skeleton description (`load_description`).

    Raises
    ------
    ParameterError
        Where there is no such method, an option is impossible, or nothing moves.
    SkeletonError
        Where the skeleton lacks the limbs that the method needs.
    """
    if method not in BASELINES:
        listed = f"methods: {', '.join(BASELINES)}"
        raise ParameterError(f"there is no method {method!r}", hint=listed)
    kind = BASELINES[method]
    return kind.fit(store, window_s=window_s, description=description, progress=progress)


# Below this many bytes of data per process, starting one costs more than it saves.
_BYTES_PER_WORKER = 50_000_000


@dataclass(frozen=True)
class EncodedFile:
    """Result of encoding one clip: its number of frames, or why it is left out.

    Notes are about values of the file that were put right.
    """

    frames: int = 0
    error: DeepPhaseError | None = None
    notes: tuple[str, ...] = ()


def encode_files(
    model: str | Path,
    entries: Sequence[ClipEntry],
    folder: str | Path,
    *,
    csv: bool = False,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[EncodedFile]:
    """Write the phases of every frame of clips or songs, as NAME.phases.npz each.

    The files have the same names and bytes for any number of workers: every process computes with
    one thread. Results are in the order of the entries; a clip that is left out has an error.
    """
    trained = Path(model).absolute()
    # Damaged models are refused before processes are started.
    opened_model(trained)
    stems = unique_stems(entry.name for entry in entries)
    tasks = list(zip(entries, stems, strict=True))
    encode = partial(_encode_file, trained, Path(folder).absolute(), csv)
    results = map_in_order(
        encode,
        tasks,
        workers_for([entry.size for entry in entries], workers, _BYTES_PER_WORKER),
        lost=lambda task, error: EncodedFile(
            error=type(error)(f"{task[0].name}: {error.fact}", hint=error.hint)
        ),
    )
    return list(reported(progress, "encoding", results, len(tasks)))


def _encode_file(model: Path, folder: Path, csv: bool, task: tuple[ClipEntry, str]) -> EncodedFile:
    entry, stem = task

    def encoded() -> tuple[ClipPhases, tuple[str, ...]]:
        source: Any = entry.load()
        notes = warnings_of(source) if isinstance(source, Clip) else ()
        threads = torch.get_num_threads()
        try:
            # Sums differ in the last bits between numbers of threads.
            torch.set_num_threads(1)
            phases = opened_model(model).encode(source)
        finally:
            torch.set_num_threads(threads)
        return phases, tuple(f"{entry.name}: {note}" for note in notes)

    try:
        phases, notes = within_memory(encoded, about=entry.name)
    except DeepPhaseError as error:
        return EncodedFile(error=error)
    trained, sha256 = _read_once(model, _state(model))
    path = folder / f"{stem}.phases.npz"
    save_phases(phases, path, window_s=trained.window / trained.fps, model_sha256=sha256)
    if csv:
        save_csv(phases, path.with_suffix(".csv"))
    return EncodedFile(len(phases), notes=notes)


def opened_model(path: str | Path) -> PhaseExtractor:
    """A phase model or a baseline, read once per process while its file is unchanged."""
    path = Path(path).absolute()
    return _read_once(path, _state(path))[0]


def _state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        # The reader says what is wrong.
        return 0, 0
    return status.st_mtime_ns, status.st_size


@lru_cache(maxsize=1)
def _read_once(path: Path, state: tuple[int, int]) -> tuple[PhaseExtractor, str]:
    """The model, read once per process, and its hash."""
    model = PhaseModel.load(path) if reads_songs(path) else load_model(path)
    return model, model.sha256
