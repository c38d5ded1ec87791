"""Text that is not UTF-8 is read as what it looks like, with a warning, or as the user says."""

import gzip

import pytest

from onmf.exceptions import TableWarning
from onmf_app.read.encodings import detect_encoding
from reading import read_table

SENTENCES = {
    ("Größe der Änderung über 20 °C für Ökologie", "cp1252"),
    ("Größe der Änderung über 20 °C für Ökologie", "mac_roman"),
    ("Le café est très agréable à l’été, déjà vu", "cp1252"),  # noqa: RUF001
    ("10 µm × 3 ± 0.5", "cp1252"),  # noqa: RUF001
    ("señor niño año", "cp1252"),
    ("Zażółć gęślą jaźń, łódź i źródło", "cp1250"),
    ("Привет мир, это текст на русском языке", "cp1251"),
    ("Αυτό είναι ένα κείμενο", "cp1253"),
    ("これは日本語の文章です。東京は大きい", "shift_jis"),
    ("이것은 한국어 문장입니다", "euc_kr"),
    ("这是一个中文句子，我们来测试编码", "gb18030"),  # noqa: RUF001
    ("plain text in wide letters", "utf-16-le"),
    ("plain text in wide letters", "utf-16-be"),
}


@pytest.mark.parametrize(("text", "encoding"), sorted(SENTENCES))
def test_the_encoding_of_a_sentence_is_found(text, encoding):
    content = text.encode(encoding)
    assert content.decode(detect_encoding(content)) == text


@pytest.mark.parametrize("packed", [False, True])
def test_a_table_is_read_as_it_looks_or_as_the_user_says(tmp_path, packed):
    content = "gen;größe;weiß\na;1,5;2\nb;0,25;3\n".encode("latin-1")
    path = tmp_path / ("x.csv.gz" if packed else "x.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.warns(TableWarning) as caught:
        table = read_table(path)
    said = " ".join(str(warning.message) for warning in caught)
    assert "is not UTF-8 and is read as cp1252; --set read.encoding=NAME names another." in said
    assert "has decimal commas" in said
    assert table.features == ["größe", "weiß"]
    assert table.X.tolist() == [[1.5, 2], [0.25, 3]]
    table = read_table(path, encoding="cp850", decimal=",")
    assert table.features == [name.encode("latin-1").decode("cp850") for name in ("größe", "weiß")]
    with pytest.raises(ValueError, match=r"x.csv.* is not ascii in line 1 \(byte 0xf6\)"):
        read_table(path, encoding="ascii")
    with pytest.raises(ValueError, match="there is no encoding 'utf-99'"):
        read_table(path, encoding="utf-99")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_unicode_needs_no_word(tmp_path, encoding):
    (tmp_path / "x.csv").write_bytes("gen,größe\na,1\nb,2\n".encode(encoding))
    assert read_table(tmp_path / "x.csv").features == ["größe"]
