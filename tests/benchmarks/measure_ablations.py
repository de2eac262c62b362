"""Editors without parts of their networks and training, each trained for the same few windows.

python -m tests.benchmarks.measure_ablations TRAINING_STORE TEST_STORE [--windows 3000]
"""

from __future__ import annotations

import argparse
import tempfile
import time

import numpy as np
import torch

from deepphase.corpus.store import open_store
from deepphase.editing.config import EditorConfig
from deepphase.editing.damage import Damage
from deepphase.editing.editor import MotionEditor
from deepphase.editing.networks import TiedAutoencoder
from deepphase.editing.repair import repaired
from deepphase.editing.train import train_editor
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.resample import resample
from tests.benchmarks.measure_editing import damaged_by, errors, jerk

# At 30 Hz the kernel of 25 frames at 60 Hz has 13.
_SYNTHESIS = {"network.fps": 30, "network.window_s": 4.0, "network.kernel": 13}
_VARIANTS: dict[str, tuple[str, dict[str, object]]] = {
    "synthesis": ("synthesis", _SYNTHESIS),
    "no dropout": ("synthesis", _SYNTHESIS | {"network.dropout": 0.0}),
    "no pooling": ("synthesis", _SYNTHESIS | {"network.pool": 1}),
    "neither": ("synthesis", _SYNTHESIS | {"network.pool": 1, "network.dropout": 0.0}),
    "no sparsity": ("synthesis", _SYNTHESIS | {"training.sparsity": 0.0}),
    "three layers (manifold)": ("manifold", {}),
    "masked": ("masked", {}),
    "zeroed inputs": ("masked", {"training.corruption": "zeros", "training.zeroed": 0.5}),
    "no smoothness": ("masked", {"training.smoothness": 0.0}),
    "48 hidden units": ("masked", {"network.hidden": 48}),
}


def centre_share(editor: MotionEditor) -> float:
    """Share of the squares of the first layer's weights in the middle third of its frames."""
    if not isinstance(editor.network, TiedAutoencoder):
        return float("nan")
    energy = editor.network.weights[0].detach().square().sum(dim=(0, 1)).numpy()
    third = len(energy) // 3
    return float(energy[third : len(energy) - third].sum() / energy.sum())


def fast_share(made: np.ndarray, true: np.ndarray, fps: float) -> float:
    """Power of joints (frames, joints, 3) above 6 Hz, as a multiple of the true one's."""
    powers = []
    for each in (made, true):
        power = np.abs(np.fft.rfft(np.diff(each, axis=0), axis=0)) ** 2
        powers.append(power[np.fft.rfftfreq(len(each) - 1, 1 / fps) > 6.0].sum())
    return float(powers[0] / max(powers[1], 1e-12))


def row_of(editor: MotionEditor, clips: list[Clip]) -> list[float]:
    """Errors in mm: reconstruction, a gap of 0.5 s, half of the joints in stretches; jerks."""
    values = []
    for number, clip in enumerate(clips):
        sampled = resample(editor.space.on_hips(clip), editor.fps)
        rows, root = editor.space.rows(sampled)
        decoded = editor.decode(editor.encode(rows), len(rows))
        made = editor.space.clip(decoded, sampled, root, floor=editor.space.floor(rows, sampled))
        places = [joint_positions(each) for each in (made, sampled)]
        apart = np.linalg.norm(places[0] - places[1], axis=-1).mean()
        middle = len(clip) // 2
        half = round(0.25 * clip.fps)
        gap = Damage.stated(
            len(clip), editor.space.joints, stretches=[(middle - half, middle + half - 1)]
        )
        whole = repaired(clip, editor, gap)
        given, damage = damaged_by("stretches 50", clip, editor, np.random.default_rng([7, number]))
        mended = repaired(given, editor, damage)
        values.append(
            [
                1000 * apart,
                jerk(made) / jerk(sampled),
                fast_share(*places, editor.fps),
                1000 * errors(whole, clip, editor, gap).mean(),
                1000 * errors(mended, clip, editor, damage).mean(),
            ]
        )
    return np.mean(values, axis=0).tolist()


def main() -> None:
    """Print a row for each variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("training")
    parser.add_argument("test")
    parser.add_argument("--windows", type=int, default=3000)
    parser.add_argument("--clips", type=int, default=20)
    parser.add_argument("--every", type=int, default=6)
    parser.add_argument("--only", default="", help="a part of the names of variants")
    options = parser.parse_args()
    training, test = open_store(options.training), open_store(options.test)
    training = training.selected(training.names[:: options.every])
    which = np.unique(np.linspace(0, len(test) - 1, options.clips).astype(int))
    clips = [test.clip(int(index)) for index in which]
    print("reconstruction mm, its jerk / true, its power above 6 Hz / true, gap of 0.5 s mm,")
    print("half of the joints missing in stretches mm; share of the middle third of the filters;")
    print("processor seconds of training")
    for name, (config, changes) in _VARIANTS.items():
        if options.only not in name:
            continue
        torch.manual_seed(0)
        changed = EditorConfig.load(config, **{"training.windows": options.windows, **changes})
        begin = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            editor = train_editor(training, changed, folder=folder, accelerator="cpu")
        seconds = time.process_time() - begin
        assert editor is not None
        cells = ", ".join(f"{value:.2f}" for value in row_of(editor, clips))
        print(f"{name}: {cells}; {centre_share(editor):.2f}; {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
