"""The processes of one training command: their output, and the clips that they share."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from apps.terminal import silence
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.prepare import corpus_of, prepare
from deepphase.corpus.store import open_store
from deepphase.formats.array_file import is_array_file
from deepphase.temporary_files import temporary_folder

if TYPE_CHECKING:
    from deepphase.training.world import World

# Seconds after which a file that another machine has written is visible in a shared folder.
_VISIBLE_S = 3.0


@contextmanager
def processes(trainer: Mapping[str, Any]) -> Iterator[World]:
    """Context of the processes that train together; only the first one prints its progress.

    Parameters
    ----------
    trainer
        Options of `pytorch_lightning.Trainer`.
    """
    from deepphase.training.world import joined

    with joined(trainer) as world, silence(world.rank != 0):
        yield world


def shared_corpus(world: World, path: Path, work: Path, **options: Any) -> ClipStore:
    """The clips at a path, as `corpus_of` reads them; a folder is prepared once for all processes.

    The first process prepares it in the work folder. On nodes that do not share that folder, one
    process prepares it in the temporary folder of its node, from its own copy of the motion files.

    Parameters
    ----------
    path
        A store, a folder or a motion file.
    work
        Folder of the resume point.
    options
        Arguments of `corpus_of`.
    """
    if world.size == 1 or is_array_file(path):
        return world.together(lambda: corpus_of(path, **options))
    skeleton = options.pop("skeleton", None)
    shared = world.first(lambda: work / f"prepared-{secrets.token_hex(8)}.store")
    with temporary_folder() as folder:
        own = folder / "prepared.store"
        try:
            world.first(lambda: _prepare(path, shared, options))
            places = world.gather((world.node, _is_visible(shared)))
            blind = [rank for rank, place in enumerate(places) if place == (world.node, False)]
            if world.rank in blind[:1]:
                world.together(lambda: _prepare(path, own, options))
            else:
                world.together(lambda: None)
            owns = world.gather(own)
            store = owns[blind[0]] if world.rank in blind else shared
            corpus = world.together(lambda: open_store(store, skeleton, verify=False))
            world.gather(None)
        finally:
            if world.rank == 0:
                # Open files remain readable.
                with suppress(OSError):
                    shared.unlink(missing_ok=True)
                    work.rmdir()
    return corpus


def _prepare(path: Path, store: Path, options: Mapping[str, Any]) -> None:
    prepare(path, store, **options)


def _is_visible(path: Path) -> bool:
    deadline = time.monotonic() + _VISIBLE_S
    while not path.is_file():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True
