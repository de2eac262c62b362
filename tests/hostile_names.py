"""Names of files, clips, labels and joints that a page or a terminal could obey."""

from __future__ import annotations

HOSTILE_NAMES = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[walk](javascript:alert(1))",
    "![walk](http://evil.example/x.png)",
    "$x$ $$\\frac{1}{2}$$",
    ":material/bolt: :smile: :red[walk]",
    "**walk** _run_ `jump` ~~skip~~",
    "[bold]walk[/bold] [/nothing]",
    "# walk\n- run\n\n> skip",
    "\U0001f483 walk \U0001f469\u200d\U0001f469\u200d\U0001f467",
    "walk\u202eHVB.\u2066run\u2028skip",
    "\x1b[2J\x1b]0;title\x07walk\r\x9b31m\x08",
    "../../etc/passwd",
    "a" * 250,
    "%{x} <b>%{text}</b><extra></extra>",
    "' onclick='alert(1)' \" autofocus \"",
]
