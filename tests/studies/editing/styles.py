"""Styles of clips on others: Gram distance, contacts, phases, and a classifier of styles.

python -m tests.studies.editing.styles EDITOR STORE PHASE_MODEL [--clips 12] [--held-out]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch

from deepphase.corpus.store import open_store
from deepphase.edit.editor import MotionEditor
from deepphase.edit.style import gram_distance, styled
from deepphase.motion.clip import Clip
from deepphase.motion.contacts import foot_contacts, sliding_speed
from deepphase.motion.kinematics import joint_positions
from deepphase.motion.resample import resample
from deepphase.motion.roles import find_roles
from deepphase.phase.model import PhaseModel
from deepphase.solving.feet import toe_positions

STYLES = ("active", "exhausted", "feminine", "masculine", "normal")
# A style that the editor was not trained on.
UNKNOWN = "youthful"


class StyleClassifier:
    """Softmax regression on means and deviations of points over a clip."""

    def __init__(self, clips: list[Clip], styles: list[str], editor: MotionEditor) -> None:
        self.editor, self.names = editor, sorted(set(styles))
        values = np.stack([self.features(clip) for clip in clips])
        self.mean, self.scale = values.mean(axis=0), values.std(axis=0) + 1e-3
        inputs = torch.from_numpy(((values - self.mean) / self.scale).astype(np.float32))
        wanted = torch.tensor([self.names.index(style) for style in styles])
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(inputs.shape[1], len(self.names))
        optimizer = torch.optim.AdamW(self.layer.parameters(), lr=1e-2, weight_decay=1e-1)
        for _ in range(400):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(self.layer(inputs), wanted).backward()
            optimizer.step()

    def features(self, clip: Clip) -> np.ndarray:
        """Of points in root space: root velocities and contacts would show the content."""
        editor = self.editor
        rows, _ = editor.space.rows(resample(editor.space.on_hips(clip), editor.fps))
        flat = rows.points.reshape(len(rows), -1)
        return np.concatenate([flat.mean(axis=0), flat.std(axis=0)])

    def style(self, clip: Clip) -> str:
        """The most probable style."""
        values = (self.features(clip) - self.mean) / self.scale
        with torch.inference_mode():
            return self.names[int(self.layer(torch.from_numpy(values.astype(np.float32))).argmax())]


def circular_correlation(one: np.ndarray, two: np.ndarray) -> float:
    """Correlation of two angles in radians whose mean directions are not defined.

    References
    ----------
    Jammalamadaka and SenGupta 2001, section 8.2: of uniform margins.
    """
    return float(abs(np.exp(1j * (one - two)).mean()) - abs(np.exp(1j * (one + two)).mean()))


def main() -> None:
    """Print a row for each pair, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("editor")
    parser.add_argument("store")
    parser.add_argument("model")
    parser.add_argument("--clips", type=int, default=12)
    parser.add_argument("--action", default="walk", help="action of the clips of styles")
    parser.add_argument("--several", type=int, default=1, help="clips of a style, taken as one")
    parser.add_argument(
        "--held-out",
        action="store_true",
        help="content and styles are of clips that the editor was not trained on",
    )
    options = parser.parse_args()
    editor, store = MotionEditor.load(options.editor), open_store(options.store)
    model = PhaseModel.load(options.model)
    actions, styles = store.label_column("action"), store.label_column("style")
    names = (*STYLES, UNKNOWN) if options.held_out else STYLES
    held = set(editor.provenance["held_out"])
    held |= {
        source.path for source, style in zip(store.sources, styles, strict=True) if style == UNKNOWN
    }

    def of_action(action: str) -> dict[str, list[int]]:
        return {
            style: np.flatnonzero((actions == action) & (styles == style)).tolist()
            for style in names
        }

    def unseen(index: list[int]) -> list[int]:
        if not options.held_out:
            return index[-6:]
        return [i for i in index if store.sources[i].path in held][-6:]

    chosen = of_action("walk")
    # Content and style clips are none of the classifier's.
    aside = {style: unseen(index) for style, index in chosen.items()}
    givers = {style: unseen(index) for style, index in of_action(options.action).items()}
    training = [
        (i, style) for style, index in chosen.items() for i in index if i not in aside[style]
    ]
    print("clips aside:", {style: len(index) for style, index in aside.items()})
    classifier = StyleClassifier(
        [store.clip(i) for i, _ in training], [style for _, style in training], editor
    )
    tested = [(store.clip(i), style) for style, index in aside.items() for i in index]
    right = np.mean([classifier.style(clip) == style for clip, style in tested])
    print(f"classifier: {len(training)} clips, right on {right:.0%} of {len(tested)} others")
    generator, rows = np.random.default_rng(5), []
    for number in range(options.clips):
        one = generator.choice([name for name in names if aside[name]])
        two = generator.choice([name for name in names if givers[name] and name != one])
        content = editor.space.on_hips(store.clip(int(generator.choice(aside[one]))))
        count = min(options.several, len(givers[two]))
        taken = generator.choice(givers[two], count, replace=False)
        given = [store.clip(int(index)) for index in taken]
        begin = time.process_time()
        made = styled(content, given, editor)
        seconds = time.process_time() - begin
        roles = find_roles(content.skeleton, clip=content)
        flags = [foot_contacts(clip, roles).flags for clip in (content, made.clip)]
        f1 = 2 * (flags[0] & flags[1]).sum() / (flags[0].sum() + flags[1].sum())
        phases = [model.encode(clip) for clip in (content, made.clip)]
        strong = phases[0].parameters.amplitude.mean(axis=0).argmax()
        angles = [2 * np.pi * each.parameters.phase[:, strong] for each in phases]
        jerks = [
            np.linalg.norm(np.diff(joint_positions(clip), n=3, axis=0), axis=-1).mean()
            for clip in (content, made.clip)
        ]
        slides = [
            100 * sliding_speed(toe_positions(clip, roles), flags[0], content.fps)
            for clip in (content, made.clip)
        ]
        fooled = float(classifier.style(made.clip) == two)
        rows.append(
            (
                made.distance_before,
                gram_distance(made.clip, given, editor),
                f1,
                circular_correlation(*angles),
                fooled,
                jerks[1] / jerks[0],
                *slides,
                seconds,
            )
        )
        print(number, one, "->", two, np.round(rows[-1], 3), flush=True)
    print("Gram before, after, contact F1, phase correlation, fooled, jerk ratio, sliding before,")
    print("after (cm/s), processor seconds")
    print(np.round(np.mean(rows, axis=0), 3))


if __name__ == "__main__":
    main()
