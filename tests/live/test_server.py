"""`deepphase live`: what it serves, to whom, and how it ends."""

from __future__ import annotations

import http.client
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from deepphase.apps import hosts
from deepphase.apps.cli import main
from deepphase.apps.demo import CONTROLLER
from deepphase.apps.live import server as live_server
from deepphase.apps.live import sources
from deepphase.apps.live.server import LiveServer
from deepphase.apps.live.sources import live_sources
from deepphase.formats.bvh.writer import save_bvh
from deepphase.synthetic.gait_motion import locomotion
from tests.matching.test_player import opened, walking_store


@pytest.fixture
def served(tmp_path, monkeypatch):
    """A server of a folder with two controllers; pages take their name for their asset."""
    for name in ("walk.controller", "sub/a & b.controller"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(CONTROLLER.read_bytes())
    (tmp_path / "notes.txt").write_text("no controller")
    monkeypatch.setattr(live_server, "asset_of", lambda path: path.name.encode())
    with LiveServer(0, live_sources(tmp_path), folder=tmp_path) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def ask(
    server, path: str, method: str = "GET", body: bytes | None = None, **headers: str
) -> tuple[int, str]:
    port = server.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, path, body, headers={"Host": f"localhost:{port}"} | headers)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_a_folder_is_a_page_that_leads_to_each_file(served):
    status, page = ask(served, "/")
    assert status == 200
    assert '"/open/sub/a%20%26%20b.controller"' in page
    assert '"/open/walk.controller"' in page
    assert "notes.txt" not in page
    status, page = ask(served, "/open/sub/a%20%26%20b.controller")
    assert status == 200
    assert "<title>a &amp; b</title>" in page
    assert ask(served, "/open/walk.controller", "HEAD") == (200, "")
    for path in ("/open/notes.txt", "/open/../walk.controller", "/open/", "/walk.controller"):
        assert ask(served, path)[0] == 404


def test_a_recording_is_kept_in_the_folder_and_said(served, tmp_path):
    save_bvh(locomotion(4, 1.0, gait="jog").clip, tmp_path / "jog.bvh")
    content = (tmp_path / "jog.bvh").read_bytes()
    own = {"Origin": f"http://localhost:{served.server_address[1]}"}
    for number in (1, 2):
        status, said = ask(served, "/keep/walk.controller", "POST", content, **own)
        assert status == 200
        assert said.startswith(f"kept 1.0 s as recordings/walk_{number:02d}.bvh in")
    assert (tmp_path / "recordings" / "walk_02.bvh").read_bytes() == content
    # Without an origin it could be a form of another page.
    assert ask(served, "/keep/walk.controller", "POST", content)[0] == 400
    evil = {"Origin": "http://evil.example"}
    assert ask(served, "/keep/walk.controller", "POST", content, **evil)[0] == 403
    assert ask(served, "/keep/notes.txt", "POST", content, **own)[0] == 404
    status, said = ask(served, "/keep/walk.controller", "POST", b"<html>", **own)
    assert status == 400
    assert "record it again" in said
    assert len(list((tmp_path / "recordings").iterdir())) == 2


def test_other_names_and_other_pages_are_refused(served):
    port = served.server_address[1]
    assert ask(served, "/", Host=f"evil.example:{port}")[0] == 403
    assert ask(served, "/", Host="localhost:1")[0] == 403
    assert ask(served, "/", Origin="http://evil.example")[0] == 403
    assert ask(served, "/", Origin=f"http://localhost:{port}")[0] == 200
    assert served.server_address[0] == "127.0.0.1"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET http://[ HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n", b"400"),
        (b"\xff\x00 / x\r\n\r\n", b"400"),
        (b"PUT / HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n", b"501"),
        (b"POST /keep/walk.controller HTTP/1.1\r\nHost: localhost:{port}\r\nOrigin: http://"
        b"localhost:{port}\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n", b"400"),
    ],
)  # fmt: skip
def test_what_is_no_request_gets_an_answer_and_no_traceback(served, request_, status, capsys):
    port = served.server_address[1]
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        client.sendall(request_.replace(b"{port}", str(port).encode()))
        assert status in client.makefile("rb").read()
    assert capsys.readouterr().err == ""


def test_clients_that_wait_or_leave_take_nothing_from_others(served, monkeypatch, capsys):
    clients = [socket.create_connection(served.server_address) for _ in range(60)]
    for client in clients:
        client.sendall(b"GET / HT")
    assert ask(served, "/")[0] == 200
    assert threading.active_count() < 45
    monkeypatch.setattr(live_server, "MAX_S", 0.0)
    # The server closes the connections.
    assert clients[-1].makefile("rb").read() == b""
    for client in clients:
        client.close()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_no_other_site_shows_an_answer_in_a_frame(served, method):
    port = served.server_address[1]
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request(method, "/", headers={"Host": f"localhost:{port}"})
    headers = connection.getresponse().headers
    assert headers["X-Frame-Options"] == "SAMEORIGIN"
    assert headers["Content-Security-Policy"] == "frame-ancestors 'self'"


