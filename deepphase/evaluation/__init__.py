"""Evaluation of phases and motions: pure functions of arrays and clips."""
