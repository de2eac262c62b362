"""Strides from touch-downs, and a companion that keeps the rhythm of them."""

from __future__ import annotations

import json
import subprocess

import pytest

from deepphase.viewer.bundle import VIEWER
from tests.live.node import NODE, needs_node

pytestmark = needs_node

# The leader strides at `leader` Hz, its companion at `own` Hz in its own time; frames of 1/60 s.
_KEPT = """
import { KeptRhythm, Strides } from "RHYTHM";
const { leader, own, seconds } = JSON.parse(process.argv[1]);
const [led, follows, rhythm] = [new Strides(), new Strides(), new KeptRhythm()];
let [phase, ownPhase] = [0.3, 0];
const found = [];
for (let i = 0; i < 60 * seconds; i++) {
  phase += leader / 60;
  led.advance(phase % 1 < 0.5, 1 / 60);
  const rate = rhythm.advance(led, follows, 1 / 60);
  ownPhase += (own * rate) / 60;
  follows.advance(ownPhase % 1 < 0.5, rate / 60);
  const apart = rhythm.ratio * phase - ownPhase;
  found.push([rate, rhythm.ratio, apart - Math.round(apart), led.frequency]);
}
console.log(JSON.stringify(found));
"""


def kept(**request: float) -> list[list[float]]:
    script = _KEPT.replace("RHYTHM", (VIEWER / "runtime" / "rhythm.js").as_uri())
    assert NODE is not None
    command = [NODE, "--input-type=module", "-e", script, "--", json.dumps(request)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


@pytest.mark.parametrize(
    ("leader", "own", "ratio"),
    [(1.0, 1.1, 1), (0.9, 1.7, 2), (0.9, 2.0, 2), (1.3, 2.1, 1.5), (0.7, 2.2, 3)],
)
def test_strides_fall_together_at_a_simple_ratio(leader, own, ratio):
    found = kept(leader=leader, own=own, seconds=20.0)
    for rate, chosen, apart, frequency in found[-300:]:
        assert chosen == ratio
        assert frequency == pytest.approx(leader, rel=0.05)
        assert rate == pytest.approx(ratio * leader / own, rel=0.1)
        assert abs(apart) < 0.1


def test_a_companion_is_not_hurried_beyond_what_looks_natural():
    assert all(0.7 <= rate <= 1.4 for rate, *_ in kept(leader=3.0, own=1.0, seconds=10.0))


def test_bodies_that_stand_have_no_rhythm():
    found = kept(leader=0.0, own=1.0, seconds=5.0)
    assert all(each[:2] == [1.0, 0] for each in found)
