"""The oldest versions that pyproject.toml allows, one constraint of pip per line: python oldest.py.

``make test-oldest`` installs them, and nothing that is optional.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"


def oldest(requirements: list[str]) -> list[str]:
    """Constraints for requirements "name>=version"."""
    return [requirement.replace(">=", "==") for requirement in requirements]


if __name__ == "__main__":
    content = tomllib.loads(PROJECT.read_text(encoding="utf-8"))
    sys.stdout.write("\n".join(oldest(content["project"]["dependencies"])) + "\n")
