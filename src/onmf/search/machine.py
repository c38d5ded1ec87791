"""Machine code: the only module that imports numba.

Serial and without the interpreter's lock: blocks and starts are what runs in parallel, for numba's
own threads beside those of BLAS cost a factor.
"""

from numba import njit

# Sums may be taken in any order, as in BLAS; nothing else of "fast math".
compiled = njit(cache=True, nogil=True, fastmath={"reassoc", "contract", "nsz"})
