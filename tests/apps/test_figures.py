"""`deepphase figures`: one page with all figures, the same view for clips that come later."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from plotly.offline import get_plotlyjs

from deepphase.apps.commands import figures as figures_command
from deepphase.apps.reports import figures_page
from deepphase.apps.reports.figures_page import FigureData
from deepphase.corpus.clip_store import ClipStore
from deepphase.errors import ParameterError
from deepphase.figures.image import Images
from deepphase.figures.theme import LIGHT
from deepphase.formats.load import save
from deepphase.phase.config import NetworkConfig, PhaseConfig
from deepphase.phase.manifold import ManifoldProjection
from deepphase.phase.model import PhaseModel
from deepphase.phase.networks.presets import make_autoencoder
from deepphase.phase.signals import JointVelocities
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
    monkeypatch.setattr(figures_page, "_DETAILED", 2)


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
    found = re.findall(r'id="(figure-\d+)-data">(.*?)</script>', text)
    return text, {name: json.loads(content) for name, content in found}


def test_the_page_has_every_figure_once_and_fetches_nothing(model, clips, tmp_path):
    page, images = figures_page.figures_page(_read(model, clips, tmp_path), tmp_path / "out")
    assert images == ([], "")
    text, figures = _content(page)
    assert [heading for heading in SECTIONS if f"<h2>{heading}</h2>" in text] == SECTIONS
    assert len(figures) == len(SECTIONS)
    assert "://" not in text
    assert "<b>wild" not in text
    tabs = [each["name"] for each in figures["figure-1"]["choices"]]
    assert tabs == [
        "by clip",
        "by style",
        *(f"by {each}" for each in ("frequency", "amplitude", "speed", "time", "phase")),
    ]
    for content in figures.values():
        for each in content.get("choices", [content]):
            assert each["data"]
            assert not {"template", "title"} & set(each["layout"])


def test_colours_are_chosen_and_unknown_ones_refused(model, clips, tmp_path):
    material = _read(model, clips, tmp_path)
    assert list(material.colourings(["style", "time"])) == ["style", "time"]
    assert set(material.colourings(["style"])["style"].values) == {"calm", "<b>wild"}
    speed = material.colourings(["speed"])["speed"]
    assert speed.unit == "m/s"
    assert (speed.values >= 0).all()
    with pytest.raises(ParameterError, match="no colour 'mood'") as error:
        material.colourings(["mood"])
    assert "style" in error.value.hint
    assert "frequency" in error.value.hint


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
    stated = _read(replace_projection(model, own), clips, tmp_path / "elsewhere")
    np.testing.assert_array_equal(stated.cloud.explained, own.explained)
    assert not (tmp_path / "elsewhere").exists()


def replace_projection(model: PhaseModel, projection: ManifoldProjection) -> PhaseModel:
    return PhaseModel(model.network, model.config, model.signals, projection)


def test_pictures_are_light_and_named_after_their_figures(model, clips, tmp_path, monkeypatch):
    drawn: dict[Path, object] = {}

    def keep(files, **stated):
        assert stated["height"] is None
        drawn.update(files)
        return Images(list(files))

    monkeypatch.setattr(figures_page, "write_images", keep)
    _, images = figures_page.figures_page(
        _read(model, clips, tmp_path), tmp_path, colours=["clip"], pictures=True
    )
    assert all(chart.layout.template == LIGHT for chart in drawn.values())
    names = [path.name for path in images.paths]
    assert names[:2] == ["manifold_2d_by_clip.png", "manifold_3d_by_clip.png"]
    assert len(set(names)) == len(names) >= 8


def test_the_command_writes_the_page(model, clips, tmp_path, capsys):
    folder = tmp_path / "clips"
    folder.mkdir()
    for clip in clips[:2]:
        save(clip, folder / f"{clip.name}.bvh")
    model.save(tmp_path / "swing.model")
    figures_command.command(tmp_path / "swing.model", folder, tmp_path / "out")
    assert (tmp_path / "out" / "index.html").exists()
    assert (tmp_path / "swing.model.projection").exists()
    assert "figures: " in capsys.readouterr().out
