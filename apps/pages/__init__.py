"""The dashboard's pages, one module each: `page()` draws it. `parts` is what they share."""
