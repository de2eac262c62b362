"""Labels out of names, folders and tables; whatever is ambiguous is said with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepphase.corpus.labels import LabelledPiece, LabelPattern, read_label_table
from deepphase.errors import FormatError, ParameterError

FILES = ["walk.bvh", "a/run.bvh", "b/run.bvh", "b/dance 1.bvh"]


@pytest.mark.parametrize(
    ("pattern", "file", "expected"),
    [
        ("{style}_{gait}", "Old_FW_2.bvh", {"style": "Old", "gait": "FW_2"}),
        ("{style}_{gait}", "Old.bvh", None),
        ("{style}_{gait}", "_FW.bvh", None),
        ("{_}_{gait}", "Old_FW.bvh", {"gait": "FW"}),
        ("{_}_{gait}_{_}", "Old_FW_2_x.bvh", {"gait": "FW"}),
        ("take {n}.done", "take 3.1.done.bvh", {"n": "3.1"}),
        ("{who}/{action} {_number}", "set/anna/walk 3.bvh", {"who": "anna", "action": "walk"}),
        ("{who}/{action}", "walk.bvh", None),
        ("{all}", "a.b.bvh", {"all": "a.b"}),
        ("(+){x}[.]", "(+)1[.].bvh", {"x": "1"}),
        ("{gait}{take:d}", "walk12.bvh", {"gait": "walk", "take": "12"}),
        ("{gait}{take:d}", "walk.bvh", None),
        ("{take:d}{gait}_{_}", "12walk_x.bvh", {"take": "12", "gait": "walk"}),
        (
            "{gait}{_:d}_{who}{n:d}",
            "a1b2_subject3.bvh",
            {"gait": "a1b", "who": "subject", "n": "3"},
        ),
        ("{gait}_{n:d}", "walk_1b.bvh", None),
    ],
)
def test_names_and_patterns(pattern, file, expected):
    assert LabelPattern(pattern).labels(file) == expected


@given(st.lists(st.text("ab-1 ", min_size=1), min_size=3, max_size=3), st.text("ab_-", min_size=1))
def test_what_is_joined_by_a_pattern_is_read_by_it(values, last):
    name = "_".join([*values, last]) + ".bvh"
    read = LabelPattern("{a}_{b}_{c}_{rest}").labels(name)
    assert read == dict(zip(("a", "b", "c", "rest"), [*values, last], strict=True))


@pytest.mark.parametrize(
    "pattern",
    ["", "walk", "{a}{b}", "{a}_{a}", "{a}_{b", "a}", "{a b}", "{}", "{a:d}{b:d}", "{a:x}"],
)
def test_impossible_patterns_are_refused(pattern):
    with pytest.raises(ParameterError) as caught:
        LabelPattern(pattern)
    assert repr(pattern) in caught.value.fact
    assert "{action}" in caught.value.hint


@pytest.fixture
def table(tmp_path):
    def read(text, encoding="utf-8"):
        path = tmp_path / "labels.csv"
        path.write_bytes(text.encode(encoding))
        return read_label_table(path, FILES)

    return read


def test_files_are_named_by_path_name_or_stem(table):
    assert table("file,style,mood\nwalk,old,\na/run.bvh,young,glad\n\n dance 1.bvh , x ,y\n") == {
        "walk.bvh": [LabelledPiece({"style": "old"}, None, None, 2)],
        "a/run.bvh": [LabelledPiece({"style": "young", "mood": "glad"}, None, None, 3)],
        "b/dance 1.bvh": [LabelledPiece({"style": "x", "mood": "y"}, None, None, 5)],
    }


def test_pieces_come_by_their_start(table):
    pieces = table("file,start_s,stop_s,gait\nwalk,2,,trot\nwalk,,1,walk\nwalk,1,1.5,pace\n")
    assert [(p.start_s, p.stop_s, p.labels["gait"]) for p in pieces["walk.bvh"]] == [
        (None, 1.0, "walk"),
        (1.0, 1.5, "pace"),
        (2.0, None, "trot"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_what_spreadsheets_write(table, encoding, newline):
    text = 'file;stil;start_s;stop_s\nwalk.bvh;"müde; alt";0,5;1,25\n'.replace("\n", newline)
    (piece,) = table(text, encoding)["walk.bvh"]
    assert piece == LabelledPiece({"stil": "müde; alt"}, 0.5, 1.25, 2)
    assert table("file\tstyle\nwalk\told, slow\n")["walk.bvh"][0].labels == {"style": "old, slow"}


@pytest.mark.parametrize(
    ("text", "line", "fact"),
    [
        ("\n\n", 1, "empty"),
        ("name,style\nwalk,old\n", 1, "no column 'file'"),
        ("file\nwalk\n", 1, "no label column"),
        ("file,start_s,stop_s\nwalk,0,1\n", 1, "no label column"),
        ("file,style,style\nwalk,a,b\n", 1, "'style'"),
        ("file,style,\nwalk,a,b\n", 1, "has no name"),
        ("file,style\nwalk,old\nwalks,old\n", 3, "no file 'walks'"),
        ("file,style\nrun,old\n", 2, "a/run.bvh or b/run.bvh"),
        ("file,style\nwalk,old,5\n", 2, "3 cells under 2"),
        ("file,style,start_s\nwalk,old,soon\n", 2, "'soon' is not a number"),
        ("file,style,start_s\nwalk,old,-1\n", 2, "'-1'"),
        ("file,style,start_s\nwalk,old,nan\n", 2, "'nan'"),
        ("file,style,start_s,stop_s\nwalk,old,2,1\n", 2, "not after its start"),
        ("file,style,start_s,stop_s\nwalk,old,0,0\n", 2, "not after its start"),
        ("file,style,start_s,stop_s\nwalk,old,0,2\nwalk,x,1.5,3\n", 3, "overlaps"),
        ("file,style,start_s,stop_s\nwalk,old,2,\nwalk,x,,3\n", 3, "line 2"),
        ("file,style\nwalk,old\nwalk,young\n", 3, "overlaps"),
        ('file,style\nwalk,"old\n', 2, "not a CSV row"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(table, text, line, fact):
    with pytest.raises(FormatError) as caught:
        table(text)
    assert fact in caught.value.fact
    assert caught.value.line == line
    assert caught.value.path.name == "labels.csv"
    assert caught.value.hint


def test_the_table_of_a_large_set_labels_the_files_that_are_there(tmp_path):
    pyarrow = pytest.importorskip("pyarrow", reason="the extra `app` is not installed")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table(
        {
            "actor": ["anna", "ben", None, "anna"],
            "move_name": ["walk", "not_here", "a/run", "b/run.bvh"],
            "take": [1, 2, 3, 4],
            "is_mirror": [False, False, True, False],
            "start_s": [0.5, None, None, 1.0],
            "duration": [1.5, 2.5, 3.5, 4.5],
            "embedding": [[0.1], [0.2], [0.3], [0.4]],
        }
    )
    path = tmp_path / "metadata.parquet"
    parquet.write_table(table, path)
    read = read_label_table(path, FILES)
    assert read == {
        "walk.bvh": [
            LabelledPiece({"actor": "anna", "take": "1", "is_mirror": "False"}, 0.5, None, 2)
        ],
        "a/run.bvh": [LabelledPiece({"take": "3", "is_mirror": "True"}, None, None, 4)],
        "b/run.bvh": [
            LabelledPiece({"actor": "anna", "take": "4", "is_mirror": "False"}, 1.0, None, 5)
        ],
    }
    with pytest.raises(FormatError, match="no column names a file"):
        read_label_table(path, ["other.bvh"])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError, match="cannot be read"):
        read_label_table(path, FILES)
