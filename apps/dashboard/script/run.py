"""Script of the dashboard; Streamlit runs it at every interaction."""

from deepphase.apps.dashboard.entry import dashboard

dashboard()
