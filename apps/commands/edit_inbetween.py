"""`deepphase edit inbetween`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from apps.options.groups import ClipOptions
from apps.terminal import note, warn
from deepphase.errors import ParameterError

if TYPE_CHECKING:
    from deepphase.editing.editor import MotionEditor
    from deepphase.editing.phase_timing import PhaseTiming
    from deepphase.motion.clip import Clip

# Agreement of phases below which the two ends hardly belong together.
_LITTLE_AGREEMENT = 0.5


def command(
    clips: list[Path],
    output: Path,
    editor: Path | None = None,
    seconds: float | None = None,
    keys: Path | None = None,
    phases: Path | None = None,
    steps: float | None = None,
    follow: bool = False,
    slide: bool = False,
    player: Path | None = None,
    reading: ClipOptions = ClipOptions(),  # noqa: B008 (frozen)
) -> None:
    """Make the motion between two clips, or between the keys of one clip.

    Parameters
    ----------
    clips
        Two motion files, of which the second follows the first; with --keys, one.
    output
        Clip to write (.bvh, .glb or .npz).
    editor
        Editor of `deepphase train editor`, of the clips' skeleton.
    seconds
        Duration from the last frame of the first clip to the first frame of the second; with
        --phases the nearest one that the phases allow.
    keys
        CSV file with a column frame, the key frames of the clip, and optionally the columns time,
        the seconds at which they stand in the result, and steps, those since the key before
        (with --phases).
    phases
        Phase model (`deepphase train phase`) that says how long the motion takes and how many steps
        lie in it.
    steps
        Number of steps between two clips, with --phases: the nearest that the phases allow.
        Without --seconds and --steps the way between the clips and their speed choose.
    follow
        Turn and move the second clip to where the path of the first leads. It stays at its place
        otherwise.
    slide
        Leave the feet as the network makes them; they are held in contacts otherwise.
    player
        Page to write (.html) that plays the result; with --keys, beside the clip.
    """
    from apps.edit_files import edited, write_edited
    from deepphase.editing.inbetween import between_keys, in_between, way_speed
    from deepphase.editing.phase_timing import (
        PhaseTiming,
        passed_cycles,
        phase_key_times,
        phase_timing,
    )
    from deepphase.editing.targets import read_keys
    from deepphase.motion.roles import find_roles
    from deepphase.phase.model import PhaseModel

    wanted = 2 if keys is None else 1
    if len(clips) != wanted:
        raise ParameterError(
            f"{len(clips)} clips, expected {wanted}",
            hint="give two clips with --seconds or --phases, or one clip with --keys",
        )
    if keys is not None and (seconds is not None or steps is not None):
        raise ParameterError(
            "--seconds and --steps are of two clips",
            hint="write times or steps of keys in the columns time and steps of --keys",
        )
    if keys is None and seconds is None and phases is None:
        raise ParameterError("give --seconds, --phases or --keys")
    named = None if keys is None else read_keys(keys)
    if phases is None and (steps is not None or (named is not None and named.steps is not None)):
        raise ParameterError("steps are counted by phases", hint="give --phases MODEL")
    model = None if phases is None else PhaseModel.load(phases)
    timings: list[PhaseTiming] = []

    def make(given: list[Clip], trained: MotionEditor) -> Clip:
        roles = find_roles(given[0].skeleton, trained.space.description, clip=given[0])
        if named is not None:
            times = named.times
            if model is not None:
                stands, found = phase_key_times(
                    given[0], named.frames, model, roles=roles, times=times, steps=named.steps
                )
                times = stands.tolist()
                timings.extend(found)
            return between_keys(given[0], named.frames, trained, times=times, feet=not slide)
        duration: float | PhaseTiming | None = seconds
        if model is not None:
            duration = phase_timing(
                given[0], given[1], model,
                roles=roles, seconds=seconds, steps=steps, follow=follow,
            )  # fmt: skip
            timings.append(duration)
        assert duration is not None
        if not follow:
            way = duration.seconds if isinstance(duration, PhaseTiming) else duration
            needed, fast = way_speed(given[0], given[1], way, trained)
            if needed > fast:
                warn(
                    f"the way between the clips takes {needed:.1f} m/s, and the training clips "
                    f"move at {fast:.1f} m/s at most: give more --seconds, or --follow"
                )
        return in_between(given[0], given[1], duration, trained, follow=follow, feet=not slide)

    given, made = edited(clips, output, editor, player, reading, "making", make)
    start = 0 if named is not None else len(given[0]) - 1
    for timing in timings:
        stop = start + round(timing.seconds * made.fps)
        _report(timing, passed_cycles(made, timing.model, timing.channel, start, stop))
        start = stop
    write_edited(given[0], made, output, player)


def _report(timing: PhaseTiming, passed: float) -> None:
    """Say what the phases decided, and what the phases of the result are."""
    steps = "no steps" if timing.steps is None else f"{timing.steps:.1f} steps"
    others = [each for each in timing.durations if each != timing.seconds]
    near = sorted(sorted(others, key=lambda each: abs(each - timing.seconds))[:2])
    also = "" if not near else f"; also allowed: {', '.join(f'{each:.2f} s' for each in near)}"
    note(
        f"{timing.seconds:.2f} s by phases: {timing.cycles:.1f} cycles, {steps}{also}; "
        f"{passed:.1f} cycles in the result"
    )
    if timing.agreement < _LITTLE_AGREEMENT:
        warn(
            f"the phases at both ends agree little ({timing.agreement:.2f} of 1): the movements "
            "differ, or are not periodic"
        )
