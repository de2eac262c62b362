"""Full-body motion from the paths of hands and feet, on clips that were not trained on.

    python -m tests.studies.editing.effectors EDITOR TRAINING_STORE TEST_STORE

TRAINING_STORE gives the frames of the nearest neighbours.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.spatial import cKDTree

from deepphase.apps.options.groups import parse_labels
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.edit.control_networks import effector_joints
from deepphase.edit.editor import MotionEditor
from deepphase.edit.effector_motion import (
    EffectorPaths,
    _onto_paths,
    motion_of_effectors,
)
from deepphase.edit.motion_rows import MotionRows
from deepphase.edit.smoothed_root import smoothed_root
from deepphase.motion.clip import Clip
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.resample import low_passed, resample
from deepphase.motion.root_trajectory import RootTrajectory, from_root_space, to_root_space

# Hz: jumps between neighbours are low-passed.
_CUTOFF_HZ = 6.0
_SUBSETS = {
    "hands and feet": (0, 1, 2, 3),
    "hands": (0, 1),
    "right hand": (1,),
    "right hand and feet": (1, 2, 3),
}


class Neighbours:
    """The pose of the training frame whose hands and feet, and their velocities, are nearest."""

    def __init__(self, editor: MotionEditor, store: ClipStore, chosen: list[int]) -> None:
        self.editor, features, points = editor, [], []
        for index in range(len(store)):
            clip = resample(editor.space.on_hips(store.clip(index)), editor.fps)
            rows, root = editor.space.rows(clip)
            size = editor.space.size_of(clip)
            body = RootTrajectory.of_ground(root.positions[:, ::2] / size, root.angles)
            smooth = smoothed_root(body, editor.fps)
            around = to_root_space(from_root_space(rows.points, body), smooth)
            features.append(self.features(around[:, chosen]))
            points.append(around.astype(np.float32))
        self.points = np.concatenate(points)
        self.tree = cKDTree(np.concatenate(features))

    def features(self, places: np.ndarray) -> np.ndarray:
        """(frames, values) places, and what they move in a quarter of a second."""
        velocities = np.gradient(places, axis=0) * self.editor.fps
        return np.concatenate([places, 0.25 * velocities], axis=-1).reshape(len(places), -1)

    def clip(self, paths: EffectorPaths) -> Clip:
        """The poses of the nearest frames along the root, low-passed."""
        nearest = self.tree.query(self.features(to_root_space(paths.places, paths.root)))[1]
        points = low_passed(self.points[nearest].astype(np.float64), _CUTOFF_HZ, self.editor.fps)
        frames = len(points)
        rows = MotionRows(points, np.zeros((frames, 3)), np.zeros((frames, 2)))
        return self.editor.space.clip(rows, self.editor.space.rest(), paths.root)


def true_on_body(clip: Clip, editor: MotionEditor) -> Clip:
    """The clip at the editor's rate, on its body and over the floor at height 0."""
    sampled = resample(editor.space.on_hips(clip), editor.fps)
    rows, root = editor.space.rows(sampled)
    size = editor.space.size_of(sampled)
    body = RootTrajectory.of_ground(root.positions[:, ::2] / size, root.angles)
    return editor.space.clip(rows, editor.space.rest(), body)


def standing(paths: EffectorPaths, editor: MotionEditor) -> Clip:
    """The mean pose of the editor's training clips, moved along the root."""
    frames = len(paths.places)
    mean = editor.rows(np.zeros((frames, len(editor.layout.group)), np.float32))
    return editor.space.clip(mean, editor.space.rest(), paths.root)


def main() -> None:
    """Print errors of joints and effectors for sets of known paths."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("editor")
    parser.add_argument("training")
    parser.add_argument("test")
    parser.add_argument("--labels", default="")
    parser.add_argument("--clips", type=int, default=20)
    options = parser.parse_args()
    editor = MotionEditor.load(options.editor)
    names = tuple(effector_joints(editor.space))
    training, test = open_store(options.training), open_store(options.test)
    if options.labels:
        labels = parse_labels(options.labels)
        training, test = training.selected(labels), test.selected(labels)
    which = np.unique(np.linspace(0, len(test) - 1, options.clips).astype(int))
    clips = [test.clip(int(index)) for index in which]
    print("mm: joints, effectors before and after inverse kinematics, jerk / true; seconds a clip")
    for title, subset in _SUBSETS.items():
        chosen = [names[index] for index in subset]
        points = [effector_joints(editor.space)[name] for name in chosen]
        neighbours = Neighbours(editor, training, points)
        for clip in clips:
            true = true_on_body(clip, editor)
            paths = EffectorPaths.of_clip(clip, editor, chosen)
            begin = time.process_time()
            network = motion_of_effectors(paths, editor)
            seconds = time.process_time() - begin
            free = motion_of_effectors(paths, editor, exact=False).clip
            results = {"network, before IK": free, "network": network.clip}
            for name, plain in (
                ("nearest frames", neighbours.clip(paths)),
                ("mean pose", standing(paths, editor)),
            ):
                none = np.zeros((len(plain), len(editor.feet)), bool)
                results[name] = _onto_paths(plain, editor.space, paths, none)
            cells = []
            for name, made in results.items():
                apart = np.linalg.norm(joint_positions(made) - joint_positions(true), axis=-1)
                own = [made.skeleton.index(joint) for joint in chosen]
                jerks = [
                    np.linalg.norm(np.diff(joint_positions(each), n=3, axis=0), axis=-1).mean()
                    for each in (made, true)
                ]
                body = editor.space.points.joints
                cells.append(
                    f"{name} {1000 * apart[:, body].mean():.0f} {1000 * apart[:, own].mean():.1f} "
                    f"({jerks[0] / jerks[1]:.1f})"
                )
            print(
                f"{title}, {clip.name[-24:]} ({clip.duration:.0f} s):",
                "; ".join(cells),
                f"; {seconds:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
