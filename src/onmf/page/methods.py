"""A paragraph for the methods section of a paper: what was done, with what versions."""

from typing import Any

from onmf.io.versions import package_versions
from onmf.losses import loss_of
from onmf.page.clustering import ClusteringFacts
from onmf.result import FittedModel

PAPER = "Wang, Chang, Cui and Pang, IEEE Trans. Signal Process. 69, 5273-5288 (2021)"


def methods_paragraph(model: FittedModel, clustering: ClusteringFacts, run: dict[str, Any]) -> str:
    """Data, preparation, method, number of clusters, markers and versions, in sentences to copy."""
    (n, m), k = clustering.X.shape, len(clustering.centers)
    versions = run.get("versions") or package_versions()
    named = ", ".join(f"{name} {number}" for name, number in versions.items())
    parameters = model.get_params(deep=False)
    done = (step.sentence() for step in getattr(model, "preprocessing_", ()))
    steps = [sentence for sentence in done if sentence]
    method = parameters.get("method")
    how = "orthogonal non-negative matrix factorization" if method is None else str(method)
    terms = clustering.terms
    what = f"{terms.counted(n, 'sample')} with {terms.counted(m, 'feature')}"
    sentences = [
        f"{what} were clustered by {how} "
        f"({loss_of(model).words.loss}, seed {parameters.get('random_state')}; {PAPER})."
        if method is None
        else f"{what} were clustered by {how}.",
        terms.say(f"Before, {'; then '.join(steps)}.")
        if steps
        else "The values were used as they were.",
        terms.say(_number_of_clusters(k, run.get("choice"))),
    ]
    if clustering.markers is not None:
        said = (
            "Distinctive features were ranked by effect size, with p-values from halves of the "
            "features, adjusted after Benjamini and Hochberg within each cluster, and not below "
            "the p-value of Hartigan's dip test for a gap to the nearest cluster, on samples that "
            "had no part in the clusters."
        )
        sentences.append(terms.say(said))
    return " ".join([*sentences, f"Versions: {named}."])


def _number_of_clusters(k: int, choice: Any) -> str:
    if not isinstance(choice, dict):
        return f"The number of clusters, {k}, was given."
    return (
        f"The number of clusters, {k}, was chosen by how well the clusters of two halves of the "
        "samples, and of the features, agree (onmf.choose_k)."
    )
