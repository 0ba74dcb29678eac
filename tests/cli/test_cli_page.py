"""rayrelief report and view."""

from __future__ import annotations

import numpy as np

from rayrelief.io.images import write_png


def test_a_page_about_a_run(run, sphere, out, tmp_path):
    assert run("integrate", sphere, "-o", out).code == 0
    ended = run("report", out, out, "-o", tmp_path / "page.html")
    assert ended.code == 0
    assert "page.html" in ended.out
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count('"method: rounds"') == 2
    assert text.count('"positions"') == 2


def test_a_folder_without_results(run, sphere, tmp_path):
    assert "integrate" in run("report", sphere, "-o", tmp_path / "page.html").error()


def test_a_page_replaces_nothing_of_a_run(run, sphere, out):
    assert run("integrate", sphere, "-o", out).code == 0
    before = (out / "report.json").read_bytes()
    assert ".html" in run("report", out, "-o", out / "report.json").error()
    (out / "page.html").symlink_to("report.json")
    assert "is read by this run" in run("report", out, "-o", out / "page.html").error()
    assert (out / "report.json").read_bytes() == before


def test_a_photo_of_another_view_is_refused_before_a_page_opens(run, sphere, out, tmp_path):
    assert run("integrate", sphere, "-o", out).code == 0
    write_png(tmp_path / "square.png", np.zeros((30, 30, 3), np.uint8))
    ended = run("view", out, "--photo", tmp_path / "square.png", "--no-open")
    assert "a picture of 30x30 pixels for a map of" in ended.error()
