"""Pages of a phase model: all figures, the same view for clips that come later, a training."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from plotly.offline import get_plotlyjs

from deepphase.apps.reports import phase_pages
from deepphase.apps.reports.phase_pages import FigureData, example_window, training_page
from deepphase.apps.reports.player import takes_of_store
from deepphase.corpus.clip_store import ClipStore
from deepphase.phase.config import NetworkConfig, PhaseConfig
from deepphase.phase.encoding import make_autoencoder
from deepphase.phase.extractor import shipped_model
from deepphase.phase.health import ChannelHealth, Health
from deepphase.phase.model import PhaseModel
from deepphase.phase.parameters import ManifoldProjection
from deepphase.phase.signals import JointVelocities
from deepphase.synthetic.gait_motion import locomotion
from tests.apps.test_page import figures_in
from tests.browser.conftest import chromium
from tests.formula_motion import swinging

SECTIONS = [
    "The phase manifold in the plane",
    "The phase manifold in space",
    "Single clips, frame by frame",
    "Phases of whole clips",
    "Parameters over time",
    "Frequencies and amplitudes of each channel",
    "One window and its reconstruction",
    "Similar frames",
]


def _clips(count: int = 6, seconds: float = 3.0, offset: int = 0) -> list:
    made = []
    for index in range(offset, offset + count):
        clip, _ = swinging(0.8 + 0.15 * index, seconds, start=0.3 * index, seed=index)
        style = "calm" if index % 2 else "<b>wild"
        made.append(replace(clip, name=f"swing_{index}", labels={"style": style}))
    return made


def _model(clips: list, channels: int = 3) -> PhaseModel:
    torch.manual_seed(0)
    config = PhaseConfig(network=NetworkConfig(channels=channels, window_s=1.0))
    signals = JointVelocities.from_clip(clips[0])
    network = make_autoencoder(3 * len(signals.joints), signals.fps, config.network)
    return PhaseModel(network, config, signals)


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two clips with pictures of their own are as good as four, and quicker."""
    monkeypatch.setattr(phase_pages, "_DETAILED", 2)


@pytest.fixture(scope="module")
def clips() -> list:
    return _clips()


@pytest.fixture(scope="module")
def model(clips: list) -> PhaseModel:
    return _model(clips)


def _read(model: PhaseModel, given: list, folder: Path, **stated: object) -> FigureData:
    store = ClipStore.from_clips(given)
    return FigureData.read(model, store, projection_file=folder / "view", **stated)


def _content(page: Path) -> tuple[str, dict]:
    text = page.read_text(encoding="utf-8")
    assert text.count(get_plotlyjs()) == 1
    text = text.replace(get_plotlyjs(), "")
    return text, figures_in(text)


def test_the_page_has_every_figure_once_and_fetches_nothing(model, clips, tmp_path):
    page, images = phase_pages.figures_page(_read(model, clips, tmp_path), tmp_path / "out")
    assert images == ([], "")
    text, figures = _content(page)
    assert [heading for heading in SECTIONS if f"<h2>{heading}</h2>" in text] == SECTIONS
    assert len(figures) == len(SECTIONS)
    assert "://" not in text
    assert "<b>wild" not in text
    tabs = [each["name"] for each in figures["figure-1"]]
    assert tabs == [
        "by clip",
        "by style",
        *(f"by {each}" for each in ("frequency", "amplitude", "speed", "time", "phase")),
    ]
    for content in figures.values():
        for each in content:
            assert each["data"]
            assert not {"template", "title"} & set(each["layout"])


def test_clips_that_come_later_land_in_the_same_picture(model, clips, tmp_path):
    """A model without a projection of its own gets one beside it, and keeps it."""
    first = _read(model, clips[:4], tmp_path)
    assert (tmp_path / "view").exists()
    later = _read(model, clips[3:], tmp_path)
    shared = [material.cloud.clips == "swing_3" for material in (first, later)]
    np.testing.assert_array_equal(first.cloud.points[shared[0]], later.cloud.points[shared[1]])
    np.testing.assert_array_equal(first.cloud.explained, later.cloud.explained)
    # Its own, where it has one: nothing is written beside it.
    own = ManifoldProjection.fit(first.phases[0].parameters.manifold())
    with_own = PhaseModel(model.network, model.config, model.signals, own)
    stated = _read(with_own, clips, tmp_path / "elsewhere")
    np.testing.assert_array_equal(stated.cloud.explained, own.explained)
    assert not (tmp_path / "elsewhere").exists()


