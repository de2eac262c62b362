"""Tables of measures: values below frequencies stand in brackets, and JSON has each."""

from deepphase.apps.reports.measure_table import MeasureTable
from deepphase.evaluation.measured_runs import RUN_MEASURES

VALUES = {
    "jerk": 150.0,
    "jerk_ratio": 0.33,
    "jerk_ratio_below_12_hz": 0.6,
    "jerk_ratio_below_8_hz": 0.78,
    "jerk_ratio_below_4_hz": 1.0,
}


def test_a_row_has_the_bands_in_brackets():
    table = MeasureTable(
        RUN_MEASURES, [("run", VALUES), ("old", {"jerk_ratio": 0.5})], {"jerk": 454}
    )
    assert table.rows == [
        ["jerk", "m/s3", "150", "", "454"],
        ["jerk ratio (below 12, 8, 4 Hz)", "", "0.33 (0.6, 0.78, 1)", "0.5", ""],
    ]
    assert len(table.described) == 2
    assert table.described[1].endswith("; in brackets, without what is faster than 12, 8, 4 Hz")


def test_entries_have_one_for_each_band():
    entries = MeasureTable(RUN_MEASURES, [("run", VALUES)]).entries(0, 8, {"goal": "square"})
    assert [each["name"] for each in entries] == list(VALUES)
    assert entries[3]["value"] == 0.78
