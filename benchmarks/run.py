"""`make bench`: all benchmarks, or those named, each into its section of RESULTS.md."""

import sys

import ablate
import expression
import number
import outliers
import page
import paper
import places
import quality
import significance
import speed
import stream
import texts

SECTIONS = {
    "quality": quality.run,
    "texts": texts.run,
    "expression": expression.run,
    "number": number.run,
    "significance": significance.run,
    "outliers": outliers.run,
    "stream": stream.run,
    "speed": speed.run,
    "places": places.run,
    "page": page.run,
    "paper": paper.run,
    "ablate": ablate.run,
}

if __name__ == "__main__":
    names = sys.argv[1:] or list(SECTIONS)
    unknown = set(names) - set(SECTIONS)
    if unknown:
        sys.exit(f"no benchmark named {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    for name in names:
        SECTIONS[name]()
