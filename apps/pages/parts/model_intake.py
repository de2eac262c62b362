"""Phase models from the reader's own disk."""

from __future__ import annotations

from apps.pages.parts import own_file
from apps.pages.parts.collection import choose
from apps.pages.parts.session import session
from deepphase.phase.extractor import load_extractor


def take_in_model(name: str, content: bytes) -> str:
    """Keep a model of this session; the name under which it can be chosen.

    Raises CheckpointError where it is none, or damaged.
    """
    model = own_file.loaded(content, ".model", load_extractor)
    return session().add_model(own_file.name_without(".model", name, "Model"), model)


def offer_model_intake() -> None:
    """Where a model file is dropped; what became of it."""
    own_file.offer_intake(
        "Open a finished model",
        "model",
        "A file that `deepphase train phase`, `deepphase fit phases` or this page wrote. "
        "Nobody else sees it.",
        take_in_model,
        lambda name: choose(model=f"session:{name}"),
        "on the left of every page",
    )
