"""Benchmarks; they are no part of the installed package.

``python -m benchmarks`` (make bench)
    Speed, memory and cycles with their limits: the parts are in ``speed/``.
``python -m benchmarks.accuracy`` (make paper)
    The tables and figures of the paper, from cached predictions: ``accuracy/``.

Both read the maps of DiLiGenT (``diligent.py``), and write a report as Markdown and JSON into
``results/`` (``report.py``). The papers' numbers are in ``published.toml``.
"""
