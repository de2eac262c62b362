"""Figures as PNG files, by Kaleido, where Chromium is found."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import plotly.graph_objects as go

from deepphase.files import atomic_write

WIDTH, HEIGHT = 1200, 800


class Images(NamedTuple):
    """The files that were written, and the reason if some were not, else an empty text."""

    paths: list[Path]
    problem: str = ""


def write_images(
    figures: Mapping[str | Path, go.Figure],
    *,
    width: int = WIDTH,
    height: int | None = HEIGHT,
    scale: float = 1.0,
    time_limit_s: float = 90.0,
) -> Images:
    """Write each figure as PNG, SVG or PDF, by its suffix, with one start of the browser.

    A missing or unresponsive browser raises no error: the reason is returned instead.

    `width`, `height`: size of the figure in pixels; a height of None takes each figure's own.
    `scale`: pixels of the file per pixel of the figure; 2 suits print. `time_limit_s`: time limit
    for all figures together, seconds.
    """
    if not figures:
        return Images([])
    drawn: dict[Path, bytes] = {}
    problems: list[str] = []

    def draw() -> None:
        try:
            options = {"width": width, "scale": scale}
            asyncio.run(_draw(figures, drawn, options, height, time_limit_s))
        except Exception as error:
            problems.append(_reason(error, time_limit_s))

    # In a notebook or the dashboard, the current thread already runs an event loop.
    worker = threading.Thread(target=draw, name="draw images", daemon=True)
    with _quiet():
        worker.start()
        worker.join(time_limit_s + 10.0)
    if worker.is_alive():
        problems.append(_reason(TimeoutError(), time_limit_s))
    paths = []
    for path, content in list(drawn.items()):
        with atomic_write(path) as file:
            file.write(content)
        paths.append(path)
    return Images(paths, "; ".join(problems))


async def _draw(
    figures: Mapping[str | Path, go.Figure],
    drawn: dict[Path, bytes],
    options: Mapping[str, float],
    height: int | None,
    time_limit_s: float,
) -> None:
    # The import searches for a browser.
    from kaleido import Kaleido

    # Kaleido would load MathJax from the network; the figures have no formulas.
    browser = Kaleido(n=1, timeout=time_limit_s, mathjax=False)

    async def all_of_them() -> None:
        async with browser:
            for path, chart in figures.items():
                high = height or int(chart.layout.height or HEIGHT)
                kind = Path(path).suffix.removeprefix(".").lower()
                own = {**options, "height": high, "format": kind}
                drawn[Path(path)] = await browser.calc_fig(chart, own)

    try:
        await asyncio.wait_for(all_of_them(), time_limit_s)
    except BaseException:
        _end(getattr(browser, "subprocess", None))
        raise


def _end(process: subprocess.Popen[bytes] | None) -> None:
    """End a browser that hung while it started, which Kaleido does not end."""
    if process is None:
        return
    with suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            # Kaleido ends the wrapper process of its session, but not the wrapper's child.
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()


def _reason(error: Exception, time_limit_s: float) -> str:
    if type(error).__name__ == "ChromeNotFoundError":
        return "no PNG: neither Chromium nor Chrome was found"
    if isinstance(error, TimeoutError):
        return f"no PNG: the browser did not answer within {time_limit_s:.0f} s"
    # A browser that ends at once may do so before or after the first message to it.
    if type(error).__name__ in ("BrowserFailedError", "ChannelClosedError"):
        return "no PNG: the browser did not start (choose another with BROWSER_PATH)"
    return f"no PNG: {type(error).__name__}: {' '.join(str(error).split())[:200]}"


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress the browser's log messages."""
    loggers = [logging.getLogger(name) for name in ("kaleido", "choreographer")]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
