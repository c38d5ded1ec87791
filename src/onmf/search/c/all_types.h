/* Every kernel for one instruction set, SET. */

#define HELPER static inline FOR_SET
#define KERNEL static FOR_SET double

#define T double
#include "sums.h"
#include "rays.h"
#include "counts.h"
#include "rows.h"
#include "few.h"
#include "sparse.h"
#undef T

#define T float
#include "sums.h"
#include "rows.h"
#include "few.h"
#include "sparse.h"
#include "steps.h"
#undef T

#define T double
#include "steps.h"
#undef T

#undef HELPER
#undef KERNEL
