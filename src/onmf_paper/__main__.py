"""`python -m onmf_paper` is `onmf reproduce`."""

from onmf_paper.command import run_reproduce

if __name__ == "__main__":
    run_reproduce()
