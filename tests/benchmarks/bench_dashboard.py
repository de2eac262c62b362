"""Response times of the dashboard's pages under several sessions at once.

`python -m tests.benchmarks.bench_dashboard [FOLDER] [--sessions 8] [--seconds 60]` starts the
dashboard and opens the sessions in Chromium; each visits one page after another and changes a
setting there. Prints the seconds from a click to the drawn page and, on Linux, the server's memory
while the sessions go on. With `--sessions 0` each page is opened once, in a browser of its own, by
its address; its first player is timed, and the server's processor time until then. The exit status
is 1 if a page or the server had an error.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections import defaultdict
from pathlib import Path

import numpy as np

from deepphase.apps.dashboard.pages import PAGES

_START_S, _LIMIT_MS = 180, 180_000
# Looks at the server's memory.
_LOOKS = 12
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_DONE = '[data-test-script-state="notRunning"]'
_PLAYER = "window.deepphasePlayer?.isDrawn()"
_ERRORS = '[data-testid="stAlertContentError"], [data-testid="stException"]'
# Messages of Chromium that do not concern the page.
_IGNORED = ("Unrecognized feature", "allow-scripts and", "willReadFrequently", "GPU stall", "GL Dr")
# Address -> (role, name) of the widget that is clicked there.
_CHANGES = {
    "manifold": ("button", "3D"),
    "control": ("radio", "Circle"),
    "dance": ("radio", "Swing"),
    "channels": ("radio", "Reconstruction"),
}


def main() -> int:
    """Run the benchmark and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?")
    parser.add_argument("--sessions", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    words = [*([given.folder] if given.folder else []), "--port", str(port)]
    server = subprocess.Popen(
        [sys.executable, "-m", "deepphase.apps.cli", "app", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    address = f"http://127.0.0.1:{port}"
    problems: list[str] = []
    spent: dict[str, list[float]] = defaultdict(list)
    try:
        _wait_for(f"{address}/_stcore/health")
        memory = asyncio.run(
            _all(address, given.sessions, given.seconds, spent, problems, server.pid)
        )
    finally:
        server.terminate()
        said = server.communicate(timeout=60)[0].decode()
    if "Traceback" in said:
        problems.append(said)
    print(f"{given.sessions} sessions, {given.seconds:g} s; seconds from click to drawn page")
    for name, seconds in spent.items():
        print(
            f"{name:20s} {len(seconds):4d} times, median {np.median(seconds):6.2f}, "
            f"largest {max(seconds):6.2f}"
        )
    if memory:
        print("memory of the server, MB:", ", ".join(f"{each:.0f}" for each in memory))
    for problem in problems:
        print(f"ERROR {problem}")
    print(f"{len(problems)} errors")
    return 1 if problems else 0


def _wait_for(url: str) -> None:
    limit = time.monotonic() + _START_S
    while time.monotonic() < limit:
        try:
            if urllib.request.urlopen(url, timeout=1).status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError(url)


async def _all(
    address: str,
    sessions: int,
    seconds: float,
    spent: dict[str, list[float]],
    problems: list[str],
    server: int,
) -> list[float]:
    """Run all sessions; the server's memory in MB at equal distances of time."""
    from playwright.async_api import async_playwright

    program = os.environ.get("BROWSER_PATH") or next(filter(None, map(shutil.which, _BROWSERS)))
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program, args=["--headless=new", "--no-sandbox"]
        )
        for where in PAGES if not sessions else ():
            began, busy = time.monotonic(), _processor_s(server)
            page = await _opened(browser, address, problems, where)
            spent[f"{where}: first player"].append(time.monotonic() - began)
            spent[f"{where}: server"].append(_processor_s(server) - busy)
            await page.context.close()
        if not sessions:
            return []
        began = time.monotonic()
        page = await _opened(browser, address, problems)
        spent["first picture"].append(time.monotonic() - began)
        await page.context.close()
        began = time.monotonic()
        pages = await asyncio.gather(
            *(_opened(browser, address, problems) for _ in range(sessions))
        )
        spent["all opened at once"].append(time.monotonic() - began)
        end = time.monotonic() + seconds
        memory: list[float] = []
        watch = asyncio.create_task(_watch(server, seconds / _LOOKS, memory))
        await asyncio.gather(
            *(_read(page, number, end, spent, problems) for number, page in enumerate(pages))
        )
        watch.cancel()
        await browser.close()
    return memory


def _processor_s(process: int) -> float:
    """Seconds of processor time that a process of Linux has used."""
    stat = Path(f"/proc/{process}/stat")
    if not stat.is_file():
        return float("nan")
    fields = stat.read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _watch(server: int, every_s: float, memory: list[float]) -> None:
    status = Path(f"/proc/{server}/status")
    while status.is_file():
        size = status.read_text().partition("VmRSS:")[2].split()
        memory.append(int(size[0]) / 1024)
        await asyncio.sleep(every_s)


async def _opened(browser, address: str, problems: list[str], where: str = "data"):
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    page = await context.new_page()
    page.set_default_timeout(_LIMIT_MS)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("console", lambda message: _note(message.type, message.text, problems))
    await page.goto(f"{address}/{where}")
    await _drawn(page, script=False)
    return page


def _note(kind: str, text: str, problems: list[str]) -> None:
    if kind in ("error", "warning") and not any(part in text for part in _IGNORED):
        problems.append(text)


async def _read(
    page, number: int, end: float, spent: dict[str, list[float]], problems: list[str]
) -> None:
    """Run one session: visit pages in random order and change a setting, until the time is over."""
    order = random.Random(number)
    names = {address: each.name for address, each in PAGES.items()}
    while time.monotonic() < end:
        for where in order.sample(list(names), len(names)):
            if time.monotonic() > end:
                break
            began = time.monotonic()
            await page.locator('[data-testid="stSidebarNavLink"]', has_text=names[where]).click()
            await page.wait_for_function(
                "name => document.querySelector('h1')?.innerText === name", arg=names[where]
            )
            spent[f"{where}: heading"].append(time.monotonic() - began)
            await _drawn(page)
            spent[where].append(time.monotonic() - began)
            if where in _CHANGES:
                role, name = _CHANGES[where]
                began = time.monotonic()
                await page.get_by_role(role, name=name, exact=True).click()
                await asyncio.sleep(0.1)
                await _drawn(page)
                spent[f"{where}: {name}"].append(time.monotonic() - began)
            errors = await page.locator(_ERRORS).all_inner_texts()
            problems += [f"{where}: {each}" for each in errors]
    await page.context.close()


async def _drawn(page, *, script: bool = True) -> None:
    """Wait until the script has run, if it matters, and the player of the page has drawn."""
    from playwright.async_api import Error

    if script:
        await page.wait_for_selector(_DONE, state="attached")
    while True:
        for frame in page.frames[1:]:
            try:
                if await frame.evaluate(_PLAYER):
                    return
            except Error:
                # The frame has been replaced.
                continue
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    sys.exit(main())
