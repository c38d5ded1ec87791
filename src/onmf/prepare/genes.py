"""What names say: genes, dates that were genes, ids."""

import re
from collections.abc import Sequence

from onmf.rows.table import Numbered

MOST_NAMES_READ = 100_000  # to see what they are: more than there are genes
ROWS_PER_COLUMN = 4  # from this ratio on, rows may be features
GENE_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9]{1,9}(?:[-.][A-Za-z0-9]{1,6})?")
ACCESSION = re.compile(
    r"ENS[A-Z]*[GT]\d{6}|[NX][MR]_\d+|\d+(_[a-z])?_at$|\w+_(\w_)?at$|(hsa|mmu|rno)-(mir|let)-"
    r"|g(ene)?[\W_]?\d",
    re.IGNORECASE,
)
GENE_HEADINGS = {
    "gene", "genes", "gene_id", "geneid", "gene id", "gene_name", "gene_symbol", "gene symbol",
    "genesymbol", "symbol", "hgnc_symbol", "ensembl", "ensembl_id", "ensembl_gene_id", "probe",
    "probe_id", "probeset", "probe set id", "transcript", "transcript_id", "gen", "gène", "mirna",
}  # fmt: skip
MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec|Mrz|Mär|Mai|Okt|Dez"
DATE = re.compile(rf"\d{{1,2}}[-. ]({MONTHS})\.?|({MONTHS})[-. ]\d{{1,2}}|\d{{4}}-\d\d-\d\d", re.I)


def share_of_genes(names: Sequence[str]) -> float:
    """Share of names that a gene, a transcript, a probe or a micro-RNA could have.

    Symbols are short words with many different first letters, unlike `cell1`, `cell2`.
    """
    if not names or isinstance(names, Numbered):
        return 0.0
    names = names[:MOST_NAMES_READ]
    symbols = [name for name in names if GENE_SYMBOL.fullmatch(name)]
    stems = {re.split(r"[\d.-]", name)[0] for name in symbols}
    genuine = len(symbols) if 5 * len(stems) > len(symbols) else 0
    return max(genuine, sum(bool(ACCESSION.match(name)) for name in names)) / len(names)


def rows_are_genes(rows: Sequence[str], columns: Sequence[str], heading: str = "") -> bool:
    """Whether there are many more rows than columns, and only rows are called genes."""
    if len(rows) < ROWS_PER_COLUMN * len(columns):
        return False
    if heading.lower() in GENE_HEADINGS:
        return True
    return are_genes(rows) and share_of_genes(columns) < 0.25


def are_genes(names: Sequence[str]) -> bool:
    """Whether features are genes and not words: symbols and accessions have digits."""
    if share_of_genes(names) <= 0.5:
        return False
    names = names[:MOST_NAMES_READ]
    return 3 * sum(any(c.isdigit() for c in name) for name in names) > len(names)


def dates(names: Sequence[str]) -> list[str]:
    """Names such as 1-Mar, which spreadsheets make of MARCH1."""
    return [name for name in names if DATE.fullmatch(name)]
