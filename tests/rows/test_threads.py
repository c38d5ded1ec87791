"""The limit on BLAS lasts as long as any fit, and no longer; tasks in threads can be stopped."""

import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event

import pytest
import threadpoolctl

from onmf.rows.threads import check_stopped, in_threads, single_threaded_blas


def blas_limits():
    pools = threadpoolctl.threadpool_info()
    return {pool["num_threads"] for pool in pools if pool["user_api"] == "blas"}


def free_for_all():
    """threadpoolctl listens to one thread only, until it is told that this one is done."""
    getattr(threadpoolctl.OpenBLASController, "clear_controlling_thread", lambda: None)()


@pytest.fixture(autouse=True)
def two_threads():
    """Whatever the environment says, so that a limit of one can be seen to come and go."""
    limiter = threadpoolctl.threadpool_limits(2, user_api="blas")
    free_for_all()
    yield
    limiter.restore_original_limits()
    free_for_all()


def test_many_fits_leave_the_limit_as_they_found_it():
    def fit(_):
        with single_threaded_blas():
            return blas_limits()

    assert blas_limits() == {2}
    assert fit(0) == {1}
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fit, range(12))) == [{1}] * 12
    assert blas_limits() == {2}


@pytest.mark.parametrize("first_to_end", [0, 1])
def test_a_fit_that_ends_does_not_lift_the_limit_of_another(first_to_end):
    begun, end = [Event(), Event()], [Event(), Event()]

    def fit(number):
        with single_threaded_blas():
            begun[number].set()
            assert end[number].wait(10)
            return blas_limits()

    with ThreadPoolExecutor(2) as pool:
        fits = []
        for number in (0, 1):  # the one begins inside the other
            fits.append(pool.submit(fit, number))
            assert begun[number].wait(10)
        for number in (first_to_end, 1 - first_to_end):
            end[number].set()
            assert fits[number].result(10) == {1}
        assert blas_limits() == {2}
    assert blas_limits() == {2}


def test_the_limit_is_lifted_after_an_error():
    with pytest.raises(RuntimeError), single_threaded_blas():
        raise RuntimeError
    assert blas_limits() == {2}


def test_a_caller_that_takes_no_more_stops_tasks_under_way():
    """An interrupt must not wait for the searches of other threads."""
    begun, ended = Event(), []

    def task(item):
        if item == 0:
            return begun.wait(30)
        begun.set()
        try:
            while True:
                check_stopped()
                time.sleep(0.001)
        except CancelledError:
            ended.append(item)
            raise

    results = in_threads(task, range(6), 2)
    assert next(results)
    results.close()  # returns only after all threads have ended
    assert 1 in ended
    check_stopped()  # other threads are not concerned


def test_in_threads_keeps_the_order_and_passes_errors_on():
    assert list(in_threads(lambda i: i * i, range(9), 3)) == [i * i for i in range(9)]
    with pytest.raises(ZeroDivisionError):
        list(in_threads(lambda i: 1 // (i - 4), range(9), 3))
