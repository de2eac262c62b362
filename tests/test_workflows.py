"""Workflows of GitHub Actions, and the script that lays the pages of all versions side by side."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_need_jobs_that_exist_and_have_a_limit_of_time(path):
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    for name, job in jobs.items():
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(jobs), name
        assert job["timeout-minutes"] <= 90, name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step


def test_files_that_workflows_name_exist():
    for path in WORKFLOWS:
        words = path.read_text(encoding="utf-8").split()
        files = [word for word in words if word.startswith((".ci/", "tests/", "requirements/"))]
        assert all(any(ROOT.glob(file)) for file in files), files


def test_pages_of_versions_lie_side_by_side(tmp_path):
    site, pages = tmp_path / "site", tmp_path / "pages"
    site.mkdir()
    pages.mkdir()
    for version in ("v0.9.1", "v0.10.0", "v0.2.0", "v1.0.0rc1"):
        (site / "index.html").write_text(version)
        add = [sys.executable, ROOT / ".ci" / "add_version.py", site, pages, version]
        subprocess.run(add, check=True)
    listed = json.loads((pages / "versions.json").read_text())
    assert listed == ["stable", "v1.0.0rc1", "v0.10.0", "v0.9.1", "v0.2.0"]
    assert (pages / "stable" / "index.html").read_text() == "v0.10.0"
    assert (pages / "v0.2.0" / "index.html").read_text() == "v0.2.0"
