"""Imports run one way, and the quick commands load nothing slow."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# Each layer may import the layers above it in this list, and itself.
LAYERS = [
    {"deepphase.errors", "deepphase.progress", "deepphase.threads"},
    {"deepphase.recipes", "deepphase.replacing", "deepphase.optional_packages"},
    {"deepphase.motion"},
    {"deepphase.formats"},
    {"deepphase.music", "deepphase.synthetic"},
    {"deepphase.corpus"},
    {"deepphase.features"},
    {"deepphase.phase"},
    {"deepphase.steering", "deepphase.evaluation", "deepphase.figures", "deepphase.export"},
    {"matching", "controllers"},
    {"apps"},
]
OURS = ("deepphase", "controllers", "matching", "apps")
TORCH_FREE = {name for layer in LAYERS[:7] for name in layer} | {"deepphase.figures"}


def unit_of(module: str) -> str:
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "deepphase" else parts[0]


def imports(path: Path) -> set[str]:
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
    module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    rank = {name: index for index, layer in enumerate(LAYERS) for name in layer}
    unit = unit_of(module)
    if unit == "deepphase":
        ours = {name for name in imports(path) if name.split(".")[0] in OURS}
        assert ours <= {"deepphase.threads.wait_passively"}
        return
    for name in imports(path):
        other = unit_of(name)
        if name.split(".")[0] not in OURS or other == unit:
            continue
        assert rank[other] < rank[unit], f"{module} imports {name}"
    if unit in TORCH_FREE:
        assert not {n for n in imports(path) if n.split(".")[0] in ("torch", "pytorch_lightning")}


@pytest.mark.parametrize(
    "statement",
    ["from apps.cli import main; main(['--help'])", "import deepphase.corpus.prepare"],
)
def test_torch_stays_away(statement):
    code = f"{statement}\nimport sys\nassert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, cwd=ROOT)
