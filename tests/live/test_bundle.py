"""The bundle of modules to one script, and the page around it."""

from __future__ import annotations

import base64
import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deepphase.apps.live.page import live_page
from deepphase.errors import ParameterError
from deepphase.terrain.heightmap import Heightmap
from deepphase.viewer.page import VIEWER, bundled_script
from tests.live.node import NODE, needs_node


def written(folder: Path, **modules: str) -> Path:
    for name, code in modules.items():
        (folder / f"{name}.js").write_text(code, encoding="utf-8")
    return folder


@needs_node
def test_modules_keep_their_own_names_and_run_once_in_the_order_of_imports(tmp_path):
    folder = written(
        tmp_path,
        app='import {\n  size as width,\n  Box,\n} from "./box.js";\n'
        'import * as parts from "./parts.js";\nconst hidden = "app";\n'
        "console.log(width(), new Box().name, parts.hidden(), parts.log.join(), hidden);\n",
        box='import { log } from "./parts.js";\nconst hidden = 3;\nlog.push("box");\n'
        'export function size() { return hidden; }\nexport class Box { name = "Box"; }\n',
        parts='export const log = ["parts"];\nexport async function later() {}\n'
        'export const hidden = () => "import x from nowhere";\n',
    )
    script = bundled_script(folder, "app.js")
    assert NODE is not None
    ran = subprocess.run([NODE, "-e", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "3 Box import x from nowhere parts,box app"


@pytest.mark.parametrize(
    ("code", "fact"),
    [
        ('import { app } from "./app.js";\n', "import one another: app.js -> b.js -> app.js"),
        ("export default 3;\n", "not bundled: export default 3"),
        ("export let x = 3;\n", "not bundled: export let"),
        ("export const x = 3, y = 4;\n", "not bundled: export const x = 3, y"),
        ('import x from "./x.js";\n', "not bundled: import x"),
        ('const text = "</script>";\n', "would end the page's script"),
    ],
)
def test_what_would_not_run_in_one_script_is_refused(tmp_path, code, fact):
    folder = written(tmp_path, app='import { b } from "./b.js";\nexport const app = 1;\n', b=code)
    with pytest.raises(ParameterError, match=re.escape(fact)):
        bundled_script(folder, "app.js")


def test_a_page_holds_all_it_needs_and_texts_stay_texts():
    name = "</title></script><script>alert(1)</script> %%asset%%"
    page = live_page(b"\x00\xff", name=name)
    assert "alert(1)</script>" not in page
    assert '<script type="text/plain" id="asset">AP8=</script>' in page
    assert page.count("<script") == page.count("</script>") == 5
    assert not re.findall(r"(?:src|href)\s*=\s*[\"'](?!data:)[^\"']", page)
    assert "import " not in re.sub(r"//.*|/\*.*?\*/", "", page, flags=re.S).split("<script>")[1]
    assert VIEWER.joinpath("steer.js").is_file()


def test_a_page_holds_the_heights_around_the_origin():
    heights = np.arange(700.0)[:, None] + np.zeros((700, 3))
    ground = Heightmap(heights, 0.5, (-1.0, -100.0), "ramp")
    page = live_page(b"", name="x", ground=ground)
    about = json.loads(re.search(r'id="scene">(.*?)</script>', page)[1])["ground"]
    # The origin is at row 200 of 700, of which 600 are kept.
    assert about == {"name": "ramp", "columns": 3, "spacing": 0.5, "origin": [-1.0, -100.0]}
    kept = re.search(r'id="ground-data">(.*?)</script>', page)[1]
    rows = np.frombuffer(base64.b64decode(kept), "<f4").reshape(-1, 3)
    np.testing.assert_array_equal(rows, heights[:600])
    away = replace(ground, origin=(-1.0, -340.0))
    page = live_page(b"", name="x", ground=away)
    about = json.loads(re.search(r'id="scene">(.*?)</script>', page)[1])["ground"]
    assert about["origin"] == [-1.0, -290.0]
