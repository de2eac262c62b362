"""Theme of the dashboard: the figures' colours in light and dark, styles and logo."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from deepphase.figures.theme import DARK, FONT, LIGHT, channel_colour


def _colours(template: Any, accent: str) -> dict[str, str]:
    layout = template.layout
    return {
        "primaryColor": accent,
        "backgroundColor": layout.paper_bgcolor,
        "secondaryBackgroundColor": layout.scene.xaxis.backgroundcolor,
        "textColor": layout.font.color,
        "borderColor": layout.xaxis.gridcolor,
        "linkColor": accent,
        "grayTextColor": layout.xaxis.linecolor,
    }


# Settings of Streamlit.
THEME = {
    "theme.font": FONT,
    "theme.headingFont": FONT,
    "theme.baseFontSize": 15,
    "theme.baseRadius": "8px",
    "theme.showWidgetBorder": True,
    **{f"theme.light.{name}": value for name, value in _colours(LIGHT, channel_colour(0)).items()},
    **{f"theme.dark.{name}": value for name, value in _colours(DARK, channel_colour(4)).items()},
}

# Width of printed lines on A4 paper, in pixels of CSS.
_PAPER_PIXELS = 715
_STYLE = (Path(__file__).parent / "theme.css").read_text(encoding="utf-8")
# Figures of the dark theme are turned to white paper, with their hues.
_DARK_PRINT = """<style>@media print { [data-testid="stPlotlyChart"] .js-plotly-plot,
  [data-testid="stDataFrame"] { filter: invert(1) hue-rotate(180deg) brightness(1.1); } }</style>"""
# Key of a container around a table, which the table's name follows.
TABLE_KEY = "table of"
_TABLE_NAMES = f"""<script>
if (!window.deepphaseNamesTables) {{
  window.deepphaseNamesTables = true;
  const prefix = "st-key-{TABLE_KEY.replace(" ", "-")}-";
  const nameTables = () => {{
    const inside = '[class*="' + prefix + '"] :is([role="grid"], canvas, .dvn-scroller)' +
      ":not([aria-label])";
    for (const grid of document.querySelectorAll(inside)) {{
      if (grid.tagName === "DIV") grid.setAttribute("role", "group");
      const key = [...grid.closest('[class*="' + prefix + '"]').classList]
        .find((each) => each.startsWith(prefix));
      grid.setAttribute("aria-label", "Table of " + key.slice(prefix.length).replaceAll("-", " "));
    }}
  }};
  new MutationObserver(nameTables).observe(document.body, {{ childList: true, subtree: true }});
  nameTables();
}}
</script>"""
# Figures are drawn for the width that they have on the screen: paper gets that width, made smaller.
_PRINT_SIZE = f"""<script>
if (!window.deepphasePrints) {{
  window.deepphasePrints = true;
  addEventListener("beforeprint", () => {{
    const main = document.querySelector('[data-testid="stMainBlockContainer"]');
    const width = main.getBoundingClientRect().width;
    const {{ style }} = document.documentElement;
    style.setProperty("--printed-width", `${{width}}px`);
    style.setProperty("--printed-zoom", Math.min(1, {_PAPER_PIXELS} / width));
  }});
}}
</script>"""


# Logo: a ring, as periodic motion draws it on the manifold, and the name.
_RING = (
    '<circle cx="15" cy="16" r="10" fill="none" stroke="{ring}" stroke-width="4.5" '
    'stroke-linecap="round" stroke-dasharray="52 12" transform="rotate(-60 15 16)"/>'
    '<circle cx="20" cy="7.3" r="3.4" fill="{ring}"/></svg>'
)
_SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 32" width="{width}" height="32">'
)
_NAME = (
    '<text x="34" y="22" font-family="{font}" font-size="18.5" font-weight="650" fill="{ink}">'
    "deepphase</text>"
)
# The page's icon. Streamlit's own icons need the network.
ICON = (_SVG + _RING).format(width=32, ring=channel_colour(0))


def apply_theme() -> None:
    """Apply styles and logo; called once in every run of the script."""
    st.html(f"<style>{_STYLE}</style>" + (_DARK_PRINT if is_dark() else ""))
    st.html(_PRINT_SIZE + _TABLE_NAMES, unsafe_allow_javascript=True)
    ink = (DARK if is_dark() else LIGHT).layout.font.color
    ring = channel_colour(4 if is_dark() else 0)
    logo = (_SVG + _NAME + _RING).format(width=148, ring=ring, font=FONT, ink=ink)
    st.logo(logo, size="large")


def is_dark() -> bool:
    """Whether the browser shows the page in the dark theme."""
    return st.context.theme.type == "dark"
