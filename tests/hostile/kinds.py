"""Kinds of files that deepphase reads: good examples, their reader, and changes from within."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from deepphase.apps.live.page import driven_run, read_driven
from deepphase.apps.training_run import Epoch, TrainingRequest, TrainingStatus
from deepphase.controllers.ball.ball_track import load_ball, save_ball
from deepphase.controllers.ball.fitting import fit_ball
from deepphase.controllers.config import ControllerConfig
from deepphase.controllers.dance.config import DanceConfig
from deepphase.controllers.dance.dancer import Dancer
from deepphase.controllers.runtime.controller import Controller
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.labels import read_label_table
from deepphase.corpus.motion_files import SETTINGS_FILE, STORE_JSON, read_settings
from deepphase.corpus.store import open_store
from deepphase.corpus.store_writer import ARRAY_TYPES, write_store
from deepphase.edit.config import EditorConfig
from deepphase.edit.editor import MotionEditor
from deepphase.edit.effector_motion import read_effector_paths
from deepphase.edit.targets import read_keys, read_targets
from deepphase.edit.training import train_editor
from deepphase.errors import CheckpointError
from deepphase.features.layout import FeatureLayout
from deepphase.files import json_hash, temporary_folder
from deepphase.formats.load import load, load_all, save
from deepphase.matching.database.database import MotionDatabase
from deepphase.matching.learned.matcher import Matcher
from deepphase.motion.ball import Ball
from deepphase.motion.roles import load_description
from deepphase.music import cache as song_cache
from deepphase.music.audio import HOP, SAMPLE_RATE, read_sound
from deepphase.music.beats_file import read_beats
from deepphase.phase.baselines.pca_phase import PcaPhase
from deepphase.phase.config import PhaseConfig
from deepphase.phase.encoding import make_autoencoder
from deepphase.phase.extractor import load_extractor
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import ManifoldProjection, load_phases, save_phases
from deepphase.phase.song_signals import SongSignals
from deepphase.phase.training.train import train_phase
from deepphase.rigs.body_rig import BodyRig
from deepphase.rigs.config import RigConfig
from deepphase.rigs.inverse import RigInverse
from deepphase.rigs.keying import keyed, motion_on_rig
from deepphase.rigs.keys import RigKeys
from deepphase.rigs.training import train_rig
from deepphase.steering.gamepad import read_gamepad
from deepphase.steering.path import read_path
from deepphase.steering.run import RunnerSpec
from deepphase.synthetic.bodies import BODY_KINDS
from deepphase.synthetic.gait_motion import locomotion
from deepphase.terrain.ground_file import read_ground
from deepphase.terrain.grounded_clip import ClipGround
from deepphase.terrain.heightmap import Heightmap
from deepphase.training.task import checked_checkpoint
from tests.compatibility.test_formats import _FILES as FILES
from tests.controllers.made_controllers import walking_store
from tests.formats.bvh_text import two_joints
from tests.formats.marker_files import c3d_bytes, markers_of, motive_text, mvnx_text, trc_text
from tests.formats.test_amc import AMC, ASF
from tests.formula_motion import swinging
from tests.hostile import mutations
from tests.hostile.mutations import Change
from tests.hostile.npz_cases import AMASS, JOINTS, OWN, POINTS, archive
from tests.hostile.odd_glb_cases import CURVED, MIXED
from tests.live.test_networks import SIZES, untrained
from tests.matching.made_databases import swinging_store
from tests.music.made_sounds import clicks, file_bytes


@dataclass(frozen=True)
class Kind:
    """Files that one reader reads."""

    suffix: str
    read: Callable[[Path], Any]
    # Good files, made in a folder
    examples: Callable[[Path], list[bytes]]
    # From within; all kinds are changed from outside as well
    changes: tuple[Change, ...] = ()
    # Whether any change from outside is refused, or changes nothing that is read
    hashed: bool = False
    # Whether the examples take more than a second
    slow: bool = False


def _walk() -> Any:
    return locomotion(0, 0.5).clip


def _saved(suffix: str, *more: bytes) -> Callable[[Path], list[bytes]]:
    def examples(folder: Path) -> list[bytes]:
        path = folder / f"walk{suffix}"
        save(_walk(), path)
        return [path.read_bytes(), *more]

    return examples


def _markers(*writers: Callable[..., bytes | str], metres: bool = False) -> Callable[[Path], list]:
    def examples(folder: Path) -> list[bytes]:
        few = _walk().sliced(0, 6)
        markers = markers_of(few) / (1000.0 if metres else 1.0)
        contents = [write(markers, few.skeleton.names) for write in writers]
        return [each.encode() if isinstance(each, str) else each for each in contents]

    return examples


def _dec(markers: Any, labels: Any) -> bytes:
    return c3d_bytes(markers, labels, processor=85, scale=0.1, analog=2)


def _kept(name: str) -> Callable[[Path], list[bytes]]:
    return lambda folder: [(FILES / name).read_bytes()]


def _text(*texts: str) -> Callable[[Path], list[bytes]]:
    return lambda folder: [text.encode() for text in texts]


def _by(write: Callable[[Path], Any], suffix: str) -> Callable[[Path], list[bytes]]:
    """The file that a function writes to a path."""

    def examples(folder: Path) -> list[bytes]:
        path = folder / f"example{suffix}"
        write(path)
        return [path.read_bytes()]

    return examples


def _songs_model() -> PhaseModel:
    """A phase model of two features of songs, with the weights of its seed."""
    torch.manual_seed(0)
    config = PhaseConfig.load("default", **{"network.channels": 2})
    signals = SongSignals(("beat", "chroma"), (1.0,) * 13)
    network = make_autoencoder(13, SAMPLE_RATE / HOP, config.network)
    return PhaseModel(network, config, signals)


def _projection(path: Path) -> None:
    projection = PhaseModel.load(FILES / "default.model").projection
    assert projection is not None
    projection.save(path)


@cache
def _editor() -> MotionEditor:
    swings = [swinging(0.8 + 0.3 * seed, 3.0, seed=seed)[0] for seed in range(3)]
    config = EditorConfig.load(
        "masked",
        **{
            "network.window_s": 1.6,
            "network.width": 16,
            "network.hidden": 16,
            "training.windows": 16,
            "training.batch_size": 8,
        },
    )
    with temporary_folder() as folder:
        return train_editor(ClipStore.from_clips(swings), config, folder=folder, accelerator="cpu")


def _rig(path: Path) -> None:
    walk = locomotion(0, 2.0).clip
    config = RigConfig.load(
        "default",
        **{
            "training.examples": 20,
            "training.hidden": 16,
            "training.samples": 60,
            "training.frames": 60,
            "training.epochs": 1.0,
        },
    )
    store, rig = ClipStore.from_clips([walk]), BodyRig.from_clip(walk)
    with temporary_folder() as folder:
        train_rig(store, rig, config, folder=folder, accelerator="cpu").save(path)


def _rig_keys(path: Path) -> None:
    walk = _walk()
    rig = BodyRig.from_clip(walk)
    motion = motion_on_rig(walk, rig)
    RigKeys.from_rig(rig, keyed(motion, rig), motion.placement, motion.fps).save(path)


def _phases(path: Path) -> None:
    phases, _ = load_phases(FILES / "walk_1.phases.npz")
    short = replace(phases, parameters=phases.parameters[:6], interior=phases.interior[:6])
    save_phases(short, path, window_s=1.0, model_sha256="")


def _ground() -> Heightmap:
    return Heightmap.centred(np.tile(np.linspace(0.0, 1.0, 9), (7, 1)), 0.25, "slope")


_IMAGE = Image.fromarray((20 * np.arange(48).reshape(6, 8) % 255).astype(np.uint8))
_HEIGHTS = np.linspace(0.0, 1.0, 30).reshape(5, 6)
_TEXT_JOINTS = np.random.default_rng(0).random((4, 22, 3)).astype(np.float32)


def _packed_store(path: Path) -> None:
    """An archive of the files of a store, store.json as an array of one text."""
    with temporary_folder() as folder:
        write_store(folder, [_walk().sliced(0, 6), _walk().sliced(6, 15)])
        files = {str(each.relative_to(folder))[:-4]: each for each in folder.rglob("*.npy")}
        members = {name: file.read_bytes() for name, file in files.items()}
        path.write_bytes(archive({**members, "meta": (folder / STORE_JSON).read_text()}))


def _open_packed_store(path: Path) -> Any:
    """The store in such an archive, with the right hashes."""
    members = mutations.archive_members(path.read_bytes()) or {}
    with temporary_folder() as folder:
        hashes = {}
        for name in (f"Hips-25/{name}" for name in ARRAY_TYPES):
            file = folder / f"{name}.npy"
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(content := members.get(name, b""))
            hashes[name] = hashlib.sha256(content).hexdigest()
        try:
            header = json.loads(str(mutations.array_of(members.get("meta", b""))))
            header = {**header, "sha256": hashes}
            header.pop("json_sha256", None)
            header["json_sha256"] = json_hash(header)
        except (TypeError, ValueError):
            header = []
        (folder / STORE_JSON).write_text(json.dumps(header))
        return open_store(folder)


def _parquet(path: Path) -> None:
    from pyarrow import parquet, table

    columns = {"name": ["walk_1", "run", "jump"], "style": ["old", None, "x"], "take": [1, 2, 3]}
    parquet.write_table(table(columns), path)


def _sounds(folder: Path) -> list[bytes]:
    samples, _ = clicks(120, 2.0)
    return [
        file_bytes(samples, 44_100, format=format, subtype=subtype)
        for format, subtype in (
            ("WAV", "PCM_16"),
            ("WAV", "FLOAT"),
            ("FLAC", None),
            ("OGG", "VORBIS"),
            ("MP3", None),
        )
    ]


def _song(path: Path) -> Any:
    song = FILES / "song.ogg"
    try:
        return song_cache._read(path, hashlib.sha256(song.read_bytes()).hexdigest(), song)
    except (KeyError, TypeError, ValueError) as error:
        # As the cache does, which then reads the song again.
        raise CheckpointError(str(error)) from None


def _any_skeleton(path: Path) -> None:
    """A model of two bodies, after a few steps."""
    bodies = [locomotion(seed, 4.0, body=body).clip for seed, body in enumerate(BODY_KINDS)]
    sizes = {"training.windows": 64}
    config = PhaseConfig.load("any_skeleton", **sizes, **{"training.batch_size": 32})
    with temporary_folder() as folder:
        stores = [ClipStore.from_clips([clip]) for clip in bodies]
        train_phase(stores, config, folder=folder, accelerator="cpu").save(path)


def _networks(folder: Path) -> list[bytes]:
    """Files of an untrained controller of each network that pages run."""
    store = walking_store()
    for name in SIZES:
        untrained(name, store, hidden=8).save(folder / f"{name}.controller")
    return [path.read_bytes() for path in sorted(folder.glob("*.controller"))]


def _in_folder(
    name: str, read: Callable[[Path], Any], beside: tuple[str, str] = ("other", "")
) -> Callable[[Path], Any]:
    """A reader of a folder's file of this name, with another one, name and text, beside it."""

    def reader(path: Path) -> Any:
        with temporary_folder() as folder:
            (folder / beside[0]).write_text(beside[1])
            (folder / name).write_bytes(path.read_bytes())
            return read(folder)

    return reader


