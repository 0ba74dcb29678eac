"""``python -m rayrelief``: the command, also where its script is not on the path."""

from rayrelief.cli import main

if __name__ == "__main__":
    main()
