"""Tables of JSON objects: `.json` has a list of them, `.jsonl` and `.ndjson` one per line."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from onmf.rows import InMemoryTable, Options, Progress, Source
from onmf_app.read.delimited import as_table
from onmf_app.read.text_files import text_lines

Row = dict[str, Any]


def open_records(path: Path, options: Options) -> Source:
    if path.name.lower().endswith(".json"):
        rows = _list_of_objects(path, options)
    else:
        rows = list(json_objects(path, options.progress, options.encoding))
    plain = options._replace(decimal=".", thousands="")  # values are numbers already
    lines = enumerate(_lines(rows), 1)
    return InMemoryTable.of(as_table(lines, path.name, plain), path.name)


def json_objects(path: Path, progress: Progress, encoding: str | None) -> Iterator[Row]:
    """The object of each line."""
    for number, line in enumerate(text_lines(path, progress, encoding), 1):
        if not line.strip():
            continue
        found = _parsed(line, f"{path.name} is not JSON in line {number}")
        if not isinstance(found, dict):
            raise ValueError(f"{path.name} has no JSON object in line {number}.")
        yield found


def _list_of_objects(path: Path, options: Options) -> list[Row]:
    text = "".join(text_lines(path, options.progress, options.encoding))
    found = _parsed(text, f"{path.name} is not JSON")
    if not isinstance(found, list) or not all(isinstance(row, dict) for row in found):
        raise ValueError(
            f"{path.name} is no table: a table in JSON is a list of objects, one for each sample, "
            "as pandas writes with to_json(orient='records')."
        )
    return found


def _parsed(text: str, wrong: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{wrong}: {error}.") from None


def _lines(rows: Sequence[Row]) -> Iterator[list[str]]:
    """The names of all members, and their values as text."""
    headings = list(dict.fromkeys(name for row in rows for name in row))
    if headings:
        yield headings
    for row in rows:
        yield ["" if row.get(name) is None else str(row[name]) for name in headings]
