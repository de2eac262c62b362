"""The life of a part of the dashboard's pages."""

from __future__ import annotations

import subprocess

from deepphase.viewer.page import VIEWER
from tests.live.node import NODE, needs_node

# Streamlit's runs of a part, as it begins two while a script is loaded: which of both is shown last
# is by chance, and the earlier one ends at once.
_RUNS = """
const { componentOf } = await import(process.argv[1]);
const said = [], root = { isConnected: true };
class Part {
  show(data) { said.push(data); }
  close() { said.push("closes"); }
}
const component = componentOf("i", Part, "done");
const run = (data) => component({ parentElement: { querySelector: () => root }, data });
const ended = async (end) => { end(); await new Promise((go) => setTimeout(go, 5)); };
const first = run(1);
run(2);
await ended(first);
const late = run(4), early = run(3);
await ended(early);
root.isConnected = false;
await ended(late);
run(5);
console.log(said.join(" "));
"""


@needs_node
def test_a_part_shows_the_last_run_and_closes_with_its_element():
    assert NODE is not None
    command = [NODE, "--input-type=module", "-e", _RUNS, str(VIEWER / "input/component.js")]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "1 2 4 3 4 closes 5"
