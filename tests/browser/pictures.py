"""The pictures of the README, taken of what the program makes: `make pictures`.

    python -m tests.browser.pictures [NAME ...]

Commands of the program write stores, models and pages into a folder, and Chromium opens and
photographs the pages. People are those of `deepphase samples`, and clips of salsa by the CMU motion
capture database where `DEEPPHASE_DATA` names a folder with cmu_dance/salsa (free to show); dogs,
dances and songs are synthetic. The file name of a notebook runs it, and writes what its cells show
into it. About ten minutes on two cores.
"""

from __future__ import annotations

import base64
import contextlib
import html
import io
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import soundfile
from PIL import Image

import deepphase as dp
from deepphase.apps.cli import main
from deepphase.apps.reports.matches_page import moment_actor
from deepphase.corpus.clip_store import ClipStore
from deepphase.corpus.store import open_store
from deepphase.figures.image import write_images
from deepphase.figures.phase_cloud import PhaseCloud
from deepphase.motion.clip import Clip, joint_positions
from deepphase.motion.roles import find_roles
from deepphase.motion.root_trajectory import root_trajectory
from deepphase.phase.extractor import load_model
from deepphase.synthetic.gait_motion import locomotion
from deepphase.synthetic.song import make_song
from deepphase.synthetic.training_set import corpus
from deepphase.viewer.page import save_player
from deepphase.viewer.take import Curve, Marker, Take
from tests.browser.conftest import chromium
from tests.browser.dashboard_pages import settled, started, until
from tests.test_notebooks import NOTEBOOKS, html_of, run_cell

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
# Pixels of the page, which a README shows at 840, and pixels of the file per pixel of the page.
_WIDTH, _SCALE = 1120, 1.45
_QUALITY = 82
# Buttons and switches say nothing in a picture.
_PLAIN = """
header, #shows, #grid-size, #lane-choice, #transport, #manifold-axes { display: none !important; }
main { padding-top: 12px !important; }
#stage:focus { outline: none !important; box-shadow: none !important; }"""


def run(line: str, output: Path | None = None) -> None:
    """Run a command of the program, unless its output is there already."""
    if output is None or not output.exists():
        words = [word.replace("~", " ") for word in line.split()]
        assert main(words) == 0, line


def person_clips(work: Path) -> Path:
    """Folder of clips of a person: salsa where there are captures, else those of `samples`."""
    data = Path(os.environ.get("DEEPPHASE_DATA", "")).expanduser() / "cmu_dance" / "salsa"
    if os.environ.get("DEEPPHASE_DATA") and data.is_dir():
        return data
    return sample_clips(work)


def sample_clips(work: Path) -> Path:
    """Folder of clips of the shipped person."""
    run(f"samples {work / 'captures'} --seconds 30", work / "captures")
    return work / "captures"


def person_model(work: Path) -> tuple[Path, Path]:
    """Store of the person's clips, and its phase model."""
    store, model = work / "person.store", work / "person.model"
    run(f"prepare {person_clips(work)} -o {store}", store)
    sizes = "--set training.windows=40000"
    run(f"train phase {store} -o {model} {sizes}", model)
    return store, model


@contextlib.contextmanager
def opened(
    page: Path | str,
    *,
    height: int,
    width: int = _WIDTH,
    plain: str = _PLAIN,
    scale: float = _SCALE,
) -> Iterator:
    """A page in Chromium, in the light look."""
    with chromium() as browser:
        context = browser.new_context(
            viewport={"width": width, "height": height},
            device_scale_factor=scale,
            color_scheme="light",
        )
        shown = context.new_page()
        shown.goto(page if isinstance(page, str) else page.as_uri())
        if plain:
            shown.add_style_tag(content=plain)
        yield shown
        context.close()


def player_of(report: Path) -> Path:
    """The player of a report as a page of its own."""
    (framed,) = re.findall(
        r'<iframe class="player"[^>]* srcdoc="([^"]*)"', report.read_text("utf-8")
    )
    page = report.with_name("player.html")
    page.write_text(html.unescape(framed), "utf-8")
    return page


