"""Frame rates of files: rates of rounded frame times, and which rates a capture can have."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path

import numpy as np

from deepphase.arrays import Array
from deepphase.errors import FormatError, ParameterError
from deepphase.motion.clip import FASTEST_FPS, SLOWEST_FPS, Clip, is_plausible_rate

# Notes that begin so are about values that were changed, or doubt what was read and say the way
# out: shown for every file.
CORRECTED, CHECK = "corrected: ", "check: "
# Asked of clips that move as at another rate.
ANOTHER_RATE = "is the rate {:g}? --file-fps gives another".format
_GIVE_RATE = "give the right one: fps=, or --file-fps on the command line"

# Film and video rates of NTSC: 24, 30, 60 and 120 frames in 1.001 seconds.
_NTSC_RATES = (24 / 1.001, 30 / 1.001, 60 / 1.001, 120 / 1.001)
USUAL_RATES = (24, 25, 30, 48, 50, 60, 72, 90, 100, 120, 144, 200, 240, 250)
# A frame time that is off by a thousandth is a rounded one; "0.0333" just meets this.
_TOLERANCE = 1.01e-3
# "0.033" is 1 % off 1/30, "0.016" and "0.008" are 4 % off 1/60 and 1/120: beyond that, rounding is
# not an explanation.
_ROUNDING_TOLERANCE = 0.042
# Decimals of a frame time that is not rounded.
_EXACT_DECIMALS = 18
_NO_CHANGE = 1e-9
# Frame times that are milliseconds: 5 to 500 frames a second. As seconds, they would be less than
# one frame in two seconds.
_SHORTEST_MS, _LONGEST_MS = 2.0, 200.0
# Key times are animated by hand, too: only many even ones of a usual rate are milliseconds.
_FEWEST_KEYS, _USUAL_TOLERANCE = 8, 0.01


def check_rate_option(fps: float | None) -> None:
    """Raise ParameterError if a rate is given at which no body is captured."""
    # `yes` in a YAML file is not 1.
    is_number = isinstance(fps, Real) and not isinstance(fps, bool)
    if fps is not None and not (is_number and is_plausible_rate(fps)):
        raise ParameterError(
            f"a rate of {fps} frames a second is not possible",
            hint=f"give a rate of {SLOWEST_FPS:g} to {FASTEST_FPS:,.0f}",
        )


def frame_rate(frame_time: float, decimals: int) -> float:
    """The usual or NTSC rate within .1 % of a time, or one so written; else a whole or the same."""
    rate = 1.0 / frame_time
    last_digit = 10.0**-decimals

    def is_written_so(usual: float) -> bool:
        error = 1.0 / usual - frame_time
        return -0.5001 * last_digit <= error < last_digit and (
            abs(error) <= _ROUNDING_TOLERANCE * frame_time
        )

    def nearest_of(rates: Iterable[float]) -> float | None:
        return min(map(float, rates), key=lambda usual: abs(usual - rate), default=None)

    whole = (max(round(rate), 1), *_NTSC_RATES)
    nearest = nearest_of(usual for usual in whole if abs(usual - rate) <= _TOLERANCE * usual)
    if nearest in USUAL_RATES:
        return nearest
    return nearest_of(filter(is_written_so, USUAL_RATES)) or nearest or rate


def resolve_frame_time(
    word: str, given: float | None, path: Path, line: int
) -> tuple[float, tuple[str, ...]]:
    """Frames per second of a file that states the time of a frame, perhaps in ms, and notes."""
    if given is not None:
        instead = f"{given:g} frames a second as given, instead of the file's Frame Time"
        return float(given), (f"{instead} of {word[:40]}",)
    stated = float(word)
    decimals = _EXACT_DECIMALS if "e" in word.lower() else len(word.partition(".")[2])
    usual = (abs(rate / stated - 1.0) < _TOLERANCE for rate in (*USUAL_RATES, *_NTSC_RATES))
    if _SHORTEST_MS <= stated <= _LONGEST_MS and not any(usual):
        fps = frame_rate(stated / 1000.0, decimals + 3)
        fact = f"the Frame Time, {word[:40]}, is in milliseconds"
        return fps, (f"{CORRECTED}{fact}: read as {fps:.6g} frames a second",)
    fps = frame_rate(stated, decimals) if stated > 1e-300 else np.inf
    if not is_plausible_rate(fps):
        raise FormatError(
            f"a Frame Time of {word[:40]} seconds: no body is captured at such a rate",
            hint="write the seconds from one frame to the next, as in 0.0333333; or give the rate: "
            "fps=, or --file-fps on the command line",
            path=path,
            line=line,
        )
    if abs(fps * stated - 1.0) > 1e-4:
        return fps, (f"a frame time of {word} seconds was taken for {fps:.6g} frames a second",)
    return fps, ()


def resolve_rate(
    stated: Mapping[str, float], given: float | None, path: str | Path
) -> tuple[float, tuple[str, ...]]:
    """Frames per second of a file that states its rate under several names, and notes."""
    if given is not None:
        said = ", ".join(f"{name} {value:.6g}" for name, value in stated.items())
        instead = f", instead of the file's {said}" if said else ""
        return float(given), (f"{given:g} frames a second as given{instead}",)
    if not stated:
        hint = "give it: fps=, or --file-fps on the command line"
        raise FormatError("there is no frame rate in the file", hint=hint, path=path)
    (name, rate), *others = stated.items()
    if any(abs(other - rate) > _TOLERANCE * abs(rate) for _, other in others):
        said = ", ".join(f"{name} {value:.6g}" for name, value in stated.items())
        raise FormatError(f"frame rates that differ: {said}", hint=_GIVE_RATE, path=path)
    if not is_plausible_rate(rate):
        fact = f"{name} {rate:.6g} is an impossible number of frames a second"
        raise FormatError(fact, hint=_GIVE_RATE, path=path)
    meant = frame_rate(1.0 / rate, decimals=_EXACT_DECIMALS)
    if abs(meant - rate) < _NO_CHANGE * rate:
        return meant, ()
    return meant, (f"{rate:.9g} frames a second read as {meant:.6g}",)


def are_milliseconds(key_times: Array) -> bool:
    """Whether an animation's rising key times, which should be seconds, are milliseconds."""
    if len(key_times) < _FEWEST_KEYS:
        return False
    gap = float(key_times[-1] - key_times[0]) / (len(key_times) - 1)
    if not _SHORTEST_MS <= gap <= _LONGEST_MS:
        return False
    is_usual = any(abs(1000.0 / gap / usual - 1.0) < _USUAL_TOLERANCE for usual in USUAL_RATES)
    off = np.abs(key_times - key_times[0] - gap * np.arange(len(key_times))).max()
    # Times may be rounded to whole milliseconds.
    return is_usual and bool(off <= 0.02 * gap + 1.0)


