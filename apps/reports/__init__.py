"""HTML pages that gather measurements and figures."""
