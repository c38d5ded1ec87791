"""`python -m onmf` is the `onmf` command."""

import sys

from onmf.cli import main

if __name__ == "__main__":
    sys.exit(main())
