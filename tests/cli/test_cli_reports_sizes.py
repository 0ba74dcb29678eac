"""report.json: what it leaves out."""

from __future__ import annotations

from dataclasses import replace

import rayrelief
from rayrelief.cli.runs.report import build_report
from rayrelief.synthetic.gallery import plane


def test_of_dust_the_thousand_largest_components_are_listed():
    scene = plane(6, 8)
    method = rayrelief.Smooth()
    result = rayrelief.integrate(scene.normals, scene.camera, method=method, on_failure="return")
    sizes = tuple(range(1500, 0, -1))
    dust = replace(result, components=replace(result.components, sizes=sizes))
    report = build_report(scene, dust, {}, None, [])
    assert report["components"] == list(sizes[:1000])
