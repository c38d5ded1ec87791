"""Frequent words by language, which distinguish no topics."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

STOP_WORDS = {
    "german": """aber alle allem allen aller alles als also am an andere anderen auch auf aus bei
    bin bis bist da damit dann das dass dein deine dem den denn der des dessen die dies diese diesem
    diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es etwas euch euer
    für gegen habe haben hat hatte hatten hier hin hinter ich ihm ihn ihnen ihr ihre ihrem ihren
    ihrer im in indem ins ist ja jede jedem jeden jeder jedes jetzt kann kein keine keinen können
    könnte machen man mehr mein meine mich mir mit muss nach nicht nichts noch nun nur ob oder ohne
    schon sehr sein seine seinem seinen seiner seit sich sie sind so soll sondern sonst über um und
    uns unser unter viel vom von vor war waren warum was weil weiter welche wenn wer werde werden
    wie wieder will wir wird wo wurde wurden zu zum zur zwar zwischen""",
    "french": """à afin ai ainsi alors après au aucun aussi autre aux avant avec avoir bien c ça car
    ce cela ces cet cette ceux chaque ci comme comment d dans de depuis des deux doit donc dont du
    elle elles en encore entre est et été être eu fait font il ils j je jusqu l la le les leur leurs
    lors lui m ma mais me même mes moi moins mon n ne ni non nos notre nous on ont ou où par parce
    pas pendant peu peut plus pour pourquoi qu quand que quel quelle quelles quels qui s sa sans se
    sera ses si sien son sont sous sur t ta te tes toi ton tous tout toute toutes très tu un une vos
    votre vous y""",
    "spanish": """a al algo algunos ante antes aquel así aun aunque bajo bien cada como con contra
    cual cuando de del desde donde dos durante e el él ella ellas ellos en entre era eran es esa
    esas ese eso esos esta está estaba están estas este esto estos fue fueron ha había han hasta hay
    la las le les lo los más me mi mis mientras muy nada ni no nos nosotros o os otra otras otro
    otros para pero poco por porque pues que qué quien se sea ser si sí sido sin sino sobre son su
    sus también tan tanto te tiene tienen todo todos tu tus un una unas uno unos y ya yo""",
}
# What a contraction leaves, as "don" of "don't"; without "won", which is a word of its own.
CONTRACTIONS = """ain aren couldn didn doesn don hadn hasn haven isn ll mightn mustn needn shan
    shouldn ve wasn weren wouldn"""
FREQUENT_WORDS = 0.1  # share of stop words in texts of their language: .2 to .5
LANGUAGES = ("english", *STOP_WORDS)


def stop_words_of(name: str) -> tuple[str, ...]:
    """The words of a language, or of a file with one word per line; "none" has none."""
    if name == "none":
        return ()
    if name in LANGUAGES:
        english = ENGLISH_STOP_WORDS.union(CONTRACTIONS.split())
        return tuple(sorted(english if name == "english" else STOP_WORDS[name].split()))
    if not Path(name).is_file():
        raise ValueError(
            f"stop words must be {', '.join(LANGUAGES)}, none, or a file with one word per line; "
            f"there is no file {name!r}."
        )
    return tuple(Path(name).read_text(encoding="utf-8-sig").lower().split())


def language_of(texts: Sequence[str]) -> str:
    """The language whose frequent words are most frequent in some of the texts; else English."""
    some = " ".join(text[:500] for text in texts[:200]).lower()
    found = Counter(re.findall(r"[^\W\d_]+", some))
    share = {
        name: sum(found[word] for word in stop_words_of(name)) / max(found.total(), 1)
        for name in LANGUAGES
    }
    best = max(share, key=lambda name: share[name])
    return best if share[best] > FREQUENT_WORDS else "english"
