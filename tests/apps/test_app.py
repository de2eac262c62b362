"""`deepphase app`: what it refuses before a server starts, and what it tells the server."""

from __future__ import annotations

import socket

import pytest
from streamlit.web import bootstrap

from deepphase.apps.cli import main
from deepphase.apps.commands import app
from deepphase.apps.dashboard import entry
from deepphase.apps.dashboard.parts import collection
from deepphase.apps.dashboard.parts.folder import FOLDER_VARIABLE, look_into
from deepphase.apps.hosts import free_port
from deepphase.errors import DeepPhaseError
from deepphase.formats.load import save
from deepphase.synthetic.gait_motion import locomotion

pytestmark = pytest.mark.slow


def test_a_folder_that_is_none_is_refused(tmp_path, capsys):
    (tmp_path / "file").write_text("x")
    for path, said in (
        (tmp_path / "missing", "no such file or folder"),
        (tmp_path / "file", "not a folder"),
    ):
        assert main(["app", str(path)]) == 2
        assert said in capsys.readouterr().err


def test_a_port_that_is_taken_is_refused_or_passed_over():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(DeepPhaseError, match="is in use"):
            free_port(port, 8501)
        assert free_port(None, port) > port
    with pytest.raises(DeepPhaseError, match="--port must lie"):
        free_port(0, 8501)


def test_a_port_that_is_taken_meanwhile_is_passed_over(tmp_path, monkeypatch, capsys):
    given, first = {}, free_port(None, 8501)
    with socket.socket() as other:
        monkeypatch.setattr(
            entry, "warm_up", lambda: (other.bind(("127.0.0.1", first)), other.listen())
        )
        monkeypatch.setattr(bootstrap, "load_config_options", lambda flag_options: None)
        monkeypatch.setattr(bootstrap, "run_asgi_app", lambda *words: given.update(words[-1]))
        monkeypatch.setattr(app.signal, "signal", lambda *_: None)
        monkeypatch.setenv(FOLDER_VARIABLE, "")
        assert main(["app", str(tmp_path)]) == 0
    assert given["server_port"] > first
    assert f"open http://127.0.0.1:{given['server_port']} " in "".join(capsys.readouterr())


def test_what_is_opened_ahead_asks_no_page_and_a_store_has_its_own_name(tmp_path, monkeypatch):
    save(locomotion(1, 3.0).clip, tmp_path / "walk.bvh")
    monkeypatch.delattr(collection.st, "query_params")
    opened = collection.open_ahead(look_into(tmp_path))
    assert opened is not None
    assert opened[0].store.names == ("walk",)
    assert main(["prepare", str(tmp_path), "-o", str(tmp_path / "s.store")]) == 0
    assert [file.name for file in look_into(tmp_path / "s.store").files] == ["s.store"]


def test_the_server_listens_locally_and_sends_no_telemetry(tmp_path, monkeypatch):
    given = {}
    monkeypatch.setattr(app, "_serve", lambda settings, port, samples: given.update(settings))
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    assert main(["app", str(tmp_path)]) == 0
    assert given["server.address"] == "127.0.0.1"
    assert given["browser.gatherUsageStats"] is False
    assert given["server.maxUploadSize"] == 256
    # Names that Streamlit knows: it passes over others without a word.
    from streamlit import config

    known = config.get_config_options()
    assert not [name for name in given if name not in known]


def test_settings_of_the_working_folder_are_not_read(tmp_path, monkeypatch):
    from streamlit import config

    monkeypatch.chdir(tmp_path)
    read = []

    def load(**options):
        read.extend(config.get_config_files("config.toml"))
        raise KeyboardInterrupt

    monkeypatch.setattr(bootstrap, "load_config_options", load)
    with pytest.raises(KeyboardInterrupt):
        app._serve({}, None, None)
    assert read
    assert not [path for path in read if path.startswith(str(tmp_path))]
