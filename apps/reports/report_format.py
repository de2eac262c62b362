"""What report.json says that it is, on its own so that quick reports need not load networks."""

FORMAT, VERSION = "deepphase.report", 1
