"""Runs at every change of a page."""

from apps.dashboard.entry import dashboard

dashboard()
