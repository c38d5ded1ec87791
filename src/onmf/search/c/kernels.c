/* The loops of `numpy_kernels` and `exchange` in C, for arrays that Python hands over as buffers.

   Each kernel has one line in KERNELS: its name, what it takes, and its code for each instruction
   set. `call` checks every array against that line before the kernel runs, and lets go of the
   interpreter's lock while it does. The Python side (`kernels.py`) makes the arrays.

   The kernels are written once, in the headers. They are compiled for each instruction set of the
   table SETS below, and those on float32 or float64 for both; the best set that the processor has
   is chosen when the module is loaded. */

#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ARGUMENTS 20

/* What a kernel is called with: arrays, scalars and the sizes that the letters of its line stand
   for. It sets `broken` if an index points outside of an array, `no_memory` if it needs more. */
typedef struct {
    void *array[MOST_ARGUMENTS];
    int64_t whole[MOST_ARGUMENTS];
    double real[MOST_ARGUMENTS];
    int64_t size[26];
    int broken, no_memory;
} Args;

#define IN(type, place) ((const type *)a->array[place])
#define OUT(type, place) ((type *)a->array[place])
#define SIZE(letter) (a->size[(letter) - 'a'])
#define OUTSIDE(index, size) ((uint64_t)(index) >= (uint64_t)(size))
#define MAX(x, y) ((x) > (y) ? (x) : (y))
#define JOIN_(x, y, z) x##_##y##_##z
#define JOIN(x, y, z) JOIN_(x, y, z)
#define FN(name) JOIN(name, T, SET)

typedef double (*Code)(Args *);

enum { CHUNK = 32 }; /* entries that are compared before a branch */

#if defined(__GNUC__) || defined(__clang__)
#define LOWEST_BIT(bits) __builtin_ctz(bits)
typedef double four __attribute__((vector_size(4 * sizeof(double))));
typedef double four_double __attribute__((vector_size(4 * sizeof(double)), aligned(8), may_alias));
typedef float four_float __attribute__((vector_size(4 * sizeof(float)), aligned(4), may_alias));
#define FOUR_double(at) (*(const four_double *)(at))
#define FOUR_float(at) __builtin_convertvector(*(const four_float *)(at), four)
#define FOUR_(type, at) FOUR_##type(at)
#define FOUR(type, at) FOUR_(type, at) /* four numbers, as float64 */
#else
static int LOWEST_BIT(uint32_t bits)
{
    int place = 0;
    for (; !(bits & 1); bits >>= 1)
        ++place;
    return place;
}
#endif

/* --- instruction sets: all that is compiled is in these three files ------------------------- */

#define SET plain
#define FOR_SET
#include "all_types.h"
#undef SET
#undef FOR_SET

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define WIDER
#include <immintrin.h>
#undef FOUR_float /* for which compilers need two steps and a shuffle */
#define FOUR_float(at) ((four)_mm256_cvtps_pd(_mm_loadu_ps(at)))
#define SET avx2
#define FOR_SET __attribute__((target("avx2,fma")))
#include "all_types.h"
#undef SET
#undef FOR_SET
#endif

enum { PLAIN, AVX2, SETS };
static const char *SET_NAMES[SETS] = {"plain", "avx2"};
static int chosen = PLAIN;

static int supported(int set)
{
#ifdef WIDER
    __builtin_cpu_init();
    if (set == AVX2)
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#endif
    return set == PLAIN;
}

/* --- the kernels ------------------------------------------------------------------------------

   What a kernel takes: an array is a type with its sizes in brackets, each a letter that must have
   one value in the whole call, or a digit. t: float32 or float64, all alike; d: float64; l: int64;
   s: int32; b: bool. After ! it is written to. i is a whole number, x a real one. */

typedef struct {
    const char *name, *takes;
    Code code[SETS][2]; /* for float32 and float64 */
} Kernel;