def player_at(page: Any, seconds: float, keys: str = "") -> None:
    """Show a moment of a player, after keys that turn the camera (wasd) and zoom (qe)."""
    until(lambda: page.evaluate("window.deepphasePlayer?.isDrawn()"))
    page.evaluate(f"deepphasePlayer.pause(), deepphasePlayer.seek({seconds})")
    if keys:
        page.focus("#stage")
    for key in keys:
        page.keyboard.press(key)
    page.evaluate("new Promise(go => requestAnimationFrame(() => requestAnimationFrame(go)))")
    page.wait_for_timeout(100 if not keys else 600)


def photograph(page: Any, height: int | None = None) -> Image.Image:
    """The page, or its upper part."""
    size = page.viewport_size
    clip = {"x": 0, "y": 0, "width": size["width"], "height": height or size["height"]}
    return Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")


def save(image: Image.Image, name: str) -> None:
    PICTURES.mkdir(exist_ok=True)
    image.save(PICTURES / f"{name}.webp", quality=_QUALITY, method=6)


# The film of phases: seconds at which it begins, frames, frames per second, and pixels.
_FILM_FROM_S, _FILM_FRAMES, _FILM_FPS, _FILM_SIZE = 4.2, 40, 12, (896, 410)


def sample_model(work: Path) -> Path:
    """Phase model of the shipped person's clips."""
    model = work / "samples.model"
    sizes = "--set training.windows=100000"
    run(f"train phase {sample_clips(work)} -o {model} {sizes}", model)
    return model


def phases(work: Path) -> None:
    """A body that walks and begins to run, with its phases and their manifold: a film."""
    page, clip = work / "player.html", work / "captures" / "run_neutral_02.bvh"
    run(f"play {clip} --model {sample_model(work)} -o {page}", page)
    with opened(page, height=600) as shown:
        player_at(shown, _FILM_FROM_S, "q" * 2)
        frames = []
        for number in range(_FILM_FRAMES):
            player_at(shown, _FILM_FROM_S + number / _FILM_FPS)
            frames.append(photograph(shown, 512).resize(_FILM_SIZE, Image.Resampling.LANCZOS))
    PICTURES.mkdir(exist_ok=True)
    frames[0].save(
        PICTURES / "phases.webp",
        save_all=True,
        append_images=frames[1:],
        duration=round(1000 / _FILM_FPS),
        loop=0,
        quality=60,
        method=4,
    )


# The clips whose manifolds are shown; standing and turning lie in their middle.
_GAITS = {
    "A person": (
        *(f"{action}_neutral" for action in ("walk", "backward", "sidestep", "run")),
        "walk_elated",
    ),
    "A dog": ("walk", "pace", "trot", "canter", "gallop"),
}
# The person's curves lie above each other.
_EYES = {"A person": {"x": 0.45, "y": 0.45, "z": 1.75}, "A dog": {"x": 0.95, "y": 0.95, "z": 0.75}}


def manifolds(work: Path) -> None:
    """The manifolds of a person's and of a dog's gaits."""
    dog_store, dog = work / "dog.store", work / "dog.model"
    if not dog_store.exists():
        ClipStore.from_clips(each.clip for each in corpus(3, 4.0, body="quadruped")).save(dog_store)
    run(f"train phase {dog_store} -o {dog} --set training.windows=25000", dog)
    images = []
    for title, path in (("A person", sample_model(work)), ("A dog", dog)):
        model, gaits = load_model(path), _GAITS[title]
        if title == "A dog":
            clips = [
                locomotion(5, 12.0, body="quadruped", gait=gait, variety=0.5).clip for gait in gaits
            ]
        else:
            clips = [dp.load(work / "captures" / f"{gait}_01.bvh").sliced(0, 720) for gait in gaits]
        cloud = PhaseCloud.from_phases(
            model, [model.encode(clip) for clip in clips], max_points=3500
        )
        axis = {"title": {"text": ""}, "showticklabels": False}
        names = [gait.removesuffix("_neutral") for gait in gaits]
        chart = cloud.figure(cloud.by_label("gait", names), dimensions=3, note="", title=title)
        chart.update_layout(
            scene={f"{each}axis": axis for each in "xyz"},
            scene_camera={"eye": _EYES[title], "center": {"z": -0.02}},
            title={"font": {"size": 24}, "x": 0.5, "xanchor": "center"},
            legend={"orientation": "h", "x": 0.5, "xanchor": "center", "y": 0, "yanchor": "top"},
            legend_font={"size": 15},
            legend_title_text="",
            margin={"l": 0, "r": 0, "t": 50, "b": 50},
        )
        path = work / f"manifold_{title[2:]}.png"
        problem = write_images({path: chart}, width=560, height=500, scale=_SCALE).problem
        assert not problem, problem
        images.append(Image.open(path).convert("RGB"))
    joined = Image.new("RGB", (sum(each.width for each in images), images[0].height), "white")
    for number, image in enumerate(images):
        joined.paste(image, (number * image.width, 0))
    save(joined, "manifolds")


