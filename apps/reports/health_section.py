"""The part of a page that says whether a phase model works."""

from __future__ import annotations

from apps.reports.page import Page
from deepphase.figures.explained_by_joint import explained_by_joint
from deepphase.figures.theme import channel_colour
from deepphase.phase.health import Health


def add_health(page: Page, health: Health | None, *, of_songs: bool = False) -> None:
    """Add the measures of a model's health, channel by channel and joint by joint.

    Of a model of songs: feature by feature.
    """
    given = "songs" if of_songs else "motion"
    if health is None:
        page.add_text(
            "This model was not measured on held-out clips.", heading="Did the training work?"
        )
        return
    if health.findings:
        page.add_text("Out of the ordinary:", heading="Did the training work?")
        page.add_list([f"{finding[:1].upper()}{finding[1:]}." for finding in health.findings])
    else:
        page.add_text(
            f"Yes, by all measures below. They are those of held-out {given}, unless there was too "
            "little to hold any out.",
            heading="Did the training work?",
        )
    page.add_table(
        ("Measure", "Value", "What it says"),
        (
            (
                "Explained variance",
                _or_none(health.explained_variance),
                f"Share of the {given} that comes back out of a few sinusoids; more is better.",
            ),
            (
                "Phase goes forward, strongest channel",
                percent(health.forward_strongest),
                "Share of the frames; a phase that grows with time is near 100 %.",
            ),
            (
                "Phase goes forward, all channels",
                percent(health.forward_share),
                "The same over all channels, weighted by amplitude.",
            ),
            (
                "Speed error",
                _or_none(health.speed_error),
                "How far the phase's speed is from its own frequency (median); less is better.",
            ),
            (
                "Frequency roughness",
                f"{health.frequency_roughness:.2f} /s",
                "Relative change of the frequency in a second (median); less is smoother.",
            ),
            ("Held-out frames", f"{health.frames:,}", "How many frames were measured."),
        ),
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
        heading="The channels",
        colours=[channel_colour(index) for index in range(len(health.channels))],
    )
    if not health.explained_by_joint:
        return
    if of_songs:
        page.add_figure(
            explained_by_joint(health.explained_by_joint, what="feature"),
            "Which features are explained",
            "How much of each feature the sinusoids give back. What comes with the beat comes out "
            "on top; harmony, and whatever changes without a rhythm, comes out low and grey.",
        )
        return
    page.add_figure(
        explained_by_joint(health.explained_by_joint),
        "Which joints are explained",
        "How much of each joint's velocity the sinusoids give back. Limbs that swing come out on "
        "top; joints that hardly move, or move without a rhythm, come out low and grey.",
    )


def _or_none(share: float | None) -> str:
    return "none" if share is None else percent(share)


def percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _band(values: tuple[float, float, float]) -> str:
    return f"{values[0]:.3g} to {values[2]:.3g}"
