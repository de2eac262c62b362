"""The dashboard's pages as Streamlit's own tester runs them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest
from streamlit.util import calc_hash

import deepphase.apps.dashboard.script
from deepphase.apps.dashboard.parts.folder import FOLDER_VARIABLE

SCRIPT = Path(deepphase.apps.dashboard.script.__file__).parent / "run.py"
_LIMIT_S = 180
# Each run of an AppTest looks for components in all installed packages; once is enough.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


def opened(
    address: str, monkeypatch, folder: Path | None = None, query: Mapping[str, str] | None = None
) -> AppTest:
    """A page of a new session, drawn; `query` is a part of its address."""
    monkeypatch.setenv(FOLDER_VARIABLE, "" if folder is None else str(folder))
    app = AppTest.from_file(SCRIPT, default_timeout=_LIMIT_S)
    # What a browser sends that was given the address.
    app._page_hash = calc_hash(address)
    for name, value in (query or {}).items():
        app.query_params[name] = value
    app.run()
    assert not app.exception, app.exception
    return app


def players(app: AppTest) -> list[str]:
    """The pages that the page's players are."""
    return [each["page"] for each in components(app) if "clip" in each and "height" in each]


def components(app: AppTest) -> list[dict]:
    """What the page's components were given."""
    return [json.loads(each.proto.json) for each in app.get("bidi_component")]


def words(app: AppTest) -> str:
    """All that the page says outside its widgets."""
    kinds = ("markdown", "caption", "error", "info", "warning", "success", "title")
    return "\n".join(str(each.value) for kind in kinds for each in app.get(kind))