def matches(work: Path) -> None:
    """A moment of a clip, and the nearest moments of other clips."""
    store, model = person_model(work)
    database, near = work / "person.db", work / "near"
    run(f"match build {store} --model {model} -o {database}", database)
    names = open_store(store).names
    clip, frame = ("15", 431) if "15" in names else (names[0], 200)
    run(f"match query {database} {clip} --frame {frame} -k 3 -o {near}", near)
    with opened(player_of(near / "index.html"), height=600) as shown:
        player_at(shown, 0.5, "q" * 2)
        save(photograph(shown), "matches")


_DANCE_S = 4.4


def dance(work: Path) -> None:
    """A dance to a song, with its beats and bars."""
    song, folder = work / "song.wav", work / "dance"
    sound = make_song(77, 14.0, tempo_bpm=110.0)
    soundfile.write(song, sound.samples, sound.sample_rate)
    run(f"dance {song} -o {folder}", folder)
    with opened(player_of(folder / "index.html"), height=620) as shown:
        player_at(shown, _DANCE_S, "q" * 2 + "d" * 50)
        save(photograph(shown), "dance")


# Names of the joints of a left arm, in CMU's files and in synthetic ones, and of its hand.
_ARM, _HAND = ("lShldr", "lForeArm", "LeftArm", "LeftForeArm"), ("lHand", "LeftHand")
# Seconds of dropped frames, of the moment that is shown, and of the end of what is shown.
_DROPPED_S, _SHOWN_S, _END_S = (5.0, 5.7), 5.6, 9.0


def broken(clip: Clip) -> Clip:
    """The clip with a lost left arm, and with dropped frames."""
    rotations, translations = clip.rotations.copy(), clip.translations.copy()
    rotations[
        :, [clip.skeleton.names.index(name) for name in _ARM if name in clip.skeleton.names]
    ] = [0, 0, 0, 1]
    start, stop = (round(each * clip.fps) for each in _DROPPED_S)
    rotations[start:stop], translations[start:stop] = rotations[start], translations[start]
    return replace(clip, rotations=rotations, translations=translations, name="broken")


def repair(work: Path) -> None:
    """A clip with a lost arm and dropped frames, and the same repaired."""
    store, _ = person_model(work)
    editor, before, after = (
        work / file for file in ("person.editor", "broken.npz", "repaired.npz")
    )
    sizes = "--set network.width=64 --set network.hidden=96 --set training.windows=12000"
    run(f"train editor {store} -o {editor} {sizes}", editor)
    if not before.exists():
        dp.save(broken(open_store(store).clip(0)), before)
    run(f"edit repair {before} --editor {editor} -o {after}", after)
    clips = {"before": dp.load(before), "after": dp.load(after)}
    clips = {name: clip.sliced(0, round(_END_S * clip.fps)) for name, clip in clips.items()}
    hand = next(i for i, n in enumerate(clips["before"].skeleton.names) if n in _HAND)
    heights = np.stack([joint_positions(clip)[:, hand, 1] for clip in clips.values()], axis=1)
    actors = []
    for side, (name, clip) in zip((-0.7, 0.7), clips.items(), strict=True):
        root, frame = (
            root_trajectory(clip, find_roles(clip.skeleton, clip=clip)),
            round(_SHOWN_S * clip.fps),
        )
        actors.append(
            moment_actor(
                clip, frame, root.positions[frame], float(root.angles[frame]),
                before_s=_SHOWN_S, seconds=_END_S, place=np.array([side, 0, 0]), name=name,
            )
        )  # fmt: skip
    curve = Curve("Left hand", "m", heights, 60.0, tuple(clips))
    dropped = Marker("dropped", *_DROPPED_S)
    take = Take.from_motions(actors, "repaired", curves=[curve], markers=[dropped])
    with opened(save_player(work / "repair.html", [take]), height=600) as shown:
        player_at(shown, _SHOWN_S, "q")
        save(photograph(shown), "repair")


