"""A folder's motion files as a store that is gone with the program."""

from __future__ import annotations

import tempfile
import threading
from dataclasses import dataclass, field
from pathlib import Path

from apps.pages.parts.folder import FoundFolder, Stamp, stamp_of
from apps.pages.parts.telling import working
from deepphase.corpus.prepare import prepare

# Folders that are kept for all sessions together.
_KEPT = 2


@dataclass(frozen=True)
class _Prepared:
    stamp: Stamp
    place: tempfile.TemporaryDirectory = field(compare=False)


# Not Streamlit's cache, which would not show how far preparing is.
_folders: dict[tuple[Stamp, ...], _Prepared] = {}
_lock = threading.Lock()


def prepared_store(found: FoundFolder) -> Stamp:
    """The store of a folder's motion files, made where it was not; the page tells how far it is.

    Raises FormatError where no file can be used.
    """
    # Who comes second waits, and finds it made.
    with working("Preparing the motion files") as progress, _lock:
        if found.motion not in _folders:
            place = tempfile.TemporaryDirectory(prefix="deepphase-", ignore_cleanup_errors=True)
            store = Path(place.name) / "prepared.store"
            files = [path for path, *_ in found.motion]
            prepare(files, store, progress=progress, workers=1)
            while len(_folders) >= _KEPT:
                _folders.pop(next(iter(_folders)))
            _folders[found.motion] = _Prepared(stamp_of(store), place)
        return _folders[found.motion].stamp
