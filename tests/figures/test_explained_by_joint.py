"""Bars of joints."""

from __future__ import annotations

from deepphase.figures.explained import explained_by_joint


def test_joints_are_ordered_and_named():
    chart = explained_by_joint({"Hips": 0.3, "<b>Foot": 0.9, "Tail": -0.2})
    (bars,) = chart.data
    assert list(bars.x) == [0, 30, 90]
    assert list(bars.text) == ["-20", "30", "90"]
    assert list(chart.layout.yaxis.ticktext) == ["Tail", "Hips", "&lt;b&gt;Foot"]
    assert chart.layout.xaxis.title.text == "Explained variance (%)"
    # Joints of which little is explained look different.
    assert bars.marker.color[0] == bars.marker.color[1] != bars.marker.color[2]


def test_no_joint_says_so():
    assert "no joint" in explained_by_joint({}).layout.annotations[0].text