def _health(model: PhaseModel, findings: tuple = ()) -> Health:
    channel = ChannelHealth((0.8, 1.2, 1.6), (0.1, 0.2, 0.4), True)
    shares = dict.fromkeys(model.signals.joints, 0.5)
    return Health(1234, 0.713, shares, 0.9, 0.98, 0.07, 0.4, (channel,) * model.channels, findings)


def test_example_window_equals_the_networks_output(model, clips):
    signals = model.signals.read(clips[0])
    example = example_window(model, signals, 100, clip="walk")
    window = signals[70:131].T
    np.testing.assert_allclose(
        example.signals, window - window.mean(1, keepdims=True), rtol=1e-4, atol=1e-5
    )
    phases = model.encode_signals(signals).parameters[100]
    np.testing.assert_allclose(example.parameters.phase, phases.phase, atol=1e-5)
    np.testing.assert_allclose(
        example.fitted, example.parameters.sinusoid(example.times), atol=1e-4
    )
    with torch.inference_mode():
        answer = model.network(torch.from_numpy(example.signals)[None])[0].numpy()
    np.testing.assert_allclose(example.reconstruction, answer, rtol=1e-4, atol=1e-5)
    assert example.at == pytest.approx(100 / model.fps)


def test_the_page_of_a_training_has_all_its_parts(model, clips, tmp_path):
    hostile = "</script><script>alert(1)</script>"
    named = [replace(clip, name=f"{hostile} {number}") for number, clip in enumerate(clips)]
    provenance = {"clips": 7, "versions": {"torch": "9.9.9"}, "minutes": 12.345678, hostile: 1}
    trained = replace(model, health=_health(model), provenance=provenance)
    data = _read(trained, named, tmp_path)
    text, figures = _content(training_page(trained, data).write(tmp_path / "page.html"))
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)" in text
    for given in ("71.3 %", "1,234", "98.0 %", "9.9.9", "12.3457", "network.window_s"):
        assert given in text, given
    assert text.count('class="dot"') == model.channels
    given = re.findall(r'<h2>.*?</h2>\n<p>.*?</p><div class="wide"><figure', text)
    assert len(given) == len(figures) == 5


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_draws_in_a_browser_without_requests(model, clips, tmp_path, scheme):
    trained = replace(model, health=_health(model))
    page = training_page(trained, _read(trained, clips, tmp_path))
    path = page.write(tmp_path / "p.html")
    requests, errors = [], []
    with chromium() as browser:
        page = browser.new_page(color_scheme=scheme)
        page.set_default_timeout(180_000)
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: errors.append(dialog.message))
        page.goto(path.as_uri())
        first, *_, far = plots = page.locator(".plot").all()
        first.locator(".main-svg").first.wait_for()
        # Those far below the screen are drawn when they come near it: here in one of the looks.
        assert far.locator(".main-svg").count() == 0
        for plot in plots if scheme == "light" else ():
            plot.scroll_into_view_if_needed()
            plot.locator(".main-svg").first.wait_for()
        paper = page.evaluate("document.querySelector('.plot')._fullLayout.paper_bgcolor")
        body = page.evaluate("getComputedStyle(document.body).backgroundColor")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert errors == []
    assert [url for url in requests if not url.startswith(("data:", "blob:"))] == [path.as_uri()]
    red, green, blue = (int(paper[i : i + 2], 16) for i in (1, 3, 5))
    assert body == f"rgb({red}, {green}, {blue})"
    assert (red < 128) == (scheme == "dark")
    assert wide <= 0


def test_the_clip_with_the_steadiest_cycle_is_shown_first():
    walk = locomotion(1, 4.0).clip
    parts = ("rotations", "translations")
    still = {part: getattr(walk, part)[:1].repeat(len(walk), 0) for part in parts}
    held = replace(walk, name="held", **still)
    clips = [held, replace(walk, name="walk"), replace(held, name="held again")]
    shown = takes_of_store(shipped_model(), ClipStore.from_clips(clips))
    assert [take.actors[0].name for take in shown] == ["walk", "held", "held again"]
