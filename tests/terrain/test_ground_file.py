"""Files of ground: what is read from them, and what is refused."""

import numpy as np
import pytest
from PIL import Image

from deepphase.errors import FormatError, ParameterError
from deepphase.terrain.ground_file import read_ground, save_ground
from deepphase.terrain.heightmap import Heightmap

HEIGHTS = np.arange(12.0).reshape(3, 4) / 10


def test_saved_ground_is_the_same(tmp_path):
    ground = Heightmap(HEIGHTS, 0.25, origin=(1.0, -3.0))
    save_ground(ground, tmp_path / "hill.npz")
    again = read_ground(tmp_path / "hill.npz")
    np.testing.assert_array_equal(again.heights, ground.heights)
    assert (again.spacing_m, again.origin, again.name) == (0.25, (1.0, -3.0), "hill")
    assert again.notes == ()


def test_holes_of_an_array_take_the_nearest_height_aloud(tmp_path):
    holed = HEIGHTS.copy()
    holed[0, 0], holed[2, 3] = np.nan, np.inf
    np.save(tmp_path / "hill.npy", holed)
    ground = read_ground(tmp_path / "hill.npy", spacing_m=2.0, height_scale=10.0)
    assert ground.heights[0, 0] in (1.0, 4.0)
    assert ground.heights[2, 3] in (10.0, 7.0)
    assert ground.heights[1, 1] == 5.0
    assert ground.origin == (-3.0, -2.0)
    assert ground.notes == ("2 holes have the height of the nearest point",)


@pytest.mark.parametrize(("kind", "white"), [(np.uint8, 255), (np.uint16, 65535)])
def test_an_image_is_lowest_where_it_is_black(tmp_path, kind, white):
    pixels = np.array([[0, white], [white // 2, white]], kind)
    Image.fromarray(pixels).save(tmp_path / "hill.png")
    ground = read_ground(tmp_path / "hill.png", height_scale=3.0)
    np.testing.assert_allclose(ground.heights, [[0, 3], [1.5, 3]], atol=0.01)
    assert "white is 3 m above black" in ground.notes
    Image.fromarray(pixels[:1, :1]).save(tmp_path / "point.png")
    assert read_ground(tmp_path / "point.png").heights.shape == (1, 1)


def test_what_is_no_ground_is_refused_with_its_file(tmp_path):
    broken = tmp_path / "cut.npz"
    save_ground(Heightmap(HEIGHTS, 0.25), broken)
    broken.write_bytes(broken.read_bytes()[:-40])
    (tmp_path / "text.png").write_text("not an image")
    (tmp_path / "empty.npy").write_bytes(b"")
    np.save(tmp_path / "words.npy", np.array([["a", "b"]]))
    np.save(tmp_path / "objects.npy", np.array([[None]], object), allow_pickle=True)
    np.save(tmp_path / "line.npy", np.zeros(5))
    np.save(tmp_path / "holes.npy", np.full((4, 4), np.nan))
    np.savez(tmp_path / "other.npz", ground=HEIGHTS)
    (tmp_path / "hill.obj").write_text("v 0 0 0")
    names = ("cut.npz", "text.png", "empty.npy", "words.npy", "objects.npy", "line.npy")
    for name in (*names, "holes.npy", "other.npz", "hill.obj", "absent.npy"):
        with pytest.raises(FormatError) as caught:
            read_ground(tmp_path / name)
        assert caught.value.path.name == name
    np.save(tmp_path / "hill.npy", HEIGHTS)
    for options in ({"spacing_m": 0.0}, {"height_scale": -1.0}, {"spacing_m": np.nan}):
        with pytest.raises(ParameterError, match=r"spacing|scale"):
            read_ground(tmp_path / "hill.npy", **options)
    with pytest.raises(FormatError, match="height of"):
        read_ground(tmp_path / "hill.npy", height_scale=1e6)
