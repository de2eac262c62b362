"""Lists of releases in `requirements/`: hashes everywhere, and one release for each package."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
LISTS = sorted((ROOT / "requirements").glob("*.txt"))
_APP = ("app", "control", "dance", "match")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
# Systems and Pythons of README, as markers see them.
PLATFORMS = [
    {"sys_platform": system, "platform_system": name, "platform_machine": machine}
    | {"python_version": python, "python_full_version": f"{python}.9"}
    for system, name, machine in (
        ("linux", "Linux", "x86_64"),
        ("linux", "Linux", "aarch64"),
        ("darwin", "Darwin", "arm64"),
        ("win32", "Windows", "AMD64"),
    )
    for python in ("3.11", "3.12", "3.13")
]


def releases(path: Path) -> Iterator[tuple[Requirement, list[str]]]:
    """The requirements of a list, each with its hashes."""
    text = path.read_text().replace("\\\n", " ")
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            words, *hashes = re.split(r"\s+--hash=", line.strip())
            yield Requirement(words), hashes


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def on(platform: dict[str, str], *paths: Path) -> dict[str, str]:
    """The version of each package that lists have for a platform."""
    found = {}
    for path in paths:
        for requirement, _ in releases(path):
            if requirement.marker is None or requirement.marker.evaluate(platform):
                name = canonical(requirement.name)
                assert name not in found, f"{name} twice"
                found[name] = str(requirement.specifier).removeprefix("==")
    return found


@pytest.mark.parametrize("path", LISTS, ids=lambda path: path.name)
def test_every_release_is_exact_and_has_hashes(path):
    listed = list(releases(path))
    assert listed
    for requirement, hashes in listed:
        assert re.fullmatch(r"==[^*]+", str(requirement.specifier)), requirement
        assert requirement.url is None
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement


def test_no_list_names_an_index():
    for path in LISTS:
        assert not re.search(r"https?:|--index|--extra|--find|--trusted", path.read_text()), path


@pytest.mark.parametrize("platform", [PLATFORMS[0], PLATFORMS[-1]], ids=["first", "last"])
def test_all_lists_have_the_same_releases(platform):
    versions: dict[str, set[str]] = {}
    for path in LISTS:
        for name, version in on(platform, path).items():
            # Builds of one release differ behind the plus sign.
            versions.setdefault(name, set()).add(version.partition("+")[0])
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


@pytest.mark.parametrize("name", ["run", "dev", "all"])
@pytest.mark.parametrize(
    "platform",
    PLATFORMS,
    ids=lambda each: "-".join(list(each.values())[1:4]),
)
def test_the_ranges_of_the_project_have_a_release_on_every_platform(name, platform):
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = list(PROJECT["project"]["dependencies"])
    for extra in {"run": _APP, "dev": (*_APP, "dev", "onnx"), "all": extras}[name]:
        wanted += extras[extra]
    found = on(platform, *(ROOT / "requirements" / f"{part}.txt" for part in (name, "torch")))
    for each in map(Requirement, wanted):
        if canonical(each.name) != "deepphase":
            assert each.specifier.contains(found[canonical(each.name)]), each


def test_the_build_backend_is_the_listed_one():
    (backend,) = PROJECT["build-system"]["requires"]
    listed = {str(each) for each, _ in releases(ROOT / "requirements" / "build.txt")}
    assert backend in listed