def _saved_in_folder(name: str, value: Any) -> Callable[[Path], list[bytes]]:
    def examples(folder: Path) -> list[bytes]:
        value.save(folder)
        return [(folder / name).read_bytes()]

    return examples


def _load_amc(folder: Path) -> Any:
    return load_all(folder / "a.amc")


def _driven(folder: Path) -> list[bytes]:
    walk = _walk().sliced(0, 6)
    save(walk, folder / "walk.bvh")
    pairs, ones = [[0.5, 1.0]] * 6, [1.0] * 6
    rows = {"positions": pairs, "angles": ones, "contacts": pairs, "velocities": pairs}
    rows |= {"facings": [None, *pairs[1:]], "balls": [[0.1] * 9] * 6}
    content = {"bvh": (folder / "walk.bvh").read_text(), **rows}
    return [json.dumps(content).encode()]


def _read_driven(path: Path) -> Any:
    walk = _walk()
    feet = ("LeftToe", "RightToe")
    bvh, arrays = read_driven(path.read_text("utf-8", "replace"), len(feet))
    path.with_suffix(".bvh").write_text(bvh, "utf-8", "replace")
    clip = load(path.with_suffix(".bvh"))
    none = np.zeros(0, np.int64)
    hips = walk.skeleton.names[:1]
    spec = RunnerSpec(60.0, walk.skeleton, none, hips, (), {}, np.ones(1), "", ball=Ball())
    return clip, driven_run(clip, arrays, spec)


