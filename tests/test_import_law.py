"""Imports run one way, and the quick commands load nothing slow."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Each layer may import the layers above it in this list, and itself.
LAYERS = [
    {"deepphase.arrays", "deepphase.errors"},
    {"deepphase.packages", "deepphase.work", "deepphase.shipped"},
    {"deepphase.files"},
    {"deepphase.config"},
    {"deepphase.motion"},
    {"deepphase.solving"},
    {"deepphase.formats"},
    {"deepphase.music", "deepphase.synthetic"},
    {"deepphase.corpus"},
    {"deepphase.features", "deepphase.terrain"},
    {"deepphase.training"},
    {"deepphase.phase"},
    {"deepphase.steering"},
    {
        "deepphase.evaluation",
        "deepphase.figures",
        "deepphase.export",
        "deepphase.rigs",
    },
    {"deepphase.edit"},
    {"deepphase.viewer"},
    {"deepphase.matching", "deepphase.controllers"},
    {"deepphase"},
    {"deepphase.apps"},
]
# Folders that lie beside deepphase/ and are inside it in the wheel: their names are below its own.
BESIDE = ("apps", "controllers", "matching")
TORCH_FREE = {name for layer in LAYERS[:10] for name in layer} | {
    "deepphase.figures",
    "deepphase.viewer",
}


def unit_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def name_of(path: Path) -> str:
    name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    return name if name.startswith("deepphase") else f"deepphase.{name}"


@cache
def imports(path: Path) -> set[str]:
    """All that a file imports, within functions and for type checkers, too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def modules() -> list[Path]:
    return [path for name in ("deepphase", *BESIDE) for path in (ROOT / name).rglob("*.py")]


def test_imports_run_one_way():
    rank = {name: index for index, layer in enumerate(LAYERS) for name in layer}
    beside = {f"deepphase.{name}" for name in BESIDE}
    for path in modules():
        module, found = name_of(path), {n for n in imports(path) if n.split(".")[0] == "deepphase"}
        unit = unit_of(module)
        if unit == "deepphase":
            # Only the public names, imported when they are used, come from further down.
            below = {name for name in imports(path) if unit_of(name) in beside}
            assert below <= {"deepphase.controllers", "deepphase.matching"}
            continue
        late = {
            name for name in found if unit_of(name) != unit and rank[unit_of(name)] >= rank[unit]
        }
        assert not late, f"{module} imports {late}"
        packages = {name.split(".")[0] for name in imports(path)}
        assert unit not in TORCH_FREE or not packages & {"torch", "pytorch_lightning"}, module


def test_every_module_has_one_name():
    """`apps.x`, which a checkout would find as well, is another module than `deepphase.apps.x`."""
    folders = [path for name in BESIDE for path in (ROOT / name).glob("[!_]*")]
    ours = {f"{path.parent.name}.{path.stem}" for path in folders if path.suffix in ("", ".py")}
    bare = re.compile(rf"(?<![\w./-])(?:{'|'.join(BESIDE)})\.[a-z_]+")
    for path in [*modules(), *(ROOT / "tests").rglob("*.py")]:
        assert not {name.split(".")[0] for name in imports(path)} & set(BESIDE), path
        assert not ours & set(bare.findall(path.read_text(encoding="utf-8"))), path


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The strongly connected groups of more than one module (Tarjan 1972)."""
    number, lowest = dict[str, int](), dict[str, int]()
    stack, found = list[str](), list[list[str]]()

    def visit(module: str) -> None:
        number[module] = lowest[module] = len(number)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in stack:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] == number[module]:
            start = stack.index(module)
            group = sorted(stack[start:])
            del stack[start:]
            if len(group) > 1:
                found.append(group)

    for module in sorted(graph):
        if module not in number:
            visit(module)
    return found


def test_no_modules_import_each_other():
    files = {name_of(path): path for path in modules()}
    graph = {
        module: {
            # What is imported from a module is not a module; a package's names are in its file.
            other if other in files else other.rpartition(".")[0]
            for other in imports(path)
        }
        & files.keys() - {module}
        for module, path in files.items()
    }
    assert circles(graph) == []


def test_circles_are_found():
    chain = {"a": {"b"}, "b": {"c"}, "c": set()}
    assert circles(chain) == []
    assert circles(chain | {"c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


@pytest.mark.parametrize(
    "statement",
    [
        "from deepphase.apps.cli import main; main(['--help'])",
        "import deepphase.corpus.prepare",
        "import deepphase as dp; dp.load, dp.prepare, dp.music.song_features, dp.viewer.Actor",
        "import deepphase as dp\n"
        "from importlib.util import find_spec\n"
        "[dir(getattr(dp, name)) for name in dp.__all__ if find_spec(f'deepphase.{name}')]",
        "import deepphase as dp; dp.controllers, dp.matching; assert 'numpy' not in sys.modules",
    ],
)
def test_torch_stays_away(statement):
    code = f"import sys\n{statement}\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)


def test_lightning_stays_away_from_the_pages():
    """It is imported in seconds, which the first picture would wait for."""
    code = (
        "import importlib, sys\n"
        "from deepphase.apps.dashboard.entry import PAGES\n"
        "for entry in PAGES.values(): importlib.import_module(entry.module)\n"
        "assert not {'pytorch_lightning', 'lightning_fabric'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)
