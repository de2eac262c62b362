"""Runs at every change of a page."""

from apps.dashboard import dashboard

dashboard()
