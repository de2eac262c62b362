"""JSON data in HTML pages."""

from __future__ import annotations

import json
from typing import Any


def json_in_page(content: Any) -> str:
    """JSON text that is safe inside a script element."""
    text = json.dumps(content, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
