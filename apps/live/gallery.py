"""Page of a folder of characters: a picture of each in motion, its kind, and what it is."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from deepphase.apps.live.sources import runner_source
from deepphase.arrays import Array
from deepphase.formats.array_file import read_header
from deepphase.motion.kinematics import global_transforms
from deepphase.motion.limbs import subtree_mask
from deepphase.motion.roles import find_roles
from deepphase.steering.path import GroundPath
from deepphase.steering.run import rollout, start_on_path
from deepphase.viewer.actor import joints_and_tips

KINDS = {
    "deepphase.controller": "controller",
    "deepphase.motion_database": "motion matching",
    "deepphase.matcher": "learned motion matching",
}
# Seconds of the walk, and times of the poses that are drawn.
_SECONDS, _POSES_S = 3.0, (0.9, 1.4, 1.9, 2.4, 2.9)
# m/s where the data do not say how fast they travel; thickness of limbs, in heights of the body.
_SPEED, _THICK = 1.2, 0.055
# Pixels of a picture, and how far the eye looks down and from ahead, radians.
_WIDTH, _HEIGHT, _PITCH, _YAW = 360, 190, 0.16, 0.5
_STYLE = Path(__file__).with_name("gallery.css").read_text(encoding="utf-8")


def gallery_page(sources: Mapping[str, Path], opens: str, pictures: str) -> str:
    """The HTML of the page.

    Parameters
    ----------
    sources
        Name -> file.
    opens, pictures
        Addresses before the name of a character's page, and before that of its picture.
    """
    cards = "\n".join(_card(name, path, opens, pictures) for name, path in sources.items())
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src '
        "'self'; style-src 'unsafe-inline'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>Characters</title><style>{_STYLE}</style></head>'
        "<body><h1>Characters</h1><p>Choose one to steer it.</p>\n"
        f"<ul>\n{cards}\n</ul></body></html>"
    )


def _card(name: str, path: Path, opens: str, pictures: str) -> str:
    header = read_header(path)
    kind, about = KINDS[header["format"]], ", ".join(_facts(header, path))
    shown, link = html.escape(name), quote(name)
    return (
        f'<li><a href="{opens}{link}"><img src="{pictures}{link}" alt="" loading="lazy">'
        f"<div><small>{kind}</small><h2>{shown}</h2><p>{html.escape(about)}</p></div></a></li>"
    )


def _facts(header: Mapping[str, Any], path: Path) -> list[str]:
    """What a file is, by its header."""
    data, schema = header.get("data") or {}, header.get("schema") or {}
    clips = data.get("clips") or len(header.get("clips") or ())
    facts = [f"{clips} clips"] if clips else []
    frames, fps = data.get("frames"), header.get("fps") or schema.get("fps")
    if frames and fps:
        facts.append(f"{frames / fps / 60:.0f} min")
    labels = [clip.get("labels", {}).get("style") for clip in header.get("clips") or ()]
    styles = header.get("styles") or schema.get("label_values") or set(filter(None, labels))
    if len(styles) > 1:
        facts.append(f"{len(styles)} styles")
    if (header.get("config") or {}).get("schema", {}).get("ball"):
        facts.append("with a ball")
    if header.get("body", schema.get("body", {})).get("kind") == "quadruped":
        facts.append("on four legs")
    return [*facts, f"{path.stat().st_size / 1e6:.1f} MB"]


def walk_picture(path: Path) -> str:
    """An SVG of a few poses of a character that walks ahead for three seconds.

    Raises
    ------
    DeepPhaseError
        If the file cannot be steered.
    """
    source = runner_source(path)
    speed = source.travelling_speed or _SPEED
    reach = speed * (_SECONDS + 2.0)
    ahead = GroundPath(np.array([0.0, _SECONDS + 2.0]), np.array([[0.0, 0.0], [0.0, reach]]))
    runner, goals = start_on_path(source, ahead)
    clip = rollout(runner, goals, _SECONDS).clip()
    frames = [min(round(each * clip.fps), len(clip) - 1) for each in _POSES_S]
    positions, parents, _ = joints_and_tips(clip, global_transforms(clip))
    roles = find_roles(clip.skeleton, clip=clip)
    hips = roles.hips
    # Joints above the hips, as a root on the ground, are not part of the body.
    body = subtree_mask(clip.skeleton, hips)
    inside = [joint < len(body) and body[joint] for joint in range(len(parents))]
    links = [
        (above, joint)
        for joint, above in enumerate(parents.tolist())
        if above >= 0 and inside[above] and joint != hips
    ]
    return poses_svg(positions[frames], links, roles.head)


def poses_svg(poses: Array, links: Sequence[tuple[int, int]], head: int | None = None) -> str:
    """Poses seen from the side, the last one in full colour.

    Parameters
    ----------
    poses
        (poses, joints, 3) metres.
    links, head
        Pairs of joints, and the joint that a head is drawn around.
    """
    across = poses[..., 2] * np.cos(_YAW) - poses[..., 0] * np.sin(_YAW)
    depth = poses[..., 2] * np.sin(_YAW) + poses[..., 0] * np.cos(_YAW)
    up = poses[..., 1] * np.cos(_PITCH) - depth * np.sin(_PITCH)
    used = sorted({joint for link in links for joint in link})
    low, high = up[:, used].min(), up[:, used].max()
    left, right = across[:, used].min(), across[:, used].max()
    scale = min(0.86 * _WIDTH / max(right - left, 1e-6), 0.76 * _HEIGHT / max(high - low, 1e-6))
    x = _WIDTH / 2 + scale * (across - (left + right) / 2)
    y = 0.88 * _HEIGHT - scale * (up - low)
    width = _THICK * scale * float(np.ptp(up[-1, used]))
    drawn = []
    for number in range(len(poses)):
        lines = "".join(
            f"M{x[number, one]:.1f} {y[number, one]:.1f}L{x[number, other]:.1f} "
            f"{y[number, other]:.1f}"
            for one, other in links
        )
        if head is not None:
            lines += f"M{x[number, head]:.1f} {y[number, head] - 0.6 * width:.1f}h.1"
        opacity = 0.12 + 0.88 * ((number + 1) / len(poses)) ** 2
        drawn.append(f'<path d="{lines}" opacity="{opacity:.2f}"/>')
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}">'
        '<g fill="none" stroke="#4a7fa7" stroke-linecap="round" stroke-linejoin="round" '
        f'stroke-width="{width:.1f}">{"".join(drawn)}</g></svg>'
    )
