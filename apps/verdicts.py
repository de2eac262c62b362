"""Whether a training worked, in one sentence, by the limits of docs/health.md."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from deepphase.phase.health import Health

# Findings that say what to try are failures of the training; others are notes on it.
_WAY_OUT = "; try "
# Largest errors of a matcher's joints and of a rig's, metres, and bounds of a matcher's speed.
_MATCHER_M, _RIG_M, _SPEEDS = 0.03, 0.01, (0.75, 1.33)


def verdict(findings: Iterable[str], good: str) -> str:
    """ "It worked", or the findings that say that it did not, each with what to try."""
    failed = [each for each in findings if _WAY_OUT in each]
    return f"It did not work: {'; '.join(failed)}" if failed else f"It worked: {good}"


def phase_verdict(health: Health | None, passes: float = 1.0) -> str:
    """Of a phase model that has seen all of its data `passes` times."""
    if health is None:
        return "Whether it worked is not known: there was no motion to measure it on"
    if passes < 1.0:
        return f"It is too early to say: {100 * passes:.0f} % of the data were seen; try longer"
    explained, error = health.explained_variance, health.speed_error
    good = f"the phase goes forward in {health.forward_strongest:.0%} of the measured frames"
    if explained is not None:
        good = f"the phases explain {explained:.0%} of the motion, and {good}"
    if error is not None:
        good += f" at a speed that its frequency predicts to {error:.1%}"
    return verdict(health.findings, good)


def controller_verdict(health: Mapping[str, Any], findings: Iterable[str] = ()) -> str:
    """Of a controller, or of a dancer with the findings of its dances."""
    good = "characters stay bodies in free runs"
    if health["runs"]:
        good = (
            f"free runs stay {health['run_position_cm']:.1f} cm from clips that were held out, "
            f"where a body that does not move is {health['mean_position_cm']:.1f} cm away"
        )
    if "course" in health:
        good += (
            ", and all characters follow a course with corners and stops; a motion database of "
            "the clips answers sticks sooner (`deepphase match build`)"
        )
    return verdict([*health["findings"], *findings], good)


def matcher_verdict(health: Mapping[str, Any]) -> str:
    """Of a learned matcher."""
    apart, speed = health["pose_error_cm"], health["speed_ratio"]
    findings, more = [], "; try more --latents, or a smaller --spacing"
    if apart > 100 * _MATCHER_M:
        findings.append(f"joints are {apart:.1f} cm from the database's{more}")
    if not _SPEEDS[0] <= speed <= _SPEEDS[1]:
        findings.append(f"joints move {speed:.2f} times as fast as the database's{more}")
    return verdict(findings, f"joints are {apart:.2f} cm from the database's, and as lively")


def editor_verdict(report: Mapping[str, Any]) -> str:
    """Of an editor: it has to be nearer to held-out motion than interpolation."""
    pairs = {"missing joints": report["joints"], "a missing limb": report["limb"]}
    worse = [name for name, pair in pairs.items() if pair["editor_m"] >= pair["linear_m"]]
    more = "; try more clips, or a longer training (training.windows)"
    findings = [f"{' and '.join(worse)} are repaired no better than by interpolation{more}"]
    own, linear = (1000 * report["joints"][name] for name in ("editor_m", "linear_m"))
    good = f"missing joints are repaired to {own:.0f} mm, by interpolation to {linear:.0f} mm"
    return verdict(findings if worse else (), good)


def path_verdict(explained: float, good: str) -> str:
    """Of the networks of paths, by the share of held-out motion that they explain."""
    share = f"{100 * explained:.0f} % of held-out motion"
    findings = [f"they explain {share}, hardly more than a mean pose; try more --windows"]
    return verdict(() if explained >= 0.1 else findings, f"{good}; they explain {share}")


def rig_verdict(report: Mapping[str, Any]) -> str:
    """Of the inverse of a rig: its best method has to reach the joints."""
    error = min(each["joint_m"] for each in report["methods"].values())
    findings = [f"joints are {100 * error:.1f} cm off; try --poses with more of the body's motion"]
    good = f"the controls reach joints of held-out poses to {100 * error:.2f} cm"
    return verdict(findings if error > _RIG_M else (), good)
