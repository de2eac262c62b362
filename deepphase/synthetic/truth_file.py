"""Ground truth of a synthetic motion, as a versioned .npz file beside its clip.

Format "deepphase.truth", version 1: `phase` and `frequency` (frames, limbs), `contacts` (frames,
limbs) bool, `gait` (frames,) and the texts `limb_names` and `gait_names`, as in
:class:`deepphase.synthetic.locomotion.SyntheticMotion`; `fps`; `meta` is JSON.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.atomic_write import atomic_write
from deepphase.errors import FormatError
from deepphase.synthetic.locomotion import SyntheticMotion

FORMAT, VERSION = "deepphase.truth", 1
_ARRAYS = ("phase", "frequency", "contacts", "gait")


@dataclass(frozen=True, eq=False)
class Truth:
    """What a truth file holds; see :class:`SyntheticMotion`."""

    clip: str
    fps: float
    limb_names: tuple[str, ...]
    gait_names: tuple[str, ...]
    phase: Array
    frequency: Array
    contacts: Array
    gait: Array

    @classmethod
    def of(cls, motion: SyntheticMotion) -> Truth:
        """The truth about a motion."""
        return cls(
            motion.clip.name,
            motion.clip.fps,
            motion.limb_names,
            motion.gait_names,
            motion.phase,
            motion.frequency,
            motion.contacts,
            motion.gait,
        )

    def __len__(self) -> int:
        return len(self.phase)

    def save(self, path: str | Path) -> None:
        """Write the file, whole or not at all. CheckpointError where the disk refuses."""
        meta = {
            "format": FORMAT,
            "version": VERSION,
            "clip": self.clip,
            "fps": self.fps,
            "limb_names": self.limb_names,
            "gait_names": self.gait_names,
            "conventions": "phase in cycles in [-0.5, 0.5), growing with time, 0 at the limb's "
            "touch-down; frequency in Hz; contacts: whether the limb touches the ground",
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        with atomic_write(path) as file:
            np.savez_compressed(file, **arrays, meta=np.array(json.dumps(meta)))

    @classmethod
    def load(cls, path: str | Path) -> Truth:
        """Read a truth file.

        Raises
        ------
        FormatError
            Where it is not such a file, or its arrays do not fit each other.
        """
        try:
            with np.load(path, allow_pickle=False) as content:
                meta = json.loads(str(content["meta"]))
                arrays = {name: content[name] for name in _ARRAYS}
            limbs = tuple(meta["limb_names"])
            frames = len(arrays["gait"])
            if meta["format"] != FORMAT or meta["version"] > VERSION:
                raise ValueError(f"{meta['format']} version {meta['version']}")
            if any(arrays[name].shape != (frames, len(limbs)) for name in _ARRAYS[:3]):
                raise ValueError("arrays of different lengths")
            gaits = tuple(meta["gait_names"])
            return cls(meta["clip"], float(meta["fps"]), limbs, gaits, **arrays)
        except (OSError, KeyError, TypeError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise FormatError(
                f"not a truth file: {' '.join(str(error).split())[:160]}",
                hint="truth files are what `deepphase demo` writes",
                path=path,
            ) from None
