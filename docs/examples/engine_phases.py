"""Phases of a clip from an exported phase model, by docs/engines.md: NumPy and ONNX Runtime."""

import json

import numpy as np
import onnxruntime


def gaussian(sigma):
    """Normalised kernel of a Gaussian, cut off at four standard deviations."""
    radius = int(4.0 * sigma + 0.5)
    kernel = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    return kernel / kernel.sum()


def smoothed(values, sigma, **padding):
    """(frames, columns) convolved over time with a Gaussian; the ends are padded as given."""
    kernel = gaussian(sigma)
    whole = np.pad(values, ((len(kernel) // 2,) * 2, (0, 0)), **padding)
    return np.stack([np.convolve(column, kernel, "valid") for column in whole.T], axis=1)


def facing_vectors(positions, names, body):
    """(frames, 3) vectors on the ground or nearly so, whose direction is the facing."""
    at = {role: positions[:, names.index(name)] for role, name in body.items() if role != "kind"}
    up = np.array([0.0, 1.0, 0.0])
    lines = [at[f"left_{part}"] - at[f"right_{part}"] for part in ("hip", "shoulder")]
    across = np.cross((lines[0] + lines[1]) / 2, up)
    if body["kind"] != "quadruped":
        return across
    middles = [(at[f"left_{part}"] + at[f"right_{part}"]) / 2 for part in ("hip", "shoulder")]
    return (middles[1] - middles[0]) * [1.0, 0.0, 1.0] + across


def facing_angles(facing, fps, smoothing_s):
    """(frames,) radians from +Z towards +X, continuous and smoothed."""
    frames = np.arange(len(facing))
    facing = smoothed(facing, smoothing_s[0] * fps, mode="edge")
    weights = np.linalg.norm(facing, axis=1)
    defined = np.flatnonzero(weights > 0.01 * weights.max())
    angles = np.unwrap(np.arctan2(facing[defined, 0], facing[defined, 2]))
    angles = np.interp(frames, defined, angles)
    kernel = gaussian(smoothing_s[1] * fps)
    margin = len(kernel) // 2
    angles = np.pad(angles, margin, mode="reflect", reflect_type="odd")
    weights = np.pad(np.maximum(weights, 1e-6 * weights.max()), margin, mode="reflect")
    sums = [np.convolve(each, kernel, "valid") for each in (weights * angles, weights)]
    return sums[0] / sums[1]


def signals_of(positions, names, metadata):
    """(frames, 3 * joints) m/s: world velocities of the model's joints, in root axes."""
    fps, body = float(metadata["fps"]), json.loads(metadata["facing"])
    facing = facing_vectors(positions, names, body)
    angles = facing_angles(facing, fps, json.loads(metadata["facing_smoothing_s"]))
    joints = [each.rpartition(".")[0] for each in json.loads(metadata["signals"])[::3]]
    picked = positions[:, [names.index(joint) for joint in joints]]
    velocities = np.gradient(picked, axis=0, edge_order=2) * fps
    sine, cosine = np.sin(angles)[:, None], np.cos(angles)[:, None]
    x, y, z = np.moveaxis(velocities, -1, 0)
    turned = np.stack([cosine * x - sine * z, y, sine * x + cosine * z], axis=-1)
    return turned.reshape(len(positions), -1).astype(np.float32)


def phases_of(path, positions, names):
    """Phase, frequency, amplitude and offset of every frame of at least a window.

    Name -> (frames, channels). `positions` is (frames, joints, 3) in metres, Y up, at the model's
    rate; `names` are the joints.
    """
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    metadata = session.get_modelmeta().custom_metadata_map
    window = int(metadata["window_frames"])
    signals = signals_of(np.asarray(positions, np.float64), list(names), metadata)
    windows = np.lib.stride_tricks.sliding_window_view(signals, window, axis=0)
    outputs = [each.name for each in session.get_outputs()]
    parts = []
    for start in range(0, len(windows), 256):
        rows = np.ascontiguousarray(windows[start : start + 256])
        parts.append(session.run(outputs, {"velocities": rows}))
    joined = (np.concatenate(values) for values in zip(*parts, strict=True))
    whole = dict(zip(outputs, joined, strict=True))
    # Near the ends, the nearest whole window's, advanced.
    frames = np.arange(len(signals))
    nearest = np.clip(frames - window // 2, 0, len(windows) - 1)
    found = {name: values[nearest] for name, values in whole.items()}
    seconds = (frames - window // 2 - nearest)[:, None] / float(metadata["fps"])
    turns = found["phase"] + found["frequency"] * seconds
    found["phase"] = turns - np.floor(turns + 0.5)
    return found
