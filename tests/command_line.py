"""The command as people call it, in this process."""

import pandas as pd

import onmf_app as cli


def run(*words):
    return cli.main([str(word) for word in words])


def ask(capsys, *words, code=0):
    """What a command prints on stderr, once its exit code is right."""
    capsys.readouterr()
    assert run(*words) == code, capsys.readouterr().err
    return capsys.readouterr().err


def labels(path="out/labels.csv"):
    return pd.read_csv(path, index_col="sample", dtype={"sample": str})
