"""Section of a page with the health of a phase model."""

from __future__ import annotations

from deepphase.apps.reports.page import Page
from deepphase.figures.channel_joints import explained_by_joint
from deepphase.figures.theme import channel_colour
from deepphase.phase.health import Health


def add_health(page: Page, health: Health | None, *, of_songs: bool = False) -> None:
    """Add the measures of a model's health, for each channel and each joint."""
    data = "songs" if of_songs else "motion"
    if health is None:
        page.add_text(
            "This model was not measured on held-out clips.", heading="Did the training work?"
        )
        return
    if health.findings:
        page.add_text("There are findings:", heading="Did the training work?")
        page.add_list([f"{finding[:1].upper()}{finding[1:]}." for finding in health.findings])
    else:
        page.add_text(
            f"Yes, by all measures below. They were measured on held-out {data}, or on the "
            "training data if there was too little to hold any out.",
            heading="Did the training work?",
        )
    page.add_table(
        ("Measure", "Value", "Meaning"),
        health_rows(health, data),
    )
    page.add_table(
        (
            "Channel",
            "Frequency (Hz)",
            "from 5 % to 95 %",
            "Amplitude",
            "from 5 % to 95 %",
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
    if not health.explained_by_joint:
        return
    if of_songs:
        page.add_figure(
            explained_by_joint(health.explained_by_joint, what="feature"),
            "Explained variance by feature",
            "Share of each feature that the sinusoids reconstruct. Features that follow the beat "
            "are at the top; harmony, and features that change without a rhythm, are low and grey.",
        )
        return
    page.add_figure(
        explained_by_joint(health.explained_by_joint),
        "Explained variance by joint",
        "Share of each joint's velocity that the sinusoids reconstruct. Swinging limbs are at the "
        "top; joints that hardly move, or move without a rhythm, are low and grey.",
    )


def health_rows(health: Health, data: str = "motion") -> list[tuple[str, str, str]]:
    """Name, value and meaning of each measure of a model's health."""

    def share(value: float | None) -> str:
        return "none" if value is None else percent(value)

    return [
        (
            "Explained variance",
            share(health.explained_variance),
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
            share(health.speed_error),
            "Relative difference of phase speed and frequency (median); lower is better.",
        ),
        (
            "Frequency roughness",
            f"{health.frequency_roughness:.2f} /s",
            "Relative change of the frequency per second (median); lower is smoother.",
        ),
        ("Held-out frames", f"{health.frames:,}", "Number of measured frames."),
    ]


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _band(values: tuple[float, float, float]) -> str:
    return f"{values[0]:.3g} to {values[2]:.3g}"
