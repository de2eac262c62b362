"""Skeletons with the names, axes, units and rates of many programs, of which the truth is known."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from deepphase.formats.load import load, save
from deepphase.formats.reading import metres_per_unit
from deepphase.motion import quaternions
from deepphase.motion.clip import Clip
from deepphase.motion.roles import find_roles
from deepphase.motion.skeleton import Skeleton
from deepphase.synthetic.bodies import body_named
from deepphase.synthetic.gait_motion import locomotion

PROGRAMS = yaml.safe_load(Path(__file__).with_name("programs.yaml").read_text("utf-8"))
# Joints of our bodies: trunk, leg and arm of each side; and roles of a row's joints.
_CHAINS = {
    "biped": ((1, 2, 3, 4, 6), (12, 21), (7, 16)),
    "quadruped": ((1, 2, 3, 4, 6), (16, 25), (11, 20)),
}
_LEG, _ARM = ("hip", "knee", "foot", "toe"), ("", "shoulder", "elbow", "hand")


class _Joints:
    """Joints as they are added, with the motion of a body's own."""

    def __init__(self, clip):
        self.clip, self.names, self.parents, self.offsets = clip, [], [], []
        self.turns, self.roles = [], {}

    def add(self, name, parent, offset, own=None):
        still = np.tile(quaternions.IDENTITY, (len(self.clip), 1))
        self.names.append(name)
        self.parents.append(parent)
        self.offsets.append(np.asarray(offset, float))
        self.turns.append(still if own is None else self.clip.rotations[:, own])
        return len(self.names) - 1

    def chain(self, words, parent, joints, roles):
        """The joints of a row of the table, below a parent; returns those of its words."""
        skeleton, carried, found = self.clip.skeleton, np.zeros(3), []
        for word, own, following, role in zip(
            words, joints, [*joints[1:], None], roles, strict=True
        ):
            offset = skeleton.offsets[own] + carried
            if word == "-":
                carried = offset
                continue
            way = np.array([0.0, 0.05, 0.0]) if following is None else skeleton.offsets[following]
            on_way, carried = word.split(">"), np.zeros(3)
            for place, names in enumerate(on_way):
                name, *beside = names.replace("!", "").split("+")
                step = offset if place == 0 else way / len(on_way)
                parent = self.add(name, parent, step, own if place == 0 else None)
                for number, other in enumerate(beside):
                    self.add(other, parent, 0.4 * way + [0.02 * (-1) ** number, 0.0, 0.03])
                if "!" in names or (place == 0 and "!" not in word):
                    self.roles[role] = name
            carried = -way * (len(on_way) - 1) / len(on_way)
            found.append(parent)
        return found


def made(program):
    """A walk on the skeleton of a program, and the names of the joints that have roles."""
    row = {"body": "biped", "above": "", "pelvis": "", "beside": "", "tail": "", **program}
    *sides, _, _, fps = row["file"]
    clip = locomotion(3, 2.0, turn_rate=0.3, fps=fps, body=body_named(row["body"])).clip
    parent, joints, skeleton = -1, _Joints(clip), clip.skeleton
    for name in row["above"].split(", ") if row["above"] else ():
        parent = joints.add(name, parent, np.zeros(3))
    hips = joints.add(row["hips"], parent, skeleton.offsets[0], 0)
    joints.roles["hips"] = row["hips"]
    pelvis = joints.add(row["pelvis"], hips, np.zeros(3)) if row["pelvis"] else hips
    trunk, *limbs = _CHAINS[row["body"]]
    words = row["trunk"].split(", ")
    chest = joints.chain(words, hips, trunk, ("", "", "chest", "neck", "head"))
    chest = chest[-1 - sum(word != "-" for word in words[3:])]
    for key, above, starts, roles in (
        ("leg", pelvis, limbs[0], _LEG),
        ("arm", chest, limbs[1], _ARM),
    ):
        for side, letter, start in zip(("left", "right"), sides, starts, strict=True):
            names = [word.replace("?", letter) for word in row[key].split(", ")]
            own = [f"{side}_{role}" if role else "" for role in roles]
            joints.chain(names, above, list(range(start, start + 4)), own)
    if row["tail"]:
        joints.chain(row["tail"].split(", "), hips, [7, 8, 9, 10], [""] * 4)
    for name in row["beside"].split(", ") if row["beside"] else ():
        joints.add(name, parent, np.zeros(3))
    moving = np.unique([0, hips])
    travel = np.zeros((len(clip), len(moving), 3))
    travel[:, -1] = clip.translations[:, 0]
    skeleton = Skeleton(tuple(joints.names), np.array(joints.parents), np.array(joints.offsets))
    rotations = np.stack(joints.turns, axis=1)
    joints.roles.pop("", None)
    return Clip(skeleton, rotations, travel, float(fps), moving), joints.roles


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_programs_skeleton_is_understood(program, tmp_path):
    *_, up, unit, fps = PROGRAMS[program]["file"]
    clip, roles = made(PROGRAMS[program])
    for path in (tmp_path / "walk.bvh", tmp_path / "walk.glb"):
        is_bvh = path.suffix == ".bvh"
        save(clip, path, **({"up": up, "unit": unit, "keep_names": True} if is_bvh else {}))
        read = load(path)
        found = find_roles(read.skeleton, clip=read)
        joints = {role: getattr(found, role) for role in roles}
        assert {role: read.skeleton.names[joint] for role, joint in joints.items()} == roles
        assert found.kind == PROGRAMS[program].get("body", "biped")
        assert (read.fps, read.source.up) == (fps, up if is_bvh else "y")
        assert read.source.unit_m == pytest.approx(metres_per_unit(unit) if is_bvh else 1.0)
        assert not [note for note in read.source.notes if note.startswith("check")]
