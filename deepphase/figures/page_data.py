"""Data inside an HTML page."""

from __future__ import annotations

import json
from typing import Any


def json_in_page(content: Any) -> str:
    """JSON that cannot end the script element that it stands in."""
    text = json.dumps(content, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
