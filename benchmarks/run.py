"""`make bench`: all benchmarks, or those named, each into its section of RESULTS.md."""

import sys

import certificate
import coherence
import command
import counts
import explain
import expression
import fast
import files
import growth
import house
import joint
import large
import missing
import outliers
import page
import palm
import paper
import passes
import quality
import rare
import rivals
import scale
import signals
import significance
import spectral
import speed
import stability
import startup
import stream
import texts
import tree
import votes


def run_large() -> None:
    """Many passes, and few."""
    large.run()
    passes.run()


SECTIONS = {
    "certificate": certificate.run,
    "coherence": coherence.run,
    "counts": counts.run,
    "explain": explain.run,
    "expression": expression.run,
    "fast": fast.run,
    "files": files.run,
    "ablation": fast.run_ablation,
    "palm": palm.run,
    "paper": paper.run,
    "quality": quality.run,
    "faithful": quality.run_faithful,
    "growth": growth.run,
    "joint": joint.run,
    "topics": scale.run_topics,
    "samples": scale.run_samples,
    "libraries": scale.run_libraries,
    "luck": scale.run_luck,
    "large": run_large,
    "passes": passes.run,
    "missing": missing.run,
    "outliers": outliers.run,
    "outliers-paper": outliers.run_on_paper,
    "outliers-draws": outliers.run_on_draws,
    "nmf": quality.run_nmf,
    "page": page.run,
    "rare": rare.run,
    "rivals": rivals.run,
    "significance": significance.run,
    "spherical": quality.run_spherical,
    "command": command.run,
    "command-large": command.run_large,
    "signals": signals.run,
    "speed": speed.run,
    "startup": startup.run,
    "spectral": spectral.run,
    "stability": stability.run,
    "stream": stream.run,
    "texts": texts.run,
    "tree": tree.run,
    "votes": votes.run,
    "one-vote": votes.run_for_readme,
    "units": votes.run_units,
    "events": votes.run_events,
    "house": house.run,
}

if __name__ == "__main__":
    names = sys.argv[1:] or list(SECTIONS)
    unknown = set(names) - set(SECTIONS)
    if unknown:
        sys.exit(f"no benchmark named {', '.join(unknown)}; there are {', '.join(SECTIONS)}")
    for name in names:
        SECTIONS[name]()
