"""Benchmarks; they are no part of the installed package.

``python -m benchmarks`` (make bench)
    Speed, memory and cycles with their limits: the parts are in ``speed/``.
``python -m benchmarks.accuracy`` (make paper)
    The tables and figures of the paper, from cached predictions: ``accuracy/``.
``python -m benchmarks.calibration`` (make calibration)
    Curves behind the constants of ``Ordered``, on the built-in scenes alone: ``calibration/``.

The first two read the maps of DiLiGenT (``diligent.py``). All write a report as Markdown and JSON
into ``results/`` (``report.py``). The papers' numbers are in ``published.toml``.
"""
