"""Phases that are computed and not learnt: what learnt phases are compared with."""
