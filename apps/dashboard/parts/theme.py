"""Theme of the dashboard: the figures' colours in light and dark, styles and logo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import streamlit as st
from PIL import Image
from streamlit.delta_generator import DeltaGenerator

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
# Styles without a setting in Streamlit: margins, line lengths, borders and narrow windows.
_STYLE = """<style>
[data-testid="stMainBlockContainer"] { padding: 2.6rem 2.2rem 3rem; max-width: 1680px; }
[data-testid="stHeader"] { height: 2.6rem; min-height: 2.6rem; background: transparent; }
[data-testid="stSidebarHeader"] { margin-bottom: 0; }
h1 { font-size: 1.65rem !important; font-weight: 650 !important; padding: 0 !important; }
h2 { font-size: 1.2rem !important; font-weight: 650 !important; padding: 0.6rem 0 0 !important; }
h3 { font-size: 1.02rem !important; font-weight: 650 !important; padding: 0.2rem 0 0 !important; }
[data-testid="stMainBlockContainer"] [data-testid="stMarkdownContainer"] p { max-width: 108ch; }
[data-testid="stButtonGroup"] [role="radiogroup"] { flex-wrap: wrap; row-gap: 4px; }
[data-testid="stButtonGroup"] button { padding: 0.2rem 0.62rem; }
iframe[data-testid="stIFrame"] { border: 1px solid rgba(133, 137, 143, 0.28); border-radius: 10px; }
/* Frames of players are as high as their content. */
[data-testid="stElementContainer"]:has(> iframe[data-testid="stIFrame"]) { height: auto !important;
  flex: none !important; }
iframe[data-testid="stIFrame"] { display: block; }
/* What stays beside a longer column stays in view with it. */
[data-testid="stLayoutWrapper"]:has(> .st-key-stays) { position: sticky; top: 3rem; }
/* Scripts take no line of the page. */
[data-testid="stElementContainer"]:has(> [data-testid="stHtml"] script) { display: none; }
[data-testid="stPlotlyChart"] { position: relative; }
[data-testid="stPlotlyChart"]::after { content: ""; position: absolute; inset: 0;
  border: 1px solid rgba(133, 137, 143, 0.28); border-radius: 10px; pointer-events: none; }
/* Numbers and their names are never cut: they wrap. */
[data-testid="stMetricValue"] { font-size: 1.5rem; }
[data-testid="stMetricValue"] > div, [data-testid="stMetricLabel"] p { white-space: normal; }
[data-testid="stMetricDelta"] > div { white-space: normal; }
/* What has the focus shows it, links and the scrolled page as well. */
[data-testid="stSidebarNavLink"]:focus-visible, [data-testid="stMain"]:focus-visible,
[data-testid="stSidebarContent"]:focus-visible, summary:focus-visible, a:focus-visible,
[data-testid="stMain"] :is([data-baseweb="base-input"], [data-testid="stNumberInputContainer"],
  [data-testid="stTextInputRootElement"]):focus-within,