def dashboard(work: Path) -> None:
    """The dashboard on the motion of its demo."""
    with (
        started() as address,
        opened(f"{address}/manifold", height=860, width=1480, scale=1.1, plain="") as shown,
    ):
        settled(shown)
        until(lambda: "Reading phases" not in shown.inner_text("body"))
        shown.wait_for_timeout(3000)
        save(photograph(shown), "dashboard")


# Pixels of what a cell of a notebook shows, and characters of its text.
_CELL, _CELL_TEXT = (760, 560), 2_000


def notebook(path: Path, work: Path) -> None:
    """Run a notebook, and write what its cells show into it, as pictures and text."""
    content = json.loads(path.read_text(encoding="utf-8"))
    names: dict[str, Any] = {"__name__": "__main__"}
    with chromium() as browser:
        page = browser.new_page(viewport={"width": _CELL[0], "height": _CELL[1]})
        for cell in content["cells"]:
            if cell["cell_type"] != "code":
                continue
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                result = run_cell("".join(cell["source"]), names)
            outputs, text = [], printed.getvalue()
            if text:
                outputs.append({"output_type": "stream", "name": "stdout", "text": text})
            if result is not None:
                data = {"text/plain": repr(result)[:_CELL_TEXT]}
                view = html_of(result)
                if view is None and hasattr(result, "to_html"):
                    view = result.to_html()
                if view is not None:
                    # Tables and lists stay text; players and plots are pictures.
                    is_text = "<iframe" not in view and "<svg" not in view and "<script" not in view
                    data |= (
                        {"text/html": view}
                        if is_text
                        else {"image/jpeg": cell_picture(page, view, work)}
                    )
                shown = {"output_type": "execute_result", "execution_count": None}
                outputs.append({**shown, "metadata": {}, "data": data})
            cell["outputs"] = outputs
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def cell_picture(page: Any, view: str, work: Path) -> str:
    """What a cell shows, as JPEG in base64."""
    style = "<style>body { font-family: sans-serif; margin: 4px }</style>"
    (work / "cell.html").write_text(f"{style}<div>{view}</div>", encoding="utf-8")
    page.goto((work / "cell.html").as_uri())
    page.wait_for_timeout(4000)
    height = page.evaluate("document.body.firstElementChild.offsetHeight") + 8
    clip = {"x": 0, "y": 0, "width": _CELL[0], "height": height}
    shot = page.screenshot(clip=clip, full_page=True, type="jpeg", quality=70)
    return base64.b64encode(shot).decode()


TAKEN: dict[str, Callable[[Path], None]] = {
    each.__name__: each for each in (phases, manifolds, matches, dance, repair, dashboard)
}


def take(names: list[str], work: Path) -> None:
    notebooks = {path.name: path for path in NOTEBOOKS}
    for name in names or [*TAKEN, *notebooks]:
        if name in notebooks:
            notebook(notebooks[name], work)
            continue
        TAKEN[name](work)
        print(f"{name}: {(PICTURES / f'{name}.webp').stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    given = os.environ.get("PICTURES_WORK")
    folder = Path(given) if given else Path(tempfile.mkdtemp())
    folder.mkdir(exist_ok=True)
    take(sys.argv[1:], folder)
    if not given:
        shutil.rmtree(folder)
