"""``python -m videoformat``."""

import sys

from videoformat.cli import main

if __name__ == "__main__":
    sys.exit(main())