[data-testid="stDataFrame"]:focus-within {
  outline: 2px solid var(--st-primary-color, #0072b2) !important; outline-offset: -2px; }
/* Columns with figures are stacked before they become too narrow to read. */
@media screen and (max-width: 1100px) {
  [class*="st-key-wide"] > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"],
  [class*="st-key-wide"] > [data-testid="stHorizontalBlock"] { flex-direction: column; }
  [class*="st-key-wide"] > [data-testid="stLayoutWrapper"] > [data-testid="stHorizontalBlock"]
    > [data-testid="stColumn"],
  [class*="st-key-wide"] > [data-testid="stHorizontalBlock"] > [data-testid="stColumn"] {
    width: 100%; min-width: 100%; flex: 1 1 auto; }
  [data-testid="stHorizontalBlock"] { flex-wrap: wrap; }
  [data-testid="stColumn"] { min-width: 9.4rem; }
}
@media screen and (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 2.6rem 1rem 2rem; }
}
/* A printed page is the one on the screen, made to fit, on white paper and without what can only be
   clicked. */
@media print {
  @page { size: A4; margin: 10mm; }
  [data-testid="stSidebar"], [data-testid="stHeader"], [data-testid="stToolbar"],
  [data-testid="stDownloadButton"], [data-testid="stFileUploader"], [data-testid="stStatusWidget"],
  [data-testid="stExpandSidebarButton"], [data-testid="stElementToolbar"], .modebar,
  [data-testid="stButton"], [data-testid="stTooltipIcon"] { display: none !important; }
  html, body, #root, .stApp, [data-testid="stAppViewContainer"], [data-testid="stMain"] {
    display: block !important; position: static !important; height: auto !important;
    overflow: visible !important; background: #ffffff !important; }
  [data-testid="stMainBlockContainer"] { width: var(--printed-width, auto) !important;
    max-width: none; zoom: var(--printed-zoom, 1); }
  [data-testid="stMain"] *:not(svg, svg *, canvas, iframe) { color: #1b1f24 !important; }
  [data-testid="stMain"] :is(button, input, [data-baseweb] > div, [data-testid="stAlert"] *) {
    background: #ffffff !important; }
  [data-testid="stMainBlockContainer"], [data-testid="stMainBlockContainer"] > div,
  [data-testid="stMainBlockContainer"] > div > [data-testid="stVerticalBlock"] {
    display: block !important; padding-top: 0; }
  [data-testid="stMainBlockContainer"] [data-testid="stElementContainer"] { margin-bottom: 0.7rem; }
  iframe, [data-testid="stPlotlyChart"], [data-testid="stMetric"], [class*="st-key-wide"],
  [data-testid="stHorizontalBlock"] { break-inside: avoid; }
  h1, h2, h3 { break-after: avoid; }
}
</style>"""
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
_MARK = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 148 32" width="148" height="32">'
    '<circle cx="15" cy="16" r="10" fill="none" stroke="{ring}" stroke-width="4.5" '
    'stroke-linecap="round" stroke-dasharray="52 12" transform="rotate(-60 15 16)"/>'
    '<circle cx="20" cy="7.3" r="3.4" fill="{ring}"/>'
    '<text x="34" y="22" font-family="{font}" font-size="18.5" font-weight="650" '
    'fill="{ink}">deepphase</text></svg>'
)


@st.cache_resource(show_spinner=False)
def icon() -> Image.Image:
    """The page's icon: one cycle of phase as a ring. Streamlit's own icons need the network."""
    side = 64
    across, down = np.meshgrid(*[np.linspace(-1, 1, side)] * 2)
    radius, turns = np.hypot(across, down), np.arctan2(across, -down) / (2 * np.pi) % 1.0
    colours = [channel_colour(0), channel_colour(4)]
    ends = np.array([[int(each[at : at + 2], 16) for at in (1, 3, 5)] for each in colours])
    drawn = np.zeros((side, side, 4), np.uint8)
    drawn[..., :3] = ends[0] + (ends[1] - ends[0]) * turns[..., None]
    drawn[..., 3] = 255 * np.clip((0.22 - np.abs(radius - 0.7)) * side / 2, 0, 1)
    return Image.fromarray(drawn)


def apply_theme() -> None:
    """Apply styles and logo; called once in every run of the script."""
    st.html(_STYLE + (_DARK_PRINT if is_dark() else ""))
    st.html(_PRINT_SIZE + _TABLE_NAMES, unsafe_allow_javascript=True)
    ink = (DARK if is_dark() else LIGHT).layout.font.color
    st.logo(
        _MARK.format(ink=ink, ring=channel_colour(4 if is_dark() else 0), font=FONT), size="large"
    )


def wide_columns(key: str, spec: int | Sequence[float]) -> list[DeltaGenerator]:
    """Columns for figures, stacked in narrow windows; `key` is unique on the page."""
    return st.container(key=f"wide-{key}").columns(spec, gap="medium")


def is_dark() -> bool:
    """Whether the browser shows the page in the dark theme."""
    return st.context.theme.type == "dark"


def heading(title: str, words: str = "") -> None:
    """Draw the title of a page and a short introduction."""
    st.title(title, anchor=False)
    if words:
        st.markdown(f":gray[{words}]")
