"""The extension in C; everything else is in pyproject.toml.

Without a compiler the package is installed without it, and does the same in NumPy.
"""

import os
import sys
import sysconfig
from glob import glob

from setuptools import Extension, setup

FOLDER = "src/onmf/search/c"
# One wheel for all CPythons from 3.11 on; those without a global lock have no such interface yet.
STABLE = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
# Of "fast math" only what no result depends on: errno and the flags of exceptions are never read.
# That sums may be taken in another order is said where it is so, by `#pragma omp simd`.
# The folder of the build is left out, so that the same source gives the same bytes.
UNIX = ["-O3", "-fopenmp-simd", "-fno-math-errno", "-fno-trapping-math"]
UNIX.append(f"-ffile-prefix-map={os.getcwd()}=.")

setup(
    ext_modules=[
        Extension(
            "onmf.search._kernels",
            [f"{FOLDER}/kernels.c"],
            depends=glob(f"{FOLDER}/*.h"),
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if STABLE else [],
            extra_compile_args=["/std:c11"] if sys.platform == "win32" else UNIX,
            py_limited_api=STABLE,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if STABLE else {},
)
