"""Names of joints: the side and the part of the body that each stands for."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

_WORDS = re.compile(r"[LR](?=[UF]Arm)|[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_LEFT = {"left", "l", "lft", "lf", "lt"}
_RIGHT = {"right", "r", "rgt", "rt"}
_CENTRE = {"c", "m", "center", "centre", "bip"}
# Corner letters as in "FL_thigh": used only if the names have at least a front pair.
_CORNERS = {
    f"{end}{letter}": (side, "fore" if end == "f" else "hind")
    for end in "fhbr"
    for letter, side in (("l", "left"), ("r", "right"))
}
_FORE = {"fore", "front"}
_HIND = {"hind", "rear", "back"}
# Helper joints of a rig, and ends of chains: they have no role.
_RIGGING = {"twist", "roll", "ik", "fk", "pole", "ctrl", "nub", "end", "helper", "target", "tip"}

# First match wins; searched in the name's words joined together, without its side.
_PARTS = tuple(
    (part, re.compile(pattern))
    for part, pattern in (
        ("toe", r"toe|ball|footindex|phalan|digit"),
        ("metatarsal", r"metatars"),
        ("finger", r"thumb|index|middle|(^|hand)(mid|ring)|pinky|little|finger|carpal|^prop"),
        ("collar", r"collar|clavicle|scapula"),
        ("leg root", r"hipjoint|buttock|glute"),
        ("upper leg", r"upleg|upperleg|legupper|thigh|femur"),
        ("knee", r"lowleg|lowerleg|leglower|shin|shank|calf|tibia|knee|stifle|crus"),
        ("ankle", r"ankle|hock|tarsus"),
        ("foot", r"foot|paw|hoof|feet|fetlock"),
        ("leg", r"leg"),
        ("elbow", r"forearm|lowerarm|armlower|lowarm|^farm|^larm|elbow|radius|ulna"),
        ("upper arm", r"upperarm|armupper|uparm|^uarm|humerus|shldr"),
        ("wrist", r"wrist|carpus"),
        ("hand", r"hand"),
        ("arm", r"arm"),
        ("shoulder", r"shoulder"),
        ("tail", r"tail"),
        ("hips", r"^hips?$|pelvis|spinebase|^hips?center|^midhip|^hiproot"),
        ("hip", r"hip"),
        ("neck", r"neck"),
        ("head", r"^head$|^head\d*$|skull|^headbase"),
        ("chest", r"chest|thorax|upperback|ribcage"),
        ("spine", r"spine|abdomen|lowerback|waist|torso|belly|lumbar|^back"),
    )
)
# A side of one letter without a separator counts only before one of these words.
_GLUED = re.compile(
    r"(?:hip|hipjoint|thigh|femur|(?:up|upper|low|lower)?leg|knee|shin|calf|tibia|ankle|foot|toes?|"
    r"toebase|collar|clavicle|shoulder|shldr|(?:up|upper|fore|low|lower)?arm|humerus|elbow|"
    r"radius|ulna|wrist|hand|fingers?|thumb|buttock|eye|paw)"
)


@dataclass(frozen=True)
class JointName:
    """The parts of one joint name."""

    side: str  # "left", "right" or ""
    part: str  # Part of the body ("upper leg", "knee", "hips", "tail", ...); "" if it is not known
    key: str
    quarter: str = ""  # "fore" or "hind" if the name states which legs of a quadruped, else ""


# Files of one folder mostly have the same names; all callers share the list.
@lru_cache(maxsize=128)
def parse_names(names: tuple[str, ...]) -> list[JointName]:
    """Parse all joint names of a skeleton together, so that common prefixes are recognized.

    Covers the conventions of the usual sources: namespaces ("mixamorig:LeftUpLeg"), prefixes common
    to all joints ("Bip01 L Thigh", "Character1_LeftLeg"), sides as word, letter, prefix or suffix
    in camel case, snake case or neither ("lThigh", "LHipJoint", "hand_l", "Foot.R", "rfemur").
    """
    split = [
        [part for word in _WORDS.findall(re.split(r"[:|/]", name)[-1]) for part in _unglued(word)]
        for name in names
    ]
    # "Bip01 L Thigh" and "Character1_Hips" begin with the character's name, at times in two words.
    while len(split) >= 4:
        first, count = Counter(words[0] if words else "" for words in split).most_common(1)[0]
        if first == "" or first in _LEFT | _RIGHT or count < 0.8 * len(split):
            break
        split = [words[1:] if words and words[0] == first else words for words in split]
    used = {word for words in split for word in words}
    corners = _CORNERS if {"fl", "fr"} <= used else {}
    return [_parse(words, corners) for words in split]


def _unglued(word: str) -> list[str]:
    """The words of "lThigh", "handleft", "hindleg" and "foot", in lower case."""
    word = word.lower()
    for side in ("left", "right"):
        if word.startswith(side) and len(word) > len(side):
            return [side, word[len(side) :]]
        if word.endswith(side) and len(word) > len(side):
            return [word[: -len(side)], side]
    glued = re.fullmatch(r"(front|fore|hind|rear|l|r)(.+)", word)
    if glued and word != "forearm" and _GLUED.fullmatch(glued[2]):
        return [glued[1], glued[2]]
    return [word]


def _parse(words: list[str], corners: dict[str, tuple[str, str]]) -> JointName:
    side, quarter = "", ""
    rest: list[str] = []
    for word, following in zip(words, [*words[1:], ""], strict=False):
        # "L5" and "L3" are lumbar vertebrae.
        vertebra = word == "l" and following.isdigit() and len(words) == 2
        if not side and word in _LEFT and not vertebra:
            side = "left"
        elif not side and word in _RIGHT:
            side = "right"
        elif not side and word in corners:
            side, quarter = corners[word]
        elif word in _FORE and following != "arm":
            quarter = "fore"
        elif word not in _CENTRE:
            rest.append(word)
    if side and not quarter and _HIND & set(rest):
        quarter = "hind"
        rest = [word for word in rest if word not in _HIND]
    key = " ".join([*rest, quarter])
    if _RIGGING & set(rest):
        return JointName(side, "", key, quarter)
    joined = "".join(word for word in rest if not word.isdigit())
    part = next((part for part, pattern in _PARTS if pattern.search(joined)), "")
    if not side and part == "hip":
        part = "hips"
    elif side and part == "hips":
        part = "hip" if joined.startswith("hip") else ""
    elif not side and re.fullmatch(r"[lt]\d+", "".join(words)):
        part = "spine"
    return JointName(side, part, key, quarter)
