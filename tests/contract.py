"""scikit-learn's checks of estimators: all on one model of a class, on its siblings some.

Solvers, penalties and rivals share their parameters, their validation and their attributes: what
scikit-learn asks of these is answered once.
"""

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

SHARED = {
    f"check_{name}"
    for name in [
        "all_zero_sample_weights_error",
        "array_api_input",
        "clustering",
        "complex_data",
        "do_not_raise_errors_in_init_or_set_params",
        "dtype_object",
        "estimator_cloneable",
        "estimator_repr",
        "estimator_sparse_matrix",  # becomes an array where it comes in
        "estimator_sparse_tag",
        "estimator_tags_renamed",
        "estimators_empty_data_messages",
        "estimators_fit_returns_self",
        "estimators_nan_inf",
        "estimators_partial_fit_n_features",
        "estimators_pickle",
        "estimators_unfitted",
        "fit1d",
        "fit2d_predict1d",
        "fit_non_negative",
        "fit_score_takes_y",
        "get_params_invariance",
        "mixin_order",
        "n_features_in",
        "n_features_in_after_fitting",
        "no_attributes_set_in_init",
        "parameters_default_constructible",
        "positive_only_tag_during_fit",
        "sample_weights_list",
        "sample_weights_not_an_array",
        "sample_weights_pandas_series",
        "sample_weights_shape",
        "set_params",
        "transformer_data_not_an_array",
        "transformers_unfitted",
        "valid_tag_types",
    ]
}


def arithmetic(models, expected_failures=lambda model: {}):
    """Parameters of a test: each model with each check that its arithmetic could fail."""
    cases = []
    for model in models:
        for estimator, check in estimator_checks_generator(model):
            name = check.func.__name__
            reason = expected_failures(model).get(name)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            if name not in SHARED:
                case = f"{estimator}-{name}".replace("\n", "")
                cases.append(pytest.param(estimator, check, marks=marks, id=case))
    return pytest.mark.parametrize(("estimator", "check"), cases)
