"""`deepphase match why`."""

from __future__ import annotations

from pathlib import Path

from apps.terminal import Outcome, note, table
from deepphase.errors import FormatError, ParameterError


def command(run: Path, time: float = 0.0, name: str | None = None) -> Outcome:
    """Show why a run of motion matching plays a moment: costs by feature, and what was rejected.

    The numbers of a feature are squared distances to the query; they add up to the square of the
    cost. player.html in the folder shows the same beside the motion.

    Parameters
    ----------
    run
        Folder of `deepphase match run`.
    time
        Time of the run in seconds; the last decision until then is shown.
    name
        Name of the run, if the folder has several.
    """
    from apps.runs.decisions import read_decision
    from apps.runs.files import DECISIONS_SUFFIX

    names = sorted(
        each.name.removesuffix(DECISIONS_SUFFIX) for each in run.glob(f"*{DECISIONS_SUFFIX}")
    )
    if not names:
        raise FormatError(
            "no decisions of a run", hint="give the folder of `deepphase match run`", path=run
        )
    if name is None and len(names) > 1:
        raise ParameterError(
            f"{len(names)} runs in {run}", hint=f"--name is one of {', '.join(names)}"
        )
    if name is not None and name not in names:
        raise ParameterError(f"no run {name!r} in {run}", hint=f"it has {', '.join(names)}")
    chosen = names[0] if name is None else name
    found = read_decision(run / f"{chosen}{DECISIONS_SUFFIX}", time)
    note(f"{chosen} at {found.time_s:.2f} s: {found.reason}")
    table(found.columns, found.rows)
    return Outcome(
        {
            "run": chosen,
            "time_s": found.time_s,
            "reason": found.reason,
            "moments": [
                dict(zip(("mark", *found.columns[1:]), row, strict=True)) for row in found.rows
            ],
        }
    )
