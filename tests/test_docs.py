"""Shell lines and Python blocks of the README and the guides, run in order on synthetic data.

Every page runs in a folder of its own that holds `captures/`, `held_out/`, `points/`, `recorded/`,
`songs/` and `song.ogg`, and the files of other pages that `NEEDS` lists. The shown text is run
unchanged. To keep it short, shipped configs are read from a copy of configs/ whose sizes are
replaced by those of `SIZES`, and `small_configs` shortens what no config sets. A command that
stands on several pages and reads the same files runs once; its files are copied to the other pages.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import soundfile
import yaml

from deepphase import config
from deepphase.apps.cli import FIRST_LINES, main
from deepphase.apps.reports import phase_pages
from deepphase.edit import control_training, style
from deepphase.figures.image import write_images
from deepphase.formats.load import save
from deepphase.formats.points import save_points
from deepphase.motion.clip import joint_positions
from deepphase.motion.point_track import PointTrack
from deepphase.steering import path as paths
from deepphase.steering.path import GroundPath
from deepphase.synthetic.dance_motion import dance
from deepphase.synthetic.gait_motion import locomotion
from deepphase.synthetic.song import make_song

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "guides").glob("*.md"))]

_INSTALLS = "installs the project that is being tested"
_ORDER = "tests/controllers/test_heights.py runs the same three commands"
_DRIBBLE = "tests/controllers/ball/test_dribbling.py runs the same three commands"
_POSTURE = (
    "dogs of the reader's own; tests/apps/test_cli.py reads tables of labels, and "
    "tests/controllers/test_rest.py rests by them"
)
_GROUND = "tests/apps/test_match_ground.py runs the same commands"
_BLENDER = "needs Blender; tests/formats/test_fbx.py makes the trip where it is installed"
_SAMPLES = "pages have smaller clips of these names; tests/apps/test_samples.py makes those"
_STUDY = "a study of the source tree; tests/studies/test_commands.py starts it"
# Lines that are not run -> the reason.
NOT_RUN = {
    "python -m tests.studies.dances recorded/ --dancers waltz.dancer --databases dances.db": _STUDY,
    "make demo": "sets up an environment of its own; tests/apps/test_demo.py runs the demo",
    "make test": "runs this test",
    "pip install torch --index-url https://download.pytorch.org/whl/cpu": _INSTALLS,
    "pip install .[all]": _INSTALLS,
    "pip install --require-hashes --no-deps -r requirements/build.txt": _INSTALLS,
    "pip install --require-hashes --no-deps --no-build-isolation -r requirements/torch.txt "
    "-r requirements/run.txt": _INSTALLS,
    "pip install --no-deps --no-build-isolation -e .": _INSTALLS,
    "deepphase export walk.controller -o controller.onnx": "tests/apps/test_control.py exports one",
    "deepphase export walk.model -o walk.onnx": "tests/export/test_onnx_file.py exports one",
    "deepphase samples captures/": _SAMPLES,
    "deepphase samples held_out/ --seed 2": _SAMPLES,
    "deepphase samples recorded/ --of dances": _SAMPLES,
    "deepphase app": "a server that does not end; tests/apps/test_app.py starts it",
    "deepphase app captures/": "a server that does not end; tests/apps/test_app.py starts it",
    "deepphase live": "a server that does not end; tests/live starts it",
    "deepphase live walk.controller": "a server that does not end; tests/live starts it",
    "deepphase live models/": "a server that does not end; tests/live starts it",
    "deepphase live walk.controller --terrain stairs": "a server that does not end; "
    "tests/live/test_bundle.py makes pages on ground",
    "deepphase live mocap.matcher --terrain hill.png": "a "
    "server that does not end, and an image of the reader's own",
    "deepphase live walk.controller --body hero.glb": "a server that does not end, and a mesh of "
    "the reader's own; tests/live/test_body.py reads one",
    "deepphase export walk.controller --web --body hero.glb -o hero.html": "a mesh of the "
    "reader's own; tests/live/test_body.py reads one",
    "deepphase fit ground mocap.store --fits 0 --laid 3 -o ground/": _ORDER,
    "deepphase match build mocap.store --model walk.model --terrain ground/ -o climb.db": _GROUND,
    "deepphase match run climb.db --path circle --seconds 5 --terrain rocks -o rocks/": _GROUND,
    "deepphase train controller mocap.store --model walk.model --terrain ground/ "
    "-o climb.controller": _ORDER,
    "deepphase control climb.controller --path circle --terrain rocks -o rocks/": _ORDER,
    "deepphase prepare dogs/ -o dogs.store --labels-csv posture.csv": _POSTURE,
    "deepphase train controller dogs.store --model dogs.model --set schema.label=posture": _POSTURE,
    "deepphase fit ball mocap.store -o ball/": _DRIBBLE,
    "deepphase train controller mocap.store --model walk.model --ball ball/ --config ball "
    "-o dribble.controller": _DRIBBLE,
    "deepphase control dribble.controller --path circle --ball kick@5:6,pass@12:0:6 "
    "-o dribbling/": _DRIBBLE,
    "deepphase convert captures/walk_neutral_01.bvh -o walk.fbx": _BLENDER,
    "deepphase convert captures/ --to character.fbx -o retargeted/ --format fbx": _BLENDER,
}
# Page -> files that the pages before it leave.
NEEDS = {
    "match.md": ["mocap.store", "walk.model"],
    "control.md": ["mocap.store", "walk.model"],
    "explore.md": ["mocap.store", "walk.model", "contact.model"],
    "live.md": ["mocap.store", "walk.model", "walk.controller"],
    "terrain.md": ["mocap.store", "walk.model", "walk.controller"],
    "edit.md": ["mocap.store", "walk.model"],
    "rigs.md": ["mocap.store"],
    "export.md": ["mocap.store", "walk.model", "walk.controller"],
}
# Kind of config -> values that replace those of every shipped config of that kind.
SIZES: dict[str, dict[str, dict[str, Any]]] = {
    "phase": {
        "network": {"hidden": 8, "channels": 4},
        "training": {"windows": 320, "batch_size": 32},
    },
    "controller": {
        "network": {"hidden": 16},
        "training": {"samples": 640, "batch_size": 64},
    },
    "editor": {
        "network": {"width": 16, "hidden": 16, "window_s": 1.0},
        "training": {"windows": 160, "batch_size": 16},
    },
    "rig": {
        "training": {
            "examples": 40,
            "hidden": 16,
            "samples": 200,
            "frames": 300,
            "epochs": 1.0,
        },
    },
    "dance": {
        "network": {"hidden": 24, "gating_hidden": 8, "experts": 2},
        "training": {"samples": 640, "batch_size": 64, "held_out": 0.3},
        "dance": {"tempo_copies": 0},
    },
}


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    language: str
    line: int
    text: str


def blocks_of(text: str) -> Iterator[Block]:
    """The fenced blocks of a Markdown text, with the line at which their content begins."""
    for match in re.finditer(r"^```(.*)\n((?:.*\n)*?)```$", text, flags=re.MULTILINE):
        yield Block(match[1].strip(), text[: match.start(2)].count("\n") + 1, match[2])


def shell_lines(block: Block) -> Iterator[tuple[int, list[str]]]:
    """Line number and words of each command; comments are dropped."""
    text = block.text.replace("\\\n", "  ")
    for number, line in enumerate(text.splitlines(), start=block.line):
        words = shlex.split(line, comments=True)
        if words:
            yield number, words


def pages() -> list[Any]:
    """The pages as test parameters."""
    return [pytest.param(page, id=page.stem) for page in PAGES]


@pytest.fixture(scope="module")
def small_configs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Shipped configs of small sizes, short paths, and reports with one picture each."""
    whole_path, whole_training = paths.made_path, control_training.train_path

    def short_path(name: str, speed: float, seconds: float) -> GroundPath:
        return whole_path(name, speed, min(seconds, 4.0))

    def short_training(*given: Any, windows: int, **options: Any) -> Any:
        return whole_training(*given, windows=windows // 20, **options)

    folder = tmp_path_factory.mktemp("configs")
    shutil.copytree(ROOT / "configs", folder, dirs_exist_ok=True)
    for kind, sections in SIZES.items():
        for path in (folder / kind).glob("*.yaml"):
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
            for section, values in sections.items():
                known = content.setdefault(section, {})
                # A network option exists only in configs that use it, any other in every config.
                used = values.keys() & known.keys() if section == "network" else values
                known.update({name: values[name] for name in used})
            path.write_text(yaml.safe_dump(content), encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(config, "_FOLDER", folder)
        patch.setattr(paths, "made_path", short_path)
        patch.setattr(control_training, "train_path", short_training)
        patch.setattr(style, "_ITERATIONS", 10)
        patch.setattr(
            phase_pages,
            "write_images",
            lambda files, **options: write_images(dict([next(iter(files.items()))]), **options),
        )
        yield


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that a reader of the pages has before the first command."""
    folder = tmp_path_factory.mktemp("inputs")
    styles = ("neutral", "angry", "neutral", "neutral")
    for index, gait in enumerate(("walk", "walk", "jog", "run")):
        name = f"{gait}_{styles[index]}_01.bvh"
        clip = locomotion(index, 4.0, body="biped", gait=gait, fps=60.0).clip
        save(clip, folder / "captures" / name)
        other = locomotion(100 + index, 4.0, body="biped", gait=gait, fps=60.0).clip
        save(other, folder / "held_out" / name)
    for index in range(2):
        clip = locomotion(200 + index, 5.0, body="biped", gait="walk", fps=60.0).clip
        track = PointTrack(clip.skeleton.names, joint_positions(clip), clip.fps)
        (folder / "points").mkdir(exist_ok=True)
        save_points(track, folder / "points" / f"walk_{index}.npz")
    (folder / "songs").mkdir()
    for index in range(4):
        song = make_song(index, 12.0, tempo_bpm=95.0 + 8.0 * index)
        save(dance(song, index).clip, folder / "recorded" / f"waltz_{index:02d}.bvh")
        for place in ("recorded", "songs"):
            path = folder / place / f"waltz_{index:02d}.ogg"
            soundfile.write(path, song.samples, song.sample_rate)
    song = make_song(9, 6.0, tempo_bpm=104.0)
    soundfile.write(folder / "song.ogg", song.samples, song.sample_rate)
    return folder


def digest(words: list[str]) -> str:
    """Hash of a command and of the content of all files that it names."""
    found = hashlib.sha256(repr(words).encode())
    for word in words:
        named = Path(word)
        for path in sorted(named.rglob("*")) if named.is_dir() else [named]:
            if path.is_file():
                found.update(repr(str(path)).encode() + path.read_bytes())
    return found.hexdigest()


@pytest.fixture(scope="module")
def run_line(
    small_configs: None, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[list[str]], int]:
    """Runs a command in the current folder, or copies what it made of the same files before."""
    base = tmp_path_factory.getbasetemp()
    # One folder for all workers.
    results = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "results_of_lines"

    def run(words: list[str]) -> int:
        if "-o" not in words:
            return main(words)
        kept = results / digest(words)
        if not kept.exists():
            before = {path: path.stat().st_mtime_ns for path in Path().iterdir()}
            status = main(words)
            if status:
                return status
            part = tmp_path_factory.mktemp("part") / "made"
            part.mkdir()
            for path in Path().iterdir():
                if path.stat().st_mtime_ns != before.get(path):
                    copy(path, part)
            results.mkdir(exist_ok=True)
            # Another worker may have been as quick.
            with contextlib.suppress(OSError):
                part.rename(kept)
        else:
            for path in kept.iterdir():
                copy(path, Path())
        return 0

    return run


def copy(path: Path, folder: Path) -> None:
    if path.is_dir():
        shutil.copytree(path, folder / path.name, dirs_exist_ok=True)
    else:
        shutil.copy(path, folder / path.name)


@pytest.fixture(scope="module")
def made_before(
    inputs: Path,
    run_line: Callable[[list[str]], int],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[[str], Path]:
    """The path of a file that an earlier page leaves, made at the first call."""
    folder = tmp_path_factory.mktemp("before")
    copy(inputs / "captures", folder)
    commands = {  # as pages have them
        "mocap.store": "prepare captures/ -o mocap.store",
        "walk.model": "train phase mocap.store -o walk.model",
        "contact.model": "fit phases mocap.store --method contact -o contact.model",
        "walk.controller": "train controller mocap.store --model walk.model --config experts "
        "-o walk.controller",
    }

    def made(name: str) -> Path:
        if not (folder / name).exists():
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(folder)
                assert run_line(shlex.split(commands[name])) == 0, name
        return folder / name

    return made


@pytest.mark.slow
@pytest.mark.guide
@pytest.mark.parametrize("page", pages())
def test_every_line_of_a_page_runs(
    page: Path,
    inputs: Path,
    run_line: Callable[[list[str]], int],
    made_before: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shutil.copytree(inputs, tmp_path, dirs_exist_ok=True)
    for name in NEEDS.get(page.name, []):
        copy(made_before(name), tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks_of(page.read_text(encoding="utf-8")):
        if block.language == "python":
            # Padded, so that a traceback names the line of the page.
            code = "\n" * (block.line - 1) + block.text
            exec(compile(code, str(page), "exec"), names)
        elif block.language == "shell":
            for number, words in shell_lines(block):
                if " ".join(words) not in NOT_RUN:
                    assert words[0] == "deepphase", f"{page.name}:{number}: {words}"
                    status = run_line(words[1:])
                    assert status == 0, f"{page.name}:{number}: {' '.join(words)}"


@pytest.mark.parametrize("page", pages())
def test_every_block_names_a_language_that_is_run_or_data(page: Path) -> None:
    for block in blocks_of(page.read_text(encoding="utf-8")):
        known = ("python", "shell", "yaml", "text")
        assert block.language in known, f"{page.name}:{block.line}: {block.language!r}"
        if block.language in ("yaml", "text"):
            for line in block.text.splitlines():
                assert not line.startswith(("deepphase ", "$ ")), f"{page.name}: {line}"


def test_lines_that_are_not_run_stand_in_a_page() -> None:
    shown = {
        " ".join(words)
        for page in PAGES
        for block in blocks_of(page.read_text(encoding="utf-8"))
        if block.language == "shell"
        for _, words in shell_lines(block)
    }
    assert set(NOT_RUN) <= shown


def test_the_program_alone_prints_the_first_lines_of_the_readme(capsys) -> None:
    text = (ROOT / "README.md").read_text()
    shown = {
        " ".join(words)
        for block in blocks_of(text)
        if block.language == "shell"
        for _, words in shell_lines(block)
    }
    assert main([]) == 0
    printed = capsys.readouterr().out
    for job, lines in FIRST_LINES.items():
        assert f"## {job}\n" in text
        assert set(lines) <= shown
        assert "\n".join([f"{job}:", *(f"  {line}" for line in lines)]) in printed


def test_make_targets_of_all_pages_exist() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    texts = {path: path.read_text() for path in [*PAGES, *(ROOT / "docs").glob("*.md")]}
    named = {
        (path.name, target)
        for path, text in texts.items()
        for target in re.findall(r"(?:`|^)make ([\w-]+)", text, flags=re.MULTILINE)
    }
    assert named
    assert {target for _, target in named} <= targets, named


# Folders of the project, with which the path of a file begins.
FOLDERS = ("apps", "configs", "controllers", "deepphase", "docs", "matching", "tests")


def named_paths(text: str) -> Iterator[str]:
    """Paths of the project that a Markdown text names between backticks."""
    text = re.sub(r"^```(?:.*\n)*?```$", "", text, flags=re.MULTILINE)
    for name in re.findall(r"`([^`\n]+)`", text):
        if re.fullmatch(r"[\w./<>*-]+", name) and (
            name.endswith(".py") or name.startswith(tuple(f"{each}/" for each in FOLDERS))
        ):
            yield name


def test_paths_named_in_pages_exist() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    named = {(page.name, name) for page in pages for name in named_paths(page.read_text())}
    assert len(named) > 20
    # `folder/<name>.py` is a file to add: the folder exists, and files of that kind lie in it.
    assert not {
        (page, name) for page, name in named if not any(ROOT.glob(re.sub(r"<\w+>", "*", name)))
    }


def test_modules_that_pages_run_exist() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    modules = {
        module
        for page in pages
        for module in re.findall(r"python -m (tests\.[\w.]+)", page.read_text())
    }
    assert modules
    files = {each: ROOT / each.replace(".", "/") for each in modules}
    assert not {
        each
        for each, file in files.items()
        if not file.with_suffix(".py").exists() and not (file / "__main__.py").exists()
    }


def test_links_between_pages_lead_somewhere() -> None:
    docs = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    broken = []
    for page in docs:
        text = re.sub(r"^```(?:.*\n)*?```$", "", page.read_text(), flags=re.MULTILINE)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            if target.startswith(("http:", "https:")):
                continue
            other = (page.parent / path).resolve() if path else page
            if not other.exists() or (anchor and anchor not in anchors(other)):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert not broken


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and MkDocs number them."""
    text = re.sub(r"^```(?:.*\n)*?```$", "", page.read_text(), flags=re.MULTILINE)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.*)$", text, flags=re.MULTILINE):
        plain = re.sub(r"[^\w\s-]", "", heading.lower()).strip()
        anchor = re.sub(r"[\s]", "-", plain)
        number = 0
        while (name := f"{anchor}-{number}" if number else anchor) in found:
            number += 1
        found.add(name)
    return found


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_readme_shows_every_picture_and_they_are_small() -> None:
    text = (ROOT / "README.md").read_text()
    shown = re.findall(r"!\[([^]]+)\]\((docs/pictures/[^)]+)\)", text)
    files = sorted((ROOT / "docs" / "pictures").iterdir())
    assert sorted(ROOT / name for _, name in shown) == files
    assert all(len(words) > 40 for words, _ in shown), "alternative texts say what is seen"
    assert sum(path.stat().st_size for path in files) <= 1_500_000
