"""`deepphase stream`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepphase.apps.terminal import note
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.apps.live.phase_stream import PhaseStream

_PORT = 8701


def command(model: Path, source: str, lag: float = 0.0, port: int | None = None) -> None:
    """Print the phases of frames as they happen, one line of JSON each, from the past alone.

    Lines of standard input and messages of a WebSocket are {"joints": ["Hips", ...]} first, then
    one list of [x, y, z] a frame, in metres, Y up, at the model's rate. There is no answer until
    a window (2 s by default) has arrived, or a third of a second for a model with a causal encoder.

    Parameters
    ----------
    model
        Phase model of motion of `deepphase train phase` or `deepphase train causal`.
    source
        A motion file, "-" for standard input, or "websocket" for a server on this machine.
    lag
        Seconds that the phases are behind the newest frame; a larger lag gives a smaller error.
    port
        Port of the WebSocket on 127.0.0.1; 8701 if not given.
    """
    from deepphase.apps.live.phase_stream import PhaseStream, stream_server
    from deepphase.phase.extractor import load_extractor
    from deepphase.phase.model import PhaseModel

    if port is not None and (source != "websocket" or not 1 <= port <= 65_535):
        raise ParameterError(
            "--port is a number from 1 to 65535, and only the source websocket has one",
            hint="leave it out, or give websocket as the source",
        )
    trained = load_extractor(model)
    if not isinstance(trained, PhaseModel):
        raise ParameterError(
            "baselines need the whole clip", hint="give a model of `deepphase train phase`"
        )
    if source == "websocket":
        stream_server(
            trained,
            _PORT if port is None else port,
            lag,
            lambda address: note(f"listening on {address}  (Ctrl-C ends it)"),
        )
        return
    stream = PhaseStream(trained, lag)
    for answer in _lines(stream) if source == "-" else _clip(stream, Path(source), trained.fps):
        print(json.dumps(answer), flush=True)


def _lines(stream: PhaseStream) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(sys.stdin, start=1):
        if not line.strip():
            continue
        try:
            answer = stream.answer(line)
        except ParameterError as error:
            raise ParameterError(f"line {number}: {error.fact}", hint=error.hint) from None
        if answer is not None:
            yield answer


def _clip(stream: PhaseStream, path: Path, fps: float) -> Iterator[dict[str, Any]]:
    from deepphase.corpus.folder_settings import settings_in
    from deepphase.formats.load import load
    from deepphase.motion.clip import Clip
    from deepphase.motion.kinematics import joint_positions
    from deepphase.motion.resample import resample

    clip = load(path, **settings_in(path.parent).reader)
    if not isinstance(clip, Clip):
        raise ParameterError(f"{path.name} has points without a skeleton: see `deepphase solve`")
    if clip.fps != fps:
        clip = resample(clip, fps)
    stream.begin(clip.skeleton.names)
    for frame in joint_positions(clip):
        answer = stream.frame(frame)
        if answer is not None:
            yield answer
