"""`python -m onmf` is the `onmf` command."""

import signal
import sys

USUAL = signal.getsignal(signal.SIGINT)  # ignored, for a job in the background
if USUAL is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback while modules are imported

from onmf_app import main  # noqa: E402


def run() -> int:
    """The command of this process; Ctrl-C is an exception from here on."""
    signal.signal(signal.SIGINT, USUAL)
    return main()


if __name__ == "__main__":
    sys.exit(run())
