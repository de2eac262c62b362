"""Ground truth of a synthetic motion, as a versioned .npz file beside its clip.

Format "deepphase.truth", version 1: `phase` and `frequency` (frames, limbs), `contacts` (frames,
limbs) bool, `gait` (frames,) and the texts `limb_names` and `gait_names`, as in
:class:`deepphase.synthetic.gait_motion.SyntheticMotion`; `fps`; `meta` is JSON.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.formats.header_values import checked_rate, checked_text, checked_texts
from deepphase.formats.npz.archive import read_npz, write_npz
from deepphase.synthetic.gait_motion import SyntheticMotion

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
        write_npz(path, arrays | {"meta": np.array(json.dumps(meta))})

    @classmethod
    def load(cls, path: str | Path) -> Truth:
        """Read a truth file."""
        archive = read_npz(path)
        meta = archive.meta(FORMAT, VERSION)
        try:
            limbs = checked_texts(meta["limb_names"], "limb_names")
            gaits = checked_texts(meta["gait_names"], "gait_names")
            clip, fps = checked_text(meta["clip"], "clip"), checked_rate(meta["fps"])
        except (KeyError, ParameterError) as error:
            fact = error.fact if isinstance(error, ParameterError) else f"no {error} in its 'meta'"
            raise FormatError(
                f"this is not a truth file: {fact}",
                hint="truth files are what `deepphase demo` writes",
                path=path,
            ) from None
        gait = archive.array("gait", (None,), "integer")
        if gait.size and not 0 <= gait.min() <= gait.max() < len(gaits):
            raise FormatError(
                "array 'gait' has numbers without a gait",
                hint="truth files are what `deepphase demo` writes",
                path=path,
            )
        shape = (len(gait), len(limbs))
        phase, frequency = (archive.array(name, shape) for name in ("phase", "frequency"))
        contacts = archive.array("contacts", shape, "bool")
        return cls(clip, fps, limbs, gaits, phase, frequency, contacts, gait)