def _status() -> TrainingStatus:
    epochs = (Epoch(0.5, 320, 0.1, 0.9), Epoch(1.0, 640, 0.05, 0.95))
    return TrainingStatus("running", "training", 3, 9, "x", 640, 2.0, epochs)


def _configs(kind: str) -> Callable[[Path], list[bytes]]:
    shipped = Path(__file__).parents[2] / "configs" / kind
    return lambda folder: [path.read_bytes() for path in sorted(shipped.glob("*.yaml"))]


_POINT = {
    "fingerprint": "{}",
    "epoch": 3,
    "global_step": 3,
    "state_dict": {"bias": torch.zeros(20)},
}
_PATHS = "t,x,z,facing,gait\n0,0,0,0,walk\n0.5,0,1.5,0.1,walk\n2,1,3,0.8,run\n"
_GAMEPAD = "t,move_x,move_z,look_x,look_z,style\n0,0,0,0,0,a\n1,0.5,-1,0,0.25,b\n2,0,1,0,0,b\n"
_LABELS = "file,style,start_s,stop_s\nwalk_1.bvh,old,0,1.5\nwalk_1.bvh,young,2,3\nrun,old,,\n"
_DESCRIPTION = (
    "kind: biped\nhips: Hips\nleft_hip: LeftUpLeg\ntail: [Tail1, Tail2]\n"
    "pairs:\n  - [LeftEar, RightEar]\nnames: [a, b, c]\nedges: [[a, b], [b, c]]\n"
)
_EFFECTORS = "t,joint,x,y,z\n0,LeftFoot,0,0,0\n1,LeftFoot,0.1,0.2,0.3\n0.5,RightHand,1,0,0\n"
_BEATS = "# beats\n0.5 1\n1.0 2\n1.5 3\n2.0\t4\n2.5,1\n"
_AUDACITY = "0.5\t0.5\t1\n\\\t100\t200\n1.0\t1.0\t2\n1.5\t1.5\t1\n"

