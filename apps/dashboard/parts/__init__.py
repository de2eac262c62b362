"""Parts that pages of the dashboard share."""
