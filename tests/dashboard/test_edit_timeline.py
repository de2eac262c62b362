"""The timeline of page Edit: marks that are dragged, and marks that browsers send."""

import json
import subprocess

import pytest

from deepphase.apps.dashboard.parts import edit_timeline as parts
from deepphase.apps.dashboard.parts.edit_timeline import (
    key_timeline,
    sent_keys,
    sent_spans,
    span_timeline,
)
from deepphase.synthetic.gait_motion import locomotion
from deepphase.viewer.bundle import VIEWER
from tests.live.node import needs_node

SCRIPT = VIEWER / "timeline" / "edit_timeline.js"


@needs_node
def test_marks_are_moved_added_and_joined(tmp_path):
    calls = {
        "moved([[0, 0], [30, 30], [60, 60]], 1, 45, 99)": [[0, 0], [30, 45], [60, 60]],
        # Keys do not pass each other, and stay on the timeline.
        "moved([[0, 0], [30, 30], [60, 60]], 1, 80, 99)": [[0, 0], [30, 59], [60, 60]],
        "moved([[0, 0], [30, 30], [60, 60]], 2, 400, 99)": [[0, 0], [30, 30], [60, 99]],
        # A new key stands between those beside it, where their motion is.
        "added([[0, 0], [30, 60]], 10)": [[0, 0], [10, 20], [30, 60]],
        "added([[0, 0], [30, 60]], 30)": [[0, 0], [30, 60]],
        "added([[0, 0], [30, 60]], 40)": [[0, 0], [30, 60], [40, 70]],
        "added([[20, 25], [30, 60]], 15)": [[15, 20], [20, 25], [30, 60]],
        # Stretches of one row that touch are one.
        "joined([[0, 5, 9], [1, 5, 9]], [0, 10, 12])": [[0, 5, 12], [1, 5, 9]],
        "joined([[0, 5, 9]], [0, 12, 14])": [[0, 5, 9], [0, 12, 14]],
    }
    (tmp_path / "ask.mjs").write_text(
        f'import {{ moved, added, joined }} from "{SCRIPT.as_uri()}";\n'
        f"console.log(JSON.stringify([{', '.join(calls)}]));\n",
        encoding="utf-8",
    )
    command = ["node", str(tmp_path / "ask.mjs")]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    for call, found in zip(calls, json.loads(answer.stdout), strict=True):
        assert found == calls[call], call


def test_what_was_drawn_reaches_the_page(monkeypatch):
    drawn, given = [], []
    monkeypatch.setattr(parts, "_component", lambda **named: drawn.append(named))
    clip = locomotion(seed=3, seconds=1.0).clip
    key_timeline(clip, [[0, 0], [59, 59]], "keys", given.append)
    span_timeline(clip, ["all"], [[0, 3, 5]], "spans", given.append)
    span_timeline(clip, ["all"], [[0, 3, 5]], "shown")
    assert [each["data"]["editable"] for each in drawn] == [True, True, False]
    state = {"keys": {"marked": [[0, 0], [59, 70]]}, "spans": {"marked": [[0, 4, 8]]}}
    monkeypatch.setattr(parts.st, "session_state", state)
    for each in drawn[:2]:
        each["on_marked_change"]()
    assert given == [[[0, 0], [59, 70]], [[0, 4, 8]]]
    state["keys"]["marked"] = [[0, 0], [59, 800]]
    drawn[0]["on_marked_change"]()
    assert len(given) == 2


@pytest.mark.parametrize(
    "given",
    [
        None, [[0, 0]], [[0, 0], [5]], [[0, 0], [5, 0]], [[5, 5], [0, 9]], [[0, 0], [5, 900]],
        [[0, 0], [5, float("nan")]], [[0, 0], [5, 6.5]], [[0, 0], [True, 5]], "00",
        [[0, 0], ["5", 5]],
        [[i, i] for i in range(3000)],
    ],
)  # fmt: skip
def test_what_is_no_keys_is_none(given):
    assert sent_keys(given, 100) is None


@pytest.mark.parametrize("given", [None, [[0, 5, 4]], [[2, 0, 1]], [[0, 0, 100]], [[0, 0]], [3]])
def test_what_is_no_stretch_is_none(given):
    assert sent_spans(given, 2, 100) is None