_WORDS, _JSON = mutations.TEXT, (mutations.changed_json, *mutations.TEXT)


def _ours(
    suffix: str, read: Callable[[Path], Any], examples: Callable[[Path], list[bytes]], **more: bool
) -> Kind:
    return Kind(suffix, read, examples, mutations.ARRAY_FILE, hashed=True, **more)


def _archive(
    suffix: str, read: Callable[[Path], Any], write: Callable[[Path], Any], **more: bool
) -> Kind:
    return Kind(suffix, read, _by(write, suffix), mutations.ARCHIVE, hashed=True, **more)


def _table(read: Callable[[Path], Any], *texts: str, **more: bool) -> Kind:
    return Kind(".csv", read, _text(*texts), mutations.TABLE, **more)


def _labels(path: Path) -> Any:
    return read_label_table(path, ["walk_1.bvh", "run.bvh"])


_CONFIGS = {
    "phase": PhaseConfig,
    "controller": ControllerConfig,
    "dance": DanceConfig,
    "editor": EditorConfig,
    "rig": RigConfig,
}
_ARRAYS_OF_OTHERS = [archive(each) for each in (AMASS, OWN, JOINTS, POINTS)]
_ARRAYS_OF_OTHERS.append(archive(AMASS, zipfile.ZIP_DEFLATED))
_REQUEST = TrainingRequest("a.store", "group", ("walk", "run"))
_SETTINGS = "up: z\nunit: cm\nfloor: 0.12\nlabels:\n  field1: style\n  field2: take\n"
_TARGETS = "joint,frame,x,y,z,last\nHand,3,0,1,0.5,\nFoot,4,0,0,0,9\n"
KINDS: dict[str, Kind] = {
    "bvh": Kind(".bvh", load_all, _saved(".bvh", two_joints().encode()), _WORDS),
    "npz": Kind(".npz", load_all, _saved(".npz", *_ARRAYS_OF_OTHERS), mutations.ARCHIVE),
    "motion": _archive(".npz", load, lambda path: save(_walk().sliced(0, 6), path)),
    "glb": Kind(".glb", load_all, _saved(".glb", MIXED), mutations.GLB),
    "gltf": Kind(".gltf", load_all, _saved(".gltf", CURVED), (*mutations.GLTF, *_WORDS)),
    "c3d": Kind(".c3d", load_all, _markers(c3d_bytes, _dec)),
    "trc": Kind(".trc", load_all, _markers(trc_text), _WORDS),
    "motive": Kind(".csv", load_all, _markers(motive_text, metres=True), _WORDS),
    "mvnx": Kind(
        ".mvnx", load_all, lambda folder: [mvnx_text(_walk().sliced(0, 6)).encode()], _WORDS
    ),
    "joints of text": Kind(".npy", load_all, _by(lambda path: np.save(path, _TEXT_JOINTS), ".npy")),
    "amc": Kind(".amc", _in_folder("a.amc", _load_amc, ("a.asf", ASF)), _text(AMC), _WORDS),
    "asf": Kind(".asf", _in_folder("a.asf", _load_amc, ("a.amc", AMC)), _text(ASF), _WORDS),
    "store": _ours(".store", open_store, _kept("clips.store")),
    "store in a folder": Kind(
        ".npz", _open_packed_store, _by(_packed_store, ".npz"), mutations.ARCHIVE
    ),
    "resume point": Kind(
        ".ckpt",
        _in_folder("resume.ckpt", lambda folder: checked_checkpoint(folder, {})),
        _by(lambda path: torch.save(_POINT, path), ".ckpt"),
    ),
    "model": _ours(".model", load_extractor, _kept("default.model")),
    "model of any skeleton": _ours(
        ".model", PhaseModel.load, _by(_any_skeleton, ".model"), slow=True
    ),
    "songs model": _ours(
        ".model", PhaseModel.load, _by(lambda path: _songs_model().save(path), ".model")
    ),
    "contact phases": _ours(".phases", load_extractor, _kept("contact.phases")),
    "pca phases": _ours(
        ".phases",
        load_extractor,
        _by(lambda path: PcaPhase.fit(swinging_store()).save(path), ".phases"),
    ),
    "projection": _ours(".projection", ManifoldProjection.load, _by(_projection, ".projection")),
    "controller": _ours(".controller", Controller.load, _kept("experts.controller")),
    "untrained controllers": Kind(
        ".controller", Controller.load, _networks, mutations.ARRAY_FILE, slow=True
    ),
    "dancer": _ours(".dancer", Dancer.load, _kept("small.dancer")),
    "database": _ours(".db", MotionDatabase.load, _kept("motion.db")),
    "matcher": _ours(".matcher", Matcher.load, _kept("small.matcher")),
    "editor": _ours(
        ".editor", MotionEditor.load, _by(lambda path: _editor().save(path), ".editor"), slow=True
    ),
    "rig": _ours(".rig", RigInverse.load, _by(_rig, ".rig"), slow=True),
    "ball": _ours(
        ".ball",
        load_ball,
        _by(lambda path: save_ball(fit_ball(locomotion(0, 1.0).clip), path), ".ball"),
    ),
    "cached song": _ours(".song", _song, lambda _: [next(FILES.glob("*.song")).read_bytes()]),
    "phases": _archive(".phases.npz", load_phases, _phases),
    "rig keys": Kind(".json", RigKeys.load, _by(_rig_keys, ".json"), _JSON),
    "ground": _archive(
        ".npz", ClipGround.load, lambda path: ClipGround(_ground(), "walk", laid=True).save(path)
    ),
    "ground array": Kind(".npy", read_ground, _by(lambda path: np.save(path, _HEIGHTS), ".npy")),
    "ground image": Kind(".png", read_ground, _by(_IMAGE.save, ".png")),
    "targets": _table(read_targets, _TARGETS),
    "keys": _table(read_keys, "frame,time\n0,0\n30,1.0\n60,2.5\n", "frame\n0\n30\n"),
    "effector paths": _table(
        lambda path: read_effector_paths(path, _editor()), _EFFECTORS, slow=True
    ),
    "path": _table(read_path, _PATHS),
    "gamepad": _table(read_gamepad, _GAMEPAD),
    "labels": _table(_labels, _LABELS),
    "labels in Parquet": Kind(".parquet", _labels, _by(_parquet, ".parquet")),
    "description": Kind(".yaml", load_description, _text(_DESCRIPTION), mutations.YAML),
    **{
        f"{name} config": Kind(".yaml", config.load, _configs(name), mutations.YAML)
        for name, config in _CONFIGS.items()
    },
    "layout": Kind(".yaml", FeatureLayout.load, _configs("matching"), mutations.YAML),
    "beats": Kind(".beats", read_beats, _text(_BEATS, _AUDACITY), mutations.TABLE),
    "sound": Kind(".wav", read_sound, _sounds),
    "settings": Kind(
        ".yaml", _in_folder(SETTINGS_FILE, read_settings), _text(_SETTINGS), mutations.YAML
    ),
    "training request": Kind(
        ".json",
        _in_folder("request.json", TrainingRequest.load),
        _saved_in_folder("request.json", _REQUEST),
        _JSON,
    ),
    "training status": Kind(
        ".json",
        _in_folder("status.json", TrainingStatus.load),
        _saved_in_folder("status.json", _status()),
        _JSON,
    ),
    "steered motion": Kind(".json", _read_driven, _driven, _JSON),
}
