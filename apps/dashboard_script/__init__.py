"""The script that Streamlit runs: in a folder of its own, for Streamlit would take `apps/pages`
beside a script for pages in its own older way.
"""
