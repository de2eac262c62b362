"""The life of a part of the dashboard's pages."""

from __future__ import annotations

import subprocess

from deepphase.viewer.page import VIEWER
from tests.live.node import NODE, needs_node

# Two runs begin before the first has ended, as Streamlit's do while a script is loaded.
_RUNS = """
const { componentOf } = await import(process.argv[1]);
const said = [];
class Part {
  show(data) { said.push(`shows ${data}`); }
  close() { said.push("closes"); }
}
const component = componentOf("i", Part, "done");
const root = {};
const run = (data) => component({ parentElement: { querySelector: () => root }, data });
const first = run(1), second = run(2);
first();
said.push("first has ended");
second();
run(3);
console.log(said.join(", "));
"""


@needs_node
def test_a_part_lives_until_the_last_of_its_runs_ends():
    assert NODE is not None
    command = [NODE, "--input-type=module", "-e", _RUNS, str(VIEWER / "input/component.js")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "shows 1, shows 2, first has ended, closes, shows 3"
