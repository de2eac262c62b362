"""Script of the dashboard; Streamlit runs it at every interaction."""

from apps.dashboard.entry import dashboard

dashboard()
