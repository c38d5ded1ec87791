"""Files that unpack to more than they look: refused with a sentence, at once."""

import copy
import gzip
import time
import tracemalloc
import zipfile

import pytest

from reading import read_table

openpyxl = pytest.importorskip("openpyxl")

SHEET = "xl/worksheets/sheet1.xml"
LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;">]>"""


@pytest.fixture
def forge(tmp_path):
    """A workbook one part of which is changed."""
    book = openpyxl.Workbook()
    for row in (["id", "a", "b"], ["x", 1, 2], ["y", 2, 3]):
        book.active.append(row)
    book.save(tmp_path / "sound.xlsx")

    def write(change, part=SHEET):
        with (
            zipfile.ZipFile(tmp_path / "sound.xlsx") as sound,
            zipfile.ZipFile(tmp_path / "x.xlsx", "w", zipfile.ZIP_DEFLATED) as forged,
        ):
            for name in sound.namelist():
                content = sound.read(name)
                forged.writestr(name, change(content) if name == part else content)
        return tmp_path / "x.xlsx"

    return write


def test_a_sound_workbook_is_read(forge):
    assert read_table(forge(lambda part: part)).X.tolist() == [[1, 2], [2, 3]]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda part: LAUGHS + part, "declares XML entities"),
        (lambda part: part.replace(b"<v>1</v>", b"<v>&nope;</v>"), "cannot be read as a workbook"),
        (lambda part: part[: len(part) // 2], "cannot be read as a workbook"),
        (
            lambda part: part.replace(
                b"<sheetData>", b"<!--" + bytes(50 << 20) + b"--><sheetData>"
            ),
            "unpacks to over 100 times its size",
        ),
    ],
    ids=["laughs", "entity", "cut", "comment"],
)
def test_forged_sheets_are_refused(forge, change, said):
    with pytest.raises(ValueError, match=said) as told:
        read_table(forge(change))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("part", ["xl/workbook.xml", "xl/styles.xml", "xl/_rels/workbook.xml.rels"])
def test_parts_that_are_cut_are_refused(forge, part):
    with pytest.raises(ValueError, match=r"x\.xlsx"):
        read_table(forge(lambda content: content[: len(content) // 2], part))


@pytest.mark.parametrize(
    "place", [b'r="XFD1048576"', b" s='1' r = 'XFD1048576'", b'r="&#88;FD1048576"']
)
def test_cells_so_far_apart_that_no_memory_holds_the_table_are_refused(forge, place):
    """The library that reads sheets would end the process."""
    with pytest.raises(OSError, match=r"a sheet of x\.xlsx needs .* GB of memory"):
        read_table(forge(lambda part: part.replace(b'r="C3"', place)))


def test_a_cell_at_no_place_is_refused(forge):
    with pytest.raises(ValueError, match=r"a sheet of x\.xlsx has a cell at '1C3'"):
        read_table(forge(lambda part: part.replace(b'r="C3"', b'r="1C3"')))


@pytest.mark.parametrize("said", [b"A1:A2", b"A1:XFD1048576", b"A1"])
def test_a_sheet_that_is_wrong_about_its_size_is_read_whole(forge, said):
    path = forge(lambda part: part.replace(b"A1:C3", said))
    assert read_table(path).X.tolist() == [[1, 2], [2, 3]]


def test_a_table_that_unpacks_to_very_much_is_refused_before_it_is_read(tmp_path):
    with gzip.open(tmp_path / "x.csv.gz", "wb", 1) as file:
        file.write(b"a,b\n" + b"1,2\n" * 5_000_000)
    with pytest.raises(ValueError, match=r"x.csv.gz unpacks to over 100 times its size"):
        read_table(tmp_path / "x.csv.gz")


@pytest.mark.slow
def test_a_table_that_hides_it_is_refused_where_it_begins(tmp_path):
    """The size at the end of a gzip file is that of its last member alone."""
    line = b"1," * 999 + b"1\n"
    many, last = gzip.compress(line * 15_000), gzip.compress(line)
    (tmp_path / "x.csv.gz").write_bytes(many + last)
    with pytest.raises(ValueError, match=r"x.csv.gz unpacks to over 100 times its size"):
        read_table(tmp_path / "x.csv.gz")


def test_numbers_that_pack_well_are_read(tmp_path):
    with gzip.open(tmp_path / "x.csv.gz", "wb") as file:
        file.write(b"a,b\n" + b"1,0\n0,1\n" * 50_000)
    assert read_table(tmp_path / "x.csv.gz").X.shape == (100_000, 2)


def utf16(path):
    with gzip.open(path, "wb") as file:
        file.write("a,b\n".encode("utf-16"))
        for _ in range(100):
            file.write(("1,2\n" * 100_000).encode("utf-16-le"))


def three_entries(path):
    with gzip.open(path, "wb") as file:
        file.write(b"%%MatrixMarket matrix coordinate real general\n3 3 3\n")
        for _ in range(100):
            file.write(b"1 1 1\n" * 100_000)


def one_line(path):
    with gzip.open(path, "wb") as file:
        file.write(b"%%MatrixMarket matrix array real general\n1 1\n")
        for _ in range(100):
            file.write(b"1" * 1_000_000)


def same_part(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/big.xml", b"<a>" + b"<b/>" * 1_000_000 + b"</a>")
        book.filelist += [copy.copy(book.filelist[0]) for _ in range(3000)]


def many_sheets(path):
    sheets = "".join(f'<sheet name="s{i}" sheetId="{i + 1}" r:id="r{i}"/>' for i in range(5000))
    kinds = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    links = "".join(
        f'<Relationship Id="r{i}" Type="{kinds}/worksheet" Target="worksheets/s{i}.xml"/>'
        for i in range(5000)
    )
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    cells = "<row><c t='inlineStr'><is><t>x</t></is></c></row>" * 100
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{main}" xmlns:r="{kinds}"><sheets>{sheets}</sheets></workbook>',
        )
        book.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{kinds.replace("officeDocument", "package")}">{links}'
            "</Relationships>",
        )
        for i in range(5000):
            text = f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>'
            book.writestr(f"xl/worksheets/s{i}.xml", text)


BOMBS = {
    "x.csv.gz": (utf16, "unpacks to over 100 times its size"),
    "x.mtx.gz": (three_entries, "more than the 3 entries"),
    "line.mtx.gz": (one_line, "a line that is no entry"),
    "x.xlsx": (same_part, "parts that lie in the same place"),
    "sheets.xlsx": (many_sheets, "x|cannot be read as a workbook|another sheet"),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_within_ten_seconds_and_little_memory(tmp_path, name):
    make, said = BOMBS[name]
    make(tmp_path / name)
    tracemalloc.start()
    begin = time.process_time()
    with pytest.raises(ValueError, match=said):
        read_table(tmp_path / name)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert time.process_time() - begin < 10
    assert peak < 300 << 20


def test_an_encoding_that_is_none_of_text_is_a_sentence(tmp_path):
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    for encoding in ("zlib", "rot13", "utf-99"):
        with pytest.raises(ValueError, match=f"there is no encoding '{encoding}'"):
            read_table(tmp_path / "x.csv", encoding=encoding)
