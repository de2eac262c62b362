"""The phase model for any skeleton that is shipped, and what it reads without being named."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from deepphase.corpus.motion_files import is_motion_file
from deepphase.corpus.store_writer import STORE_FORMAT
from deepphase.formats.array_file import is_array_file, read_header
from deepphase.phase.any_skeleton.model import AnySkeletonModel

SHIPPED = Path(__file__).with_name("any_skeleton.model")


@lru_cache(maxsize=1)
def shipped_model() -> AnySkeletonModel:
    """The shipped model, read once per process."""
    return AnySkeletonModel.load(SHIPPED)


def is_motion(path: Path) -> bool:
    """Whether a path holds clips: a folder, a motion file or a store; not a model."""
    if path.is_dir():
        return True
    if is_array_file(path):
        return read_header(path)["format"] == STORE_FORMAT
    return is_motion_file(path)
