"""The script that Streamlit runs. Beside `pages`, Streamlit would collect those modules itself."""