def test_a_file_that_is_written_again_gets_a_new_page(served, tmp_path, monkeypatch):
    (tmp_path / "walk.controller").write_bytes(b"damaged")
    monkeypatch.undo()
    status, text = ask(served, "/open/walk.controller")
    assert status == 500
    assert "walk.controller" in text
    assert "Traceback" not in text


@pytest.mark.parametrize("words", [["live"], ["export", "--web", "-o", "x.html"]])
def test_a_file_that_cannot_be_steered_is_refused(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("no controller")
    assert main([*words, "notes.txt"]) == 2
    assert "not a deepphase file" in capsys.readouterr().err
    assert main([*words, "missing.controller"]) == 2
    assert "no such file" in capsys.readouterr().err
    assert not Path("x.html").exists()
    assert main([*words, "."]) == 2
    said = capsys.readouterr().err
    assert ("no file in this folder" if words == ["live"] else "this is a folder") in said


def test_a_port_that_is_taken_is_refused(capsys):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        assert main(["live", str(CONTROLLER), "--no-browser", "--port", port]) == 2
    assert f"port {port} is in use" in capsys.readouterr().err


def test_a_port_that_is_taken_meanwhile_is_passed_over(monkeypatch):
    monkeypatch.setattr(LiveServer, "serve_forever", lambda *_, **__: None)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ports = iter([taken.getsockname()[1], 0])
        monkeypatch.setattr(hosts, "free_port", lambda *_: next(ports))
        assert main(["live", str(CONTROLLER), "--no-browser"]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_cleanly(number):
    words = [sys.executable, "-u", "-m", "deepphase.apps.cli", "live", str(CONTROLLER)]
    words += ["--no-browser"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        assert process.stdout is not None
        line = process.stdout.readline().decode()
        assert "open http://127.0.0.1:" in line
        process.send_signal(number)
        said = process.stdout.read().decode()
        assert process.wait(60) == 0, said
    assert "Traceback" not in said
    assert "the page has ended" in said


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (["live", str(CONTROLLER), "--terrain", "lava"], "no ground 'lava'"),
        (["export", str(CONTROLLER), "-o", "x.onnx", "--terrain", "rocks"], "belongs to a page"),
    ],
)
def test_ground_that_a_page_cannot_have_is_refused(words, fact, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    assert fact in capsys.readouterr().err


def test_export_writes_the_page(tmp_path, capsys):
    made = tmp_path / "gaits.html"
    assert main(["export", str(CONTROLLER), "--web", "-o", str(made)]) == 0
    assert "MB" in capsys.readouterr().out
    assert made.stat().st_size < 20e6


def test_a_folder_is_examined_up_to_a_number_of_files(tmp_path, monkeypatch):
    for folder in ("a", "b", "c"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "gaits.controller").write_bytes(CONTROLLER.read_bytes())
    monkeypatch.setattr(sources, "MAX_LISTED_FILES", 2)
    assert [each.parent.name for each in sources.live_sources(tmp_path).values()] == ["a", "b"]


def test_hidden_files_and_folders_are_no_sources(tmp_path):
    for place in (".cache", "."):
        (tmp_path / place).mkdir(exist_ok=True)
        (tmp_path / place / "gaits.controller").write_bytes(CONTROLLER.read_bytes())
    (tmp_path / ".hidden.controller").write_bytes(CONTROLLER.read_bytes())
    assert list(sources.live_sources(tmp_path)) == ["gaits.controller"]


def test_without_a_file_shipped_characters_are_served(monkeypatch):
    monkeypatch.setattr(live_server, "asset_of", lambda path: path.name.encode())
    shipped = live_sources(None)
    assert list(shipped) == ["Person", "Dog"]
    with LiveServer(0, shipped) as server:
        assert "<title>Person</title>" in server.page("/")
        assert '["Dog","/open/Dog"]' in server.page("/open/Person").replace(", ", ",")
        assert "<title>Dog</title>" in server.page("/open/Dog")
        assert server.page("/open/Cat") is None


def test_a_motion_database_is_refused_with_the_way_to_a_matcher(tmp_path, monkeypatch, capsys):
    database = opened(walking_store((0.0,), seconds=4.0))[0]
    path = database.save(tmp_path / "walks.db")
    assert main(["live", str(path)]) == 2
    said = capsys.readouterr().err
    assert "not a controller or a matcher" in said
    assert "deepphase train matching" in said
