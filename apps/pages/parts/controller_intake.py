"""Controllers from the reader's own disk."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from apps.pages.parts import own_file
from apps.pages.parts.collection import content_key
from apps.pages.parts.open_steering import OpenController
from controllers.configuration import ControllerConfig
from controllers.controller import FORMAT, Controller
from controllers.networks.registry import make_network
from controllers.schema import ControllerSchema
from deepphase.errors import CheckpointError
from deepphase.formats.array_file import read_header

_UPLOADS = "own controllers"
_MOST_UPLOADS = 6


def uploaded_controllers() -> dict[str, OpenController]:
    """The reader's own, by the name that is shown."""
    return st.session_state.setdefault(_UPLOADS, {})


def take_in_controller(name: str, content: bytes) -> str:
    """Keep a controller of this session; the name under which it can be chosen.

    Raises CheckpointError where it is none, damaged, or claims to be larger than it is.
    """
    controller = own_file.loaded(content, ".controller", _load)
    told = base = own_file.name_without(".controller", name, "Controller")
    kept, number = uploaded_controllers(), 2
    while told in kept:
        told, number = f"{base} ({number})", number + 1
    while len(kept) >= _MOST_UPLOADS:
        kept.pop(next(iter(kept)))
    kept[told] = OpenController(told, ("upload", content_key(content)), controller)
    return told


def _load(path: Path) -> Controller:
    _check_size(path)
    return Controller.load(path)


def _check_size(path: Path) -> None:
    """A header can claim a network that no memory holds: it must be in the file."""
    import torch

    header = read_header(path, FORMAT)
    try:
        config = ControllerConfig.from_mapping(header["config"])
        schema = ControllerSchema.from_mapping(header["schema"])
        with torch.device("meta"):
            network = make_network(config.name, schema.dims, config.network)
        size = sum(each.nbytes for each in network.parameters())
    except (KeyError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError):
        raise CheckpointError(
            "a header that describes no controller", hint="upload the file as it was written"
        ) from None
    if size > path.stat().st_size:
        raise CheckpointError(
            "weights that its header tells of are missing", hint="upload the file as it was written"
        )