def is_warning(note: str) -> bool:
    """Whether a note is on a value that was put right, or doubts what was read."""
    return CORRECTED in note or CHECK in note


def warnings_of(clip: Clip) -> tuple[str, ...]:
    """Notes of a clip on values of its file that were put right or are in doubt."""
    return tuple(filter(is_warning, clip.source.notes))


DEFAULT_FPS = 60.0
# Slower than this, evenly spaced keys are poses between which something moves.
_SLOWEST_CAPTURE = 20.0
# Frames from a key to the next, mostly, where an exporter left out keys of a captured motion.
_MOST_GAP = 1.5
# Keys this near, in seconds, are one key that two tracks rounded differently.
_SAME_KEY = 1e-4
# How far keys may lie beside a rate's frames, as a share of a frame.
_OFF_FRAME = 0.02
_STATED_TOLERANCE = 0.01
# Digits of float32 times are not decimals: they are binary, and exact to eight or so.
_DECIMALS = 8


def sampling_rate(key_times: Sequence[Array], stated: float | None) -> tuple[float, str]:
    """Frames a second for an animation by its keys, or the file's statement, and a note on why."""
    keys = merged_times(key_times)
    if len(keys) < 2:
        return stated or DEFAULT_FPS, f"one key: {stated or DEFAULT_FPS:g} frames a second"
    frames = (keys - keys[0]) * (len(keys) - 1) / (keys[-1] - keys[0])
    rate = frame_rate((keys[-1] - keys[0]) / (len(keys) - 1), _DECIMALS)
    even = np.abs(frames - np.arange(len(keys))).max() < _tolerance(keys[-1], rate)
    if even and rate >= _SLOWEST_CAPTURE:
        if stated and abs(stated / rate - 1.0) < _STATED_TOLERANCE:
            return stated, f"{stated:.6g} frames a second, as the file says"
        return rate, f"{rate:.6g} frames a second: a key on every frame"
    fitting = [rate for rate in map(float, USUAL_RATES) if _lie_on_frames(keys, rate)]
    if stated and _lie_on_frames(keys, stated):
        return stated, f"{stated:.6g} frames a second, as the file says"
    gap = float(np.median(np.diff(keys)))
    if fitting and gap * fitting[0] < _MOST_GAP:
        return fitting[0], f"keys with gaps lie on the frames of {fitting[0]:g} a second"
    rate = next((rate for rate in fitting if rate >= DEFAULT_FPS), DEFAULT_FPS)
    if even and gap == 1.0 and len(keys) >= _FEWEST_KEYS:
        return rate, f"{CHECK}a key every second: are times numbers of frames? export seconds"
    return rate, f"keys some {gap:.3g} s apart: the file's curves are sampled at {rate:g} a second"


def merged_times(key_times: Sequence[Array]) -> Array:
    """Rising seconds of the keys of all tracks, each once."""
    keys = np.unique(np.concatenate([np.zeros(0), *key_times]))
    return keys[np.append(True, np.diff(keys) > _SAME_KEY)] if len(keys) else keys


def _tolerance(last_key: float, rate: float) -> float:
    """In frames: what exporters' arithmetic and float32 seconds may displace a key by."""
    return _OFF_FRAME + 4.0 * rate * float(np.spacing(np.float32(last_key)))


def _lie_on_frames(keys: Array, rate: float) -> bool:
    frames = (keys - keys[0]) * rate
    return bool(np.abs(frames - np.rint(frames)).max() < _tolerance(keys[-1], rate))


def frame_count(seconds: float, fps: float, last_key: float) -> int:
    """Frames from the first key to the last; a frame that rounding puts behind it counts."""
    return int(np.floor(seconds * fps + min(_tolerance(last_key, fps), 0.5))) + 1
