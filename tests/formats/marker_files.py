"""Files of marker systems by the public descriptions of their formats."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from deepphase.motion.clip import Clip, global_transforms, joint_positions
from deepphase.motion.orientation import rotate_from_y_up


def markers_of(clip: Clip, up: str = "z", unit_m: float = 0.001) -> np.ndarray:
    """(frames, joints, 3) joint positions in a unit and with an up axis."""
    return joint_positions(rotate_from_y_up(clip, up)).astype(np.float64) / unit_m


def c3d_bytes(
    positions: np.ndarray,
    labels: Sequence[str],
    *,
    processor: int = 84,
    scale: float = -1.0,
    analog: int = 0,
) -> bytes:
    """A C3D file; NaN is a marker that is not seen. `scale` above 0 stores whole numbers."""
    order = ">" if processor == 86 else "<"
    frames, points = positions.shape[:2]

    def real(value) -> bytes:
        if processor != 85:
            return struct.pack(f"{order}f", value)
        bits = struct.pack("<f", 4.0 * value)
        return bits[2:] + bits[:2]

    def chunk(name: str, number: int, body: bytes) -> bytes:
        head = struct.pack("bb", len(name), number) + name.encode()
        return head + struct.pack(f"{order}h", len(body) + 2) + body

    def texts(name: str, values: Sequence[str]) -> bytes:
        length = max(map(len, values))
        data = "".join(value.ljust(length) for value in values).encode()
        return chunk(name, 1, bytes([255, 2, length, len(values)]) + data + b"\0")

    def number(name: str, value: float) -> bytes:
        return chunk(name, 1, bytes([4, 0]) + real(value) + b"\0")

    def count(name: str, value: int) -> bytes:
        return chunk(name, 1, bytes([2, 0]) + struct.pack(f"{order}H", value) + b"\0")

    parameters = chunk("POINT", -1, b"\0") + number("RATE", 100.0) + texts("UNITS", ["mm"])
    parameters += count("USED", points) + count("FRAMES", min(frames, 65535))
    parameters += number("SCALE", scale)
    for start in range(0, len(labels), 255):
        name = "LABELS" if start == 0 else f"LABELS{start // 255 + 1}"
        parameters += texts(name, labels[start : start + 255])
    blocks = -(-(len(parameters) + 6) // 512)
    section = (bytes([1, 80, blocks, processor]) + parameters).ljust(512 * blocks, b"\0")
    header = bytes([2, 80]) + struct.pack(f"{order}5H", points, analog, 1, min(frames, 65535), 10)
    header += real(scale) + struct.pack(f"{order}2H", 2 + blocks, 1) + real(100.0)
    seen = np.isfinite(positions[..., 0])
    values = np.concatenate(
        [np.nan_to_num(positions / abs(scale)), np.where(seen, 0.0, -1.0)[..., None]], axis=-1
    ).reshape(frames, -1)
    values = np.concatenate([values, np.zeros((frames, analog))], axis=1)
    if scale > 0:
        data = np.rint(values).astype(f"{order}i2").tobytes()
    elif processor == 85:
        bits = (4.0 * values).astype("<f4").view("<u2").reshape(-1, 2)[:, ::-1]
        data = bits.tobytes()
    else:
        data = values.astype(f"{order}f4").tobytes()
    return header.ljust(512, b"\0") + section + data


def trc_text(positions: np.ndarray, labels: Sequence[str], rate: float = 100.0) -> str:
    """A TRC file in millimetres; NaN is an empty cell."""
    count = len(labels)
    lines = [
        "PathFileType\t4\t(X/Y/Z)\twalk.trc",
        "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame",
        f"{rate}\t{rate}\t{len(positions)}\t{count}\tmm\t{rate}\t1",
        "Frame#\tTime\t" + "\t\t\t".join(labels) + "\t\t",
        "\t\t" + "\t".join(f"X{n}\tY{n}\tZ{n}" for n in range(1, count + 1)),
        "",
    ]
    for frame, row in enumerate(positions.reshape(len(positions), -1)):
        cells = ["" if np.isnan(value) else f"{value:.6f}" for value in row]
        lines.append("\t".join([str(frame + 1), f"{frame / rate:.5f}", *cells]))
    return "\r\n".join(lines) + "\r\n"


def motive_text(positions: np.ndarray, labels: Sequence[str], rate: float = 100.0) -> str:
    """A CSV export of Motive in metres, with a rigid body between the markers."""
    body = 7
    kinds = ["Rigid Body"] * body + ["Marker"] * (3 * len(labels))
    names = ["Prop"] * body + [f"Body:{label}" for label in labels for _ in range(3)]
    parts = ["Rotation"] * 4 + ["Position"] * 3 + ["Position"] * (3 * len(labels))
    axes = [*"XYZW", *"XYZ", *("XYZ" * len(labels))]
    lines = [
        f"Format Version,1.23,Take Name,walk,Capture Frame Rate,{rate:.6f},Export Frame Rate,"
        f"{rate:.6f},Capture Start Time,2024-01-01 12.00.00 PM,Rotation Type,Quaternion,"
        "Total Exported Frames,9,Length Units,Meters,Coordinate Space,Global",
        "",
        ",".join(["", "Type", *kinds]),
        ",".join(["", "Name", *names]),
        ",".join(["", "ID", *("0" for _ in names)]),
        ",".join(["", "", *parts]),
        ",".join(["Frame", "Time (Seconds)", *axes]),
    ]
    for frame, row in enumerate(positions.reshape(len(positions), -1)):
        cells = ["" if np.isnan(value) else f"{value:.6f}" for value in row]
        prop = ["0", "0", "0", "1", "0", "0", "0"]
        lines.append(",".join([str(frame), f"{frame / rate:.6f}", *prop, *cells]))
    return "\n".join(lines) + "\n"


def mvnx_text(clip: Clip, extra: str = "") -> str:
    """An MVNX file of a clip: Z up, metres, orientations with w first."""
    world, positions = global_transforms(rotate_from_y_up(clip, "z"))
    names, parents = clip.skeleton.names, clip.skeleton.parents
    segments = "".join(f'<segment label="{n}" id="{i + 1}"/>' for i, n in enumerate(names))
    joints = "".join(
        f'<joint label="j{n}"><connector1>{names[parents[i]]}/j{n}</connector1>'
        f"<connector2>{n}/j{n}</connector2></joint>"
        for i, n in enumerate(names)
        if parents[i] >= 0
    )

    def frame(index: int, kind: str) -> str:
        turns = " ".join(f"{value:.8f}" for value in np.roll(world[index], 1, -1).ravel())
        places = " ".join(f"{value:.8f}" for value in positions[index].ravel())
        return (
            f'<frame time="{10 * index}" index="{index}" type="{kind}">\n'
            f"<orientation>{turns}</orientation>\n<position>{places}</position></frame>\n"
        )

    frames = frame(0, "tpose") + "".join(frame(index, "normal") for index in range(len(clip)))
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{extra}<mvnx version="4" '
        'xmlns="http://www.xsens.com/mvn/mvnx"><subject label="A" '
        f'frameRate="{clip.fps:g}"><segments>{segments}</segments><joints>{joints}</joints>'
        f"<frames>{frames}</frames></subject></mvnx>\n"
    )