#ifdef WIDER
#define EACH(name, one, two) \
    {{name##_##one##_plain, name##_##two##_plain}, {name##_##one##_avx2, name##_##two##_avx2}}
#else
#define EACH(name, one, two) {{name##_##one##_plain, name##_##two##_plain}}
#endif
#define BOTH(name, takes) {#name, takes, EACH(name, float, double)}
#define ONE(name, takes) {#name, takes, EACH(name, double, double)}

static const Kernel KERNELS[] = {
    BOTH(nearest, "t(nk) !l(n) !t(n) x x"),
    BOTH(nearest_few, "t(nm) t(mk) !l(n) !t(n) !t(k) x x"),
    BOTH(images, "t(nc) t(nr) d(kr) !l(n) !d(n) !d(cr) x"),
    BOTH(alternate_few, "t(nr) l(e) l(p) !d(kr) t(f) !d(kr) !t(rl) x i x x x"),
    BOTH(sums, "l(n) d(n) t(nr) !d(kr)"),
    BOTH(sparse_sums, "l(n) d(n) t(z) s(z) s(e) !d(km)"),
    BOTH(sparse_products, "t(z) s(z) s(e) t(mr) !t(nr)"),
    BOTH(sparse_image, "t(z) s(z) s(e) t(mr) !t(mr) !t(r)"),
    BOTH(fit_rays, "t(nr) l(n) !d(kr) !d(kr) i"),
    BOTH(runners_up, "t(nk) l(n) !l(n) !d(n) !t(k) x"),
    BOTH(split_clusters, "t(nr) l(n) !d(2kr) !d(2kr) !d(k) i"),
    BOTH(transfers, "t(nk) l(n) d(n) d(k) !d(k) !l(n) !d(n) x"),
    BOTH(ray_steps, "t(km) d(km) t(km) d(km) b(k) !d(km) i"),
    BOTH(ray_distance, "t(km) t(km)"),
    ONE(redirect, "!d(kr) d(kr) !b(k) x"),
    ONE(phis, "d(n) !d(n)"),
    ONE(count_sums, "l(e) l(z) d(z) l(n) !d(mc)"),
    ONE(pair_costs, "d(cm) d(cm) l(p) l(p) !d(p)"),
    ONE(move_rows, "l(e) l(z) d(z) d(n) !l(n) l(n) !l(n) !d(mc) !d(mc) !d(c) l(o) !d(w) i i x x x"),
};
#define N_KERNELS (sizeof(KERNELS) / sizeof(*KERNELS))

/* --- from Python ------------------------------------------------------------------------------ */

static int is_type(char wanted, const Py_buffer *view)
{
    static const uint16_t ONE_FIRST = 1; /* the first byte is 1 on a little-endian machine */
    const char native = *(const uint8_t *)&ONE_FIRST ? '<' : '>';
    const char *format = view->format ? view->format : "B";
    if (*format == '=' || *format == '@' || *format == native)
        ++format; /* an array from a file may name the byte order of this machine */
    if (!*format || format[1])
        return 0; /* of several fields, or of the other byte order */
    switch (wanted) {
    case 't': return *format == 'f' || *format == 'd';
    case 'd': return *format == 'd';
    case 'l': return strchr("lq", *format) && view->itemsize == 8;
    case 's': return strchr("il", *format) && view->itemsize == 4;
    default: return *format == '?';
    }
}

/* One array, whose type and sizes begin at *takes, which is moved on. */
static int array_fits(Args *a, const char **takes, const Py_buffer *view, int *is_double)
{
    const char type = **takes;
    int fits = is_type(type, view), axis = 0;
    if (fits && type == 't') {
        const int wide = view->itemsize == sizeof(double);
        fits = *is_double < 0 || *is_double == wide;
        *is_double = wide;
    }
    for (*takes += 2; **takes != ')'; ++*takes, ++axis) {
        const int64_t size = axis < view->ndim ? view->shape[axis] : -1;
        if (**takes >= '0' && **takes <= '9') {
            fits &= size == **takes - '0';
            continue;
        }
        int64_t *known = &SIZE(**takes);
        *known = *known < 0 ? size : *known;
        fits &= *known == size && size >= (strchr("ckw", **takes) != NULL); /* some clusters */
    }
    *takes += 1;
    return fits && axis == view->ndim;
}

/* All arguments into `a`, by the kernel's line; the number of views to be released. */
static int take(Args *a, const Kernel *kernel, PyObject *const *given, Py_ssize_t count,
                Py_buffer *views, int *is_double)
{
    int held = 0;
    Py_ssize_t place = 0;
    for (const char *takes = kernel->takes; *takes; takes += *takes == ' ', ++place) {
        if (*takes == 'i') {
            a->whole[place] = PyLong_AsLongLong(given[place]);
            ++takes;
        } else if (*takes == 'x') {
            a->real[place] = PyFloat_AsDouble(given[place]);
            ++takes;
        } else {
            const int write = *takes == '!';
            takes += write;
            const int flags = PyBUF_ND | PyBUF_FORMAT | (write ? PyBUF_WRITABLE : 0);
            if (PyObject_GetBuffer(given[place], &views[held], flags))
                return held;
            a->array[place] = views[held].buf;
            if (!array_fits(a, &takes, &views[held++], is_double)) {
                PyErr_Format(PyExc_ValueError, "%s: argument %d does not fit \"%s\"", kernel->name,
                             (int)place, kernel->takes);
                return held;
            }
        }
        if (PyErr_Occurred())
            return held;
    }
    return held;
}

static int wanted_arguments(const Kernel *kernel)
{
    int count = 1;
    for (const char *letter = kernel->takes; *letter; ++letter)
        count += *letter == ' ';
    return count;
}

/* Every kernel is this function, with its line as `self`. */
static PyObject *call(PyObject *self, PyObject *const *given, Py_ssize_t count)
{
    const Kernel *kernel = PyCapsule_GetPointer(self, NULL);
    Py_buffer views[MOST_ARGUMENTS];
    int is_double = -1;
    double result = 0;
    Args a = {.broken = 0};
    memset(a.size, -1, sizeof(a.size));
    if (!kernel)
        return NULL;
    if (count != wanted_arguments(kernel)) {
        PyErr_Format(PyExc_TypeError, "%s takes %d arguments", kernel->name,
                     wanted_arguments(kernel));
        return NULL;
    }
    const int held = take(&a, kernel, given, count, views, &is_double);
    if (!PyErr_Occurred()) {
        PyThreadState *state = PyEval_SaveThread();
        result = kernel->code[chosen][is_double != 0](&a);
        PyEval_RestoreThread(state);
        if (a.broken)
            PyErr_Format(PyExc_IndexError, "%s: an index points outside", kernel->name);
        else if (a.no_memory)
            PyErr_NoMemory();
    }
    for (int i = 0; i < held; ++i)
        PyBuffer_Release(&views[i]);
    return PyErr_Occurred() ? NULL : PyFloat_FromDouble(result);
}

static PyObject *use(PyObject *module, PyObject *name)
{
    PyObject *text = PyUnicode_AsASCIIString(name);
    if (!text)
        return NULL;
    int found = -1;
    for (int set = 0; set < SETS; ++set)
        if (!strcmp(PyBytes_AsString(text), SET_NAMES[set]) && supported(set))
            found = set;
    Py_DECREF(text);
    if (found < 0)
        return PyErr_Format(PyExc_ValueError, "no instruction set %R on this processor", name);
    chosen = found;
    Py_RETURN_NONE;
}

static PyObject *sets(PyObject *module, PyObject *unused)
{
    PyObject *names = PyList_New(0);
    for (int set = 0; names && set < SETS; ++set) {
        PyObject *name = supported(set) ? PyUnicode_FromString(SET_NAMES[set]) : NULL;
        if (name && PyList_Append(names, name))
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

static PyMethodDef CALLS[N_KERNELS + 1];
static PyMethodDef OTHERS[] = {
    {"use", use, METH_O, "Use this instruction set from now on."},
    {"sets", sets, METH_NOARGS, "The instruction sets of this processor, the best last."},
    {NULL, NULL, 0, NULL},
};

static int fill(PyObject *module)
{
    for (size_t i = 0; i < N_KERNELS; ++i) {
        CALLS[i] = (PyMethodDef){KERNELS[i].name, (PyCFunction)(void (*)(void))call, METH_FASTCALL,
                                 KERNELS[i].takes};
        PyObject *line = PyCapsule_New((void *)&KERNELS[i], NULL, NULL);
        PyObject *function = line ? PyCFunction_NewEx(&CALLS[i], line, NULL) : NULL;
        const int failed = !function || PyModule_AddObjectRef(module, KERNELS[i].name, function);
        Py_XDECREF(line);
        Py_XDECREF(function);
        if (failed)
            return -1;
    }
    for (int set = 0; set < SETS; ++set)
        chosen = supported(set) ? set : chosen;
    return 0;
}

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, fill}, {0, NULL}};
static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_kernels", "Loops over rows in C.", 0, OTHERS, SLOTS, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernels(void) { return PyModuleDef_Init(&MODULE); }
