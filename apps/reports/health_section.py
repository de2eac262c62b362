"""Section of a page with the health of a phase model."""

from __future__ import annotations

from deepphase.apps.reports.page import Page
from deepphase.figures.channel_joints import explained_by_joint
from deepphase.figures.theme import channel_colour
from deepphase.phase.health import Health

_HEADING = "Did the training work?"
_OF_JOINTS = (
    "Share of each joint's velocity that the sinusoids reconstruct. Swinging limbs are at the top; "
    "joints that hardly move, or move without a rhythm, are low and grey."
)
_OF_FEATURES = (
    "Share of each feature that the sinusoids reconstruct. Features that follow the beat are at "
    "the top; harmony, and features that change without a rhythm, are low and grey."
)


def add_health(page: Page, health: Health | None, *, of_songs: bool = False) -> None:
    """Add the measures of a model's health, for each channel and each joint."""
    data, part = ("songs", "feature") if of_songs else ("motion", "joint")
    if health is None:
        page.add_text("This model was not measured on held-out clips.", heading=_HEADING)
        return
    if health.findings:
        findings = [f"{finding[:1].upper()}{finding[1:]}." for finding in health.findings]
        page.add_text("There are findings:", heading=_HEADING).add_list(findings)
    else:
        page.add_text(
            f"Yes, by all measures below. They were measured on held-out {data}, or on the "
            "training data if there was too little to hold any out.",
            heading=_HEADING,
        )
    page.add_table(("Measure", "Value", "Meaning"), _rows(health, data))
    page.add_table(
        (
            *("Channel", "Frequency (Hz)", "from 5 % to 95 %", "Amplitude", "from 5 % to 95 %"),
            "In use",
        ),
        [
            (
                str(index),
                f"{channel.frequency[1]:.2f}",
                _band(channel.frequency),
                f"{channel.amplitude[1]:.3f}",
                _band(channel.amplitude),
                channel.in_use,
            )
            for index, channel in enumerate(health.channels)
        ],
        heading="Channels",
        colours=[channel_colour(index) for index in range(len(health.channels))],
    )
    if health.explained_by_joint:
        page.add_figure(
            explained_by_joint(health.explained_by_joint, what=part),
            f"Explained variance by {part}",
            _OF_FEATURES if of_songs else _OF_JOINTS,
        )


def _rows(health: Health, data: str) -> list[tuple[str, str, str]]:
    """Name, value and meaning of each measure."""

    def percent(share: float | None) -> str:
        return "none" if share is None else f"{100 * share:.1f} %"

    return [
        (
            "Explained variance",
            percent(health.explained_variance),
            f"Share of the {data} that the sinusoids reconstruct; higher is better.",
        ),
        (
            "Phase goes forward, strongest channel",
            percent(health.forward_strongest),
            "Share of frames in which the phase grows; near 100 % is good.",
        ),
        (
            "Phase goes forward, all channels",
            percent(health.forward_share),
            "The same over all channels, weighted by amplitude.",
        ),
        (
            "Speed error",
            percent(health.speed_error),
            "Relative difference of phase speed and frequency (median); lower is better.",
        ),
        (
            "Frequency roughness",
            f"{health.frequency_roughness:.2f} /s",
            "Relative change of the frequency per second (median); lower is smoother.",
        ),
        ("Held-out frames", f"{health.frames:,}", "Number of measured frames."),
    ]


def _band(values: tuple[float, float, float]) -> str:
    return f"{values[0]:.3g} to {values[2]:.3g}"
