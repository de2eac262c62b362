"""The script that Streamlit runs, apart from `pages`, which Streamlit would collect by itself."""
