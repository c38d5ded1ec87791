"""What the reader of a page or a message calls samples, features and clusters.

Texts are documents with words, in topics; annotated data are cells with genes. Whoever opens an
input knows which, and hands the terms down. Sentences are written for samples, features and
clusters; `Terms.say` puts the reader's words into them.
"""

import re
from dataclasses import asdict, dataclass

# Our nouns, but not in quotation marks, where names from data are, in commands, and in paths.
KEPT = r"'[^']*'|\"[^\"]*\"|\bonmf [a-z-]+|\S*/\S*"
OWN = re.compile(KEPT + r"|\b(?:[Ss]amples?|[Ff]eatures?|[Cc]lusters?)\b(?![.=-]\w)")


@dataclass(frozen=True)
class Terms:
    """Nouns, singular and plural."""

    sample: str = "sample"
    samples: str = "samples"
    feature: str = "feature"
    features: str = "features"
    cluster: str = "cluster"
    clusters: str = "clusters"

    def words(self) -> dict[str, str]:
        """Our nouns, also with a capital, and the reader's."""
        plain = asdict(self)
        return plain | {own.capitalize(): noun.capitalize() for own, noun in plain.items()}

    def say(self, sentence: str) -> str:
        """A sentence of ours in the reader's words; what is quoted stays as it is."""
        words = self.words()
        return OWN.sub(lambda found: words.get(found[0], found[0]), sentence)

    def counted(self, n: int, noun: str) -> str:
        """1 topic, 1,200 topics: of our noun in the singular."""
        return f"{n:,} {self.words()[noun if n == 1 else f'{noun}s']}"


SAMPLES = Terms()
DOCUMENTS = Terms("document", "documents", "word", "words", "topic", "topics")
EMBEDDED = Terms("document", "documents", "feature", "features", "topic", "topics")
PICTURES = Terms("image", "images", "pixel", "pixels", "cluster", "clusters")
CELLS = Terms("cell", "cells", "gene", "genes", "cluster", "clusters")
