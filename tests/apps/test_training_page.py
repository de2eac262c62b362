"""The page at the end of a training."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
import torch
from plotly.offline import get_plotlyjs

from deepphase.apps.reports.example_window import example_window
from deepphase.apps.reports.training_report import training_page
from deepphase.phase.clip_phases import ClipPhases
from deepphase.phase.config import NetworkConfig, PhaseConfig
from deepphase.phase.health import ChannelHealth, Health
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.presets import make_autoencoder
from deepphase.phase.signals import JointVelocities
from deepphase.phase.windows import interior_frames
from tests.figures.made_phases import FPS, made_phases

pytestmark = pytest.mark.slow

JOINTS = ("Hips", "LeftFoot", "<script>alert(1)</script>")


def _model(channels=4, **given):
    torch.manual_seed(0)
    config = PhaseConfig(network=NetworkConfig(channels=channels, window_s=1.0))
    network = make_autoencoder(3 * len(JOINTS), FPS, config.network)
    return PhaseModel(network, config, JointVelocities(JOINTS, FPS), **given)


def _health(channels=4, findings=()):
    channel = ChannelHealth((0.8, 1.2, 1.6), (0.1, 0.2, 0.4), True)
    shares = dict(zip(JOINTS, (0.2, 0.9, 0.5), strict=True))
    return Health(1234, 0.713, shares, 0.9, 0.98, 0.07, 0.4, (channel,) * channels, findings)


def _signals(frames=200):
    time = np.arange(frames)[:, None] / FPS
    speeds = np.arange(1, 3 * len(JOINTS) + 1) / 5
    return (speeds * np.sin(2 * np.pi * (1.5 * time + speeds))).astype(np.float32)


def _clips(*lengths, channels=4, window=61, names=None):
    made = []
    for index, frames in enumerate(lengths):
        name = names[index] if names else f"clip_{index}"
        phases = made_phases(frames, channels, speed=1 + index, seed=index)
        inside = interior_frames(frames, window)
        made.append(ClipPhases(phases, inside, FPS, name, f"{name}.bvh"))
    return made


def _figures(path):
    """The figures' JSON, by number, and the page without scripts."""
    content = path.read_text(encoding="utf-8").replace(get_plotlyjs(), "")
    found = re.findall(r'id="(figure-\d+)-data">(.*?)</script>', content)
    words = re.sub(r"<(script|style)\b.*?</\1>", "", content, flags=re.DOTALL)
    return {name: json.loads(text) for name, text in found}, words


def _points(trace):
    return len(trace.get("text") or [])


def test_example_window_equals_the_networks_output():
    model, signals = _model(), _signals()
    example = example_window(model, signals, 100, clip="walk")
    window = signals[70:131].T
    np.testing.assert_allclose(
        example.signals, window - window.mean(1, keepdims=True), rtol=1e-4, atol=1e-5
    )
    phases = model.encode_signals(signals).parameters[100]
    np.testing.assert_allclose(example.parameters.phase, phases.phase, atol=1e-5)
    np.testing.assert_allclose(example.parameters.frequency, phases.frequency, rtol=1e-4)
    np.testing.assert_allclose(
        example.fitted, example.parameters.sinusoid(example.times), atol=1e-4
    )
    with torch.inference_mode():
        answer = model.network(torch.from_numpy(example.signals)[None])[0].numpy()
    np.testing.assert_allclose(example.reconstruction, answer, rtol=1e-4, atol=1e-5)
    assert example.at == pytest.approx(100 / FPS)
    assert example.times[30] == 0


@pytest.mark.parametrize("channels", [1, 12])
def test_the_page_has_all_its_parts(tmp_path, channels):
    provenance = {"clips": 7, "versions": {"torch": "9.9.9"}, "minutes": 12.345678}
    model = _model(channels, health=_health(channels), provenance=provenance)
    example = example_window(model, _signals(), 100, clip="clip_0")
    path = training_page(
        model, _clips(300, 200, channels=channels), example, tmp_path / "page.html"
    )
    figures, words = _figures(path)
    kinds = [{trace["type"] for trace in chart["data"]} for chart in figures.values()]
    assert kinds == [{"bar"}, *[{"scatter"}] * 2, *[{"scatter3d"}] * 2, *[{"scatter"}] * 2]
    for given in ("71.3 %", "1,234", "98.0 %", "9.9.9", "12.3457", "network.window_s", "clip_0"):
        assert given in words, given
    assert words.count('class="dot"') == channels
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]
    given = re.findall(r'<h2>.*?</h2>\n<p>.*?</p><div class="wide"><figure', words)
    assert len(given) == len(figures)


def test_hostile_names_are_shown_literally(tmp_path):
    name = "</script><script>alert(1)</script>"
    model = _model(health=_health(), provenance={name: name})
    example = example_window(model, _signals(), 100, clip=name)
    path = training_page(model, _clips(300, 300, names=[name, name]), example, tmp_path / "p.html")
    content = path.read_text(encoding="utf-8")
    assert "<script>alert" not in content
    figures, words = _figures(path)
    names = [trace["name"] for trace in figures["figure-2"]["data"]]
    assert len(set(names)) == 2
    assert all("<" not in shown for shown in names)
    assert "&lt;script&gt;alert(1)" in words


def test_points_are_thinned_evenly_and_lie_inside(tmp_path):
    model = _model()
    path = training_page(model, _clips(9000, 4500), None, tmp_path / "p.html")
    figures, _ = _figures(path)
    counts = [_points(trace) for trace in figures["figure-1"]["data"]]
    # 8,940 and 4,440 interior frames, every third of them.
    assert counts == [2980, 1480]
    assert sum(_points(t) for f in figures.values() for t in f["data"]) < 20_000
    assert path.stat().st_size < 8e6


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_draws_in_a_browser_without_requests(tmp_path, scheme):
    sync_api = pytest.importorskip("playwright.sync_api")
    browser_path = shutil.which("chromium") or shutil.which("google-chrome")
    if browser_path is None:
        pytest.skip("no Chromium on this machine")
    model = _model(health=_health())
    example = example_window(model, _signals(), 100)
    path = training_page(model, _clips(300, 200), example, tmp_path / "p.html")
    requests, errors = [], []
    with sync_api.sync_playwright() as playwright:
        options = ["--no-sandbox", "--enable-unsafe-swiftshader"]
        browser = playwright.chromium.launch(executable_path=browser_path, args=options)
        page = browser.new_page(color_scheme=scheme)
        page.set_default_timeout(180_000)
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.goto(path.as_uri())
        page.wait_for_function(
            "[...document.querySelectorAll('.plot')].every(p => p.querySelector('.main-svg'))"
        )
        drawn = page.evaluate("document.querySelectorAll('.plot .main-svg').length")
        paper = page.evaluate("document.querySelector('.plot')._fullLayout.paper_bgcolor")
        body = page.evaluate("getComputedStyle(document.body).backgroundColor")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        browser.close()
    assert errors == []
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [path.as_uri()]
    assert drawn >= 7
    red, green, blue = (int(paper[i : i + 2], 16) for i in (1, 3, 5))
    assert body == f"rgb({red}, {green}, {blue})"
    assert (red < 128) == (scheme == "dark")
    assert wide <= 0
