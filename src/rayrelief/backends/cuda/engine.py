"""Engine: a machine, the memory of one image on it, and its work in order."""

from __future__ import annotations

from dataclasses import dataclass

from rayrelief.backends.cuda.layout import Struct, Workspace
from rayrelief.backends.cuda.machine import Machine, Queue, definitions
from rayrelief.backends.cuda.schedule import Schedule


@dataclass(frozen=True, eq=False)
class Engine:
    """What all runs on images of one size can share."""

    machine: Machine
    work: Workspace
    queue: Queue
    schedule: Schedule

    @classmethod
    def of(cls, machine: Machine, work: Workspace) -> Engine:
        """Compile what is needed: the workspace knows whether its image wraps, or has anchors."""
        defined = definitions(
            work.pixels,
            wraps=bool(work.grid["wraps"][0]),
            directions=work.directions,
            anchored="anchor" in work.arrays,
        )
        queue = machine.queue(work.grid, defined)
        return cls(machine, work, queue, Schedule.of(work, queue, defined))

    def scalars(self) -> Struct:
        """What the kernels have written about a run, up to the last mark."""
        return self.work.scalars(self.queue.answer(self.work.arrays["s"]))
