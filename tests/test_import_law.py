"""Imports run one way, and the quick commands load nothing slow."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Each layer may import the layers above it in this list, and itself.
LAYERS = [
    {"deepphase.arrays"},
    {
        "deepphase.cycles",
        "deepphase.easing",
        "deepphase.errors",
        "deepphase.lazy_names",
        "deepphase.progress",
        "deepphase.short_repr",
        "deepphase.threads",
    },
    {"deepphase.checkout"},
    {"deepphase.temporary_files"},
    {
        "deepphase.config",
        "deepphase.atomic_write",
        "deepphase.extras",
        "deepphase.memory",
        "deepphase.compiled",
    },
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
        "deepphase.edit",
        "deepphase.rigs",
    },
    {"deepphase.viewer"},
    {"matching", "controllers"},
    {"apps"},
]
OURS = ("deepphase", "controllers", "matching", "apps")
TORCH_FREE = {name for layer in LAYERS[:10] for name in layer} | {
    "deepphase.figures",
    "deepphase.viewer",
}


def unit_of(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "deepphase" else parts[0]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


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
    return [path for name in OURS for path in (ROOT / name).rglob("*.py")]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path):
    module = name_of(path)
    rank = {name: index for index, layer in enumerate(LAYERS) for name in layer}
    unit = unit_of(module)
    if unit == "deepphase":
        # The names of the library, imported when they are used.
        assert not {name for name in imports(path) if name.split(".")[0] in OURS[1:]}
        return
    for name in imports(path):
        other = unit_of(name)
        if name.split(".")[0] not in OURS or other == unit:
            continue
        assert rank[other] < rank[unit], f"{module} imports {name}"
    if unit in TORCH_FREE:
        assert not {n for n in imports(path) if n.split(".")[0] in ("torch", "pytorch_lightning")}


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
        "import deepphase as dp; dp.load, dp.prepare, dp.song_features, dp.locomotion, dp.Actor",
        "import controllers, deepphase, matching; assert 'numpy' not in sys.modules",
    ],
)
def test_torch_stays_away(statement):
    code = f"import sys\n{statement}\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)
