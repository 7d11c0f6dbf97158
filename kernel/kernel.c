/* Ranks over small prime fields, compiled: what lightning_sym.exact.kernel calls where this is installed.

   `eliminate` takes a panel of rows out of an int8 matrix modulo a prime below 2^8, `rank` finds ranks of up to 2,000
   rows or columns modulo a prime below 2^22. The algorithms are written once, in elimination.h, and compiled for every
   instruction set that the compiler knows; which one runs is chosen by the caller, of those that the machine has.

   Everything is exact: the bounds are asserted below, by the compiler. Nothing here is vectorized by hand but the
   products of int8 numbers, three functions of some twenty lines. Needs gcc or clang, and POSIX threads. */

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if !defined(__GNUC__) || FLT_EVAL_METHOD != 0
#error "needs gcc or clang, and floats that are rounded when they are computed"
#endif

#define VERSION 1 /* raised whenever a function below takes or gives anything else */

enum {
    LEAST = 233,  /* the primes are this one, */
    MOST = 251,   /* this one, the largest whose residues are bytes, and those between them */
    HEIGHT = 512, /* most rows of a panel */
    SPARE = 24,   /* columns of a window beyond its rows: random ones are dependent once in p^24 times */
    TOGETHER = 8, /* rows of a window cleared at once */
    CHUNK = 20,   /* tiles of rows, or of columns, that a thread takes at once */
    THREADS = 64,
    STACK = 1 << 20, /* of a thread: a packed factor stands there */
    PRODUCTS = 2000 /* of residues modulo p < 2^22, added to one */
};

/* An int8 entry is any number from -128 to 127: it stands for its residue, and is 0 if and only if that is. A sum of
   HEIGHT products of such an entry with one that may be in 0..250, and one entry more, is below 2^24: exact in int32
   and in float32. Divided by p in float32 it is wrong by less than 0.009, so what is left after subtracting the nearest
   multiple of p is at most 127 in absolute value. */
_Static_assert(HEIGHT * (MOST - 1) * 128 + 128 < 1 << 24, "sums of products would not be exact in float32");
_Static_assert(2 * 1000 * ((1LL << 24) / LEAST + 1) < 9 * (1LL << 24), "quotients would be too far from exact");
_Static_assert(509 * MOST < 128 * 1000, "residues would not fit in int8");
/* Residues modulo p, at most (p + 3) / 2, in float64. */
_Static_assert((PRODUCTS + 1) * ((1LL << 21) + 2) * ((1LL << 21) + 2) < 1LL << 53, "float64 would not be exact");

static inline float reduced(float x, float p, float inverse) /* adding 3/2 2^23 rounds to the nearest integer */
{
    float quotient = x * inverse + 12582912.0f;
    return x - (quotient - 12582912.0f) * p;
}

static inline double reduced_double(double x, double p, double inverse) /* the same with 3/2 2^52 */
{
    double quotient = x * inverse + 6755399441055744.0;
    return x - (quotient - 6755399441055744.0) * p;
}

static int64_t inverse_modulo(int64_t x, int64_t p) /* 0 if there is none */
{
    int64_t old = 0, now = 1, left = p, rest = (x % p + p) % p;
    while (rest) {
        int64_t quotient = left / rest, next = old - quotient * now;
        old = now, now = next;
        next = left - quotient * rest;
        left = rest, rest = next;
    }
    return left == 1 ? old : 0;
}

static ptrdiff_t at_most(ptrdiff_t x, ptrdiff_t y) { return x < y ? x : y; }

static ptrdiff_t in_blocks(ptrdiff_t length, ptrdiff_t size) { return (length + size - 1) / size; }

static int in_order(const void *x, const void *y) { return *(const int *)x - *(const int *)y; }

/* ---------------------------------------------------------------- work in parallel: `parts` calls of `work` */

typedef struct {
    void (*work)(void *, ptrdiff_t);
    void *job;
    ptrdiff_t parts, next;
} Shared;

static void *take_parts(void *pointer)
{
    Shared *shared = pointer;
    ptrdiff_t part;
    while ((part = __atomic_fetch_add(&shared->next, 1, __ATOMIC_RELAXED)) < shared->parts)
        shared->work(shared->job, part);
    return NULL;
}

static void in_parallel(int threads, ptrdiff_t parts, void (*work)(void *, ptrdiff_t), void *job)
{
    Shared shared = {work, job, parts, 0};
    pthread_t others[THREADS];
    pthread_attr_t attributes;
    int started = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    while (started + 1 < at_most(at_most(threads, THREADS), parts)
           && !pthread_create(&others[started], &attributes, take_parts, &shared))
        started++;
    pthread_attr_destroy(&attributes);
    take_parts(&shared); /* a thread that could not be started is not missed */
    for (int i = 0; i < started; i++)
        pthread_join(others[i], NULL);
}

/* ---------------------------------------------------------------- one elimination, four instruction sets

   A tile is ROWS x COLUMNS sums of products. Its left factor is packed as LEFT, its right one as RIGHT; in both GROUP
   numbers that one instruction multiplies and adds stand together. `multiply` adds up `groups` of them. */

typedef struct {
    int8_t *entries; /* of the part of the matrix that is left */
    ptrdiff_t stride, rows, columns;
    int height, threads, p;
    int rank, pivots[HEIGHT];            /* what was found, and the columns */
    int moves, from[HEIGHT], to[HEIGHT]; /* columns in front that stay: to the places of pivots further behind */
    int8_t *block, *next;                /* height x columns, as it stands and after the next operations */
    void *left, *right;                  /* packed factors */
} Panel;

#define ALONE __attribute__((noinline)) /* so that the sums stay in registers */
#define JOIN_(x, y) x##_##y
#define JOIN(x, y) JOIN_(x, y)

#ifdef __x86_64__
#include <immintrin.h>

#define ISA avx512vnni
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,fma")))
#define LEFT uint8_t
#define AS_LEFT(x) (uint8_t)((x) < 0 ? (x) + p : (x))
#define RIGHT int8_t
#define GROUP 4
#define ROWS 12
#define COLUMNS 32
TARGET static ALONE void multiply_avx512vnni(const LEFT *left, const RIGHT *right, ptrdiff_t groups, int32_t *sums)
{
    __m512i sum[ROWS][2];
#pragma GCC unroll 12
    for (int i = 0; i < ROWS; i++)
        sum[i][0] = sum[i][1] = _mm512_setzero_si512();
    for (; groups--; left += GROUP * ROWS, right += GROUP * COLUMNS) {
        __m512i first = _mm512_loadu_si512(right), second = _mm512_loadu_si512(right + 64);
#pragma GCC unroll 12
        for (int i = 0; i < ROWS; i++) {
            int32_t four;
            memcpy(&four, left + GROUP * i, 4);
            __m512i x = _mm512_set1_epi32(four);
            sum[i][0] = _mm512_dpbusd_epi32(sum[i][0], x, first);
            sum[i][1] = _mm512_dpbusd_epi32(sum[i][1], x, second);
        }
    }
#pragma GCC unroll 12
    for (int i = 0; i < ROWS; i++) {
        _mm512_storeu_si512(sums + COLUMNS * i, sum[i][0]);
        _mm512_storeu_si512(sums + COLUMNS * i + 16, sum[i][1]);
    }
}
#include "elimination.h"

#define ISA avx2
#define TARGET __attribute__((target("avx2,fma")))
#define LEFT int16_t
#define AS_LEFT(x) (int16_t)(x)
#define RIGHT int16_t
#define GROUP 2
#define ROWS 6
#define COLUMNS 16
TARGET static ALONE void multiply_avx2(const LEFT *left, const RIGHT *right, ptrdiff_t groups, int32_t *sums)
{
    __m256i sum[ROWS][2];
#pragma GCC unroll 6
    for (int i = 0; i < ROWS; i++)
        sum[i][0] = sum[i][1] = _mm256_setzero_si256();
    for (; groups--; left += GROUP * ROWS, right += GROUP * COLUMNS) {
        __m256i first = _mm256_loadu_si256((const __m256i *)right);
        __m256i second = _mm256_loadu_si256((const __m256i *)right + 1);
#pragma GCC unroll 6
        for (int i = 0; i < ROWS; i++) {
            int32_t two;
            memcpy(&two, left + GROUP * i, 4);
            __m256i x = _mm256_set1_epi32(two);
            sum[i][0] = _mm256_add_epi32(sum[i][0], _mm256_madd_epi16(x, first));
            sum[i][1] = _mm256_add_epi32(sum[i][1], _mm256_madd_epi16(x, second));
        }
    }
#pragma GCC unroll 6
    for (int i = 0; i < ROWS; i++) {
        _mm256_storeu_si256((__m256i *)(sums + COLUMNS * i), sum[i][0]);
        _mm256_storeu_si256((__m256i *)(sums + COLUMNS * i + 8), sum[i][1]);
    }
}
#include "elimination.h"
#endif

/* older clangs have dot products only where they are told that every machine has them */
#if defined(__aarch64__) && (defined(__linux__) || defined(__APPLE__)) \
    && (!defined(__clang__) || defined(__ARM_FEATURE_DOTPROD))
#define NEON
#include <arm_neon.h>

#define ISA neon
#ifdef __clang__
#define TARGET
#else
#define TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
#define LEFT int8_t
#define AS_LEFT(x) (int8_t)(x)
#define RIGHT int8_t
#define GROUP 4
#define ROWS 8
#define COLUMNS 12
TARGET static ALONE void multiply_neon(const LEFT *left, const RIGHT *right, ptrdiff_t groups, int32_t *sums)
{
    int32x4_t sum[ROWS][3];
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++)
        sum[i][0] = sum[i][1] = sum[i][2] = vdupq_n_s32(0);
    for (; groups--; left += GROUP * ROWS, right += GROUP * COLUMNS) {
        int8x16_t first = vld1q_s8(right), second = vld1q_s8(right + 16), third = vld1q_s8(right + 32);
#pragma GCC unroll 8
        for (int i = 0; i < ROWS; i++) {
            int32_t four;
            memcpy(&four, left + GROUP * i, 4);
            int8x16_t x = vreinterpretq_s8_s32(vdupq_n_s32(four));
            sum[i][0] = vdotq_s32(sum[i][0], x, first);
            sum[i][1] = vdotq_s32(sum[i][1], x, second);
            sum[i][2] = vdotq_s32(sum[i][2], x, third);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < ROWS; i++) {
        vst1q_s32(sums + COLUMNS * i, sum[i][0]);
        vst1q_s32(sums + COLUMNS * i + 4, sum[i][1]);
        vst1q_s32(sums + COLUMNS * i + 8, sum[i][2]);
    }
}
#include "elimination.h"
#endif

#define ISA plain
#define TARGET
#define LEFT float
#define AS_LEFT(x) (float)(x)
#define RIGHT float
#define GROUP 1
#define ROWS 4
#define COLUMNS 8
static ALONE void multiply_plain(const LEFT *left, const RIGHT *right, ptrdiff_t groups, int32_t *sums)
{
    float sum[ROWS * COLUMNS] = {0};
    for (; groups--; left += ROWS, right += COLUMNS)
        for (int i = 0; i < ROWS; i++)
            for (int j = 0; j < COLUMNS; j++)
                sum[COLUMNS * i + j] += left[i] * right[j];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        sums[i] = (int32_t)sum[i];
}
#include "elimination.h"

/* ---------------------------------------------------------------- which of them this machine has */

#ifdef __x86_64__
static int has_avx512vnni(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw")
           && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")
           && __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("fma");
}
static int has_avx2(void) { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#endif

#ifdef NEON
#ifdef __APPLE__
static int has_neon(void) { return 1; } /* dot products: every such processor of theirs */
#else
#include <sys/auxv.h>
static int has_neon(void) { return (getauxval(AT_HWCAP) >> 20) & 1; } /* HWCAP_ASIMDDP */
#endif
#endif

static int has_plain(void) { return 1; }

typedef struct {
    const char *name;
    int (*here)(void);
    int (*eliminate)(Panel *);
    ptrdiff_t (*rank)(double *, ptrdiff_t, ptrdiff_t, double);
} InstructionSet;

#define ENTRY(isa) {#isa, JOIN(has, isa), JOIN(eliminate, isa), JOIN(rank, isa)}
static const InstructionSet SETS[] = {
#ifdef __x86_64__
    ENTRY(avx512vnni), ENTRY(avx2),
#endif
#ifdef NEON
    ENTRY(neon),
#endif
    ENTRY(plain)};
enum { COUNT = sizeof SETS / sizeof SETS[0] };

static const InstructionSet *chosen(const char *name)
{
    for (int i = 0; i < COUNT; i++)
        if (!strcmp(name, SETS[i].name) && SETS[i].here())
            return &SETS[i];
    PyErr_Format(PyExc_ValueError, "the instruction set must be one that this machine has, got '%s'", name);
    return NULL;
}

/* ---------------------------------------------------------------- the functions of the module */

static PyObject *instruction_sets(PyObject *module, PyObject *nothing)
{
    PyObject *names = PyList_New(0);
    for (int i = 0; names && i < COUNT; i++) {
        PyObject *name = SETS[i].here() ? PyUnicode_FromString(SETS[i].name) : NULL;
        if (name && PyList_Append(names, name))
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    return names;
}

/* The buffer of a matrix with entries of this size and one of these formats. */
static int open_matrix(PyObject *object, Py_buffer *matrix, int flags, const char *formats, const char *what)
{
    if (PyObject_GetBuffer(object, matrix, flags | PyBUF_FORMAT | PyBUF_STRIDES))
        return 0;
    const char *format = matrix->format ? matrix->format : "B";
    if (*format == '@' || *format == '=')
        format++;
    if (matrix->ndim == 2 && format[0] && !format[1] && strchr(formats, format[0]))
        return 1;
    PyErr_Format(PyExc_TypeError, "the matrix must be %s with two axes, got %d of format '%s'", what, matrix->ndim,
                 format);
    PyBuffer_Release(matrix);
    return 0;
}

static PyObject *eliminate(PyObject *module, PyObject *arguments)
{
    PyObject *object;
    Py_ssize_t row, column, height;
    int threads, p;
    const char *name;
    Py_buffer matrix;
    if (!PyArg_ParseTuple(arguments, "Oinnnis", &object, &p, &row, &column, &height, &threads, &name))
        return NULL;
    const InstructionSet *set = chosen(name);
    if (!set || !open_matrix(object, &matrix, PyBUF_WRITABLE, "b", "int8"))
        return NULL;
    PyObject *answer = NULL;
    Py_ssize_t rows = matrix.shape[0], columns = matrix.shape[1];
    if (rows && columns && (matrix.strides[1] != 1 || matrix.strides[0] < columns))
        PyErr_SetString(PyExc_ValueError, "the rows of the matrix must be contiguous and apart from each other");
    else if (p != LEAST && p != 239 && p != 241 && p != MOST)
        PyErr_Format(PyExc_ValueError, "the prime must be 233, 239, 241 or 251, got %d", p);
    else if (row < 0 || row > rows || column < 0 || column > columns || height < 1 || height > HEIGHT || threads < 1)
        PyErr_Format(PyExc_ValueError,
                     "the panel must start in the matrix, with 1 to %d rows and at least one thread, got %zd, %zd, "
                     "%zd and %d",
                     HEIGHT, row, column, height, threads);
    else {
        Panel panel = {.entries = (int8_t *)matrix.buf + row * matrix.strides[0] + column,
                       .stride = matrix.strides[0], .rows = rows - row, .columns = columns - column,
                       .height = (int)at_most(height, rows - row), .threads = threads, .p = p};
        int failed;
        Py_BEGIN_ALLOW_THREADS
        failed = panel.height && panel.columns ? set->eliminate(&panel) : 0;
        Py_END_ALLOW_THREADS
        answer = failed ? PyErr_NoMemory() : PyLong_FromSsize_t(panel.rank);
    }
    PyBuffer_Release(&matrix);
    return answer;
}

/* Entries as residues at most p in absolute value; 0 if one is no integer below 2^52. */
static int load(const Py_buffer *matrix, double *entries, int64_t p)
{
    int floats = matrix->itemsize == 8 && matrix->format[strlen(matrix->format) - 1] == 'd';
    for (Py_ssize_t i = 0; i < matrix->shape[0]; i++) {
        const char *place = (const char *)matrix->buf + i * matrix->strides[0];
        for (Py_ssize_t j = 0; j < matrix->shape[1]; j++, place += matrix->strides[1]) {
            int64_t x;
            if (floats) {
                double value;
                memcpy(&value, place, 8);
                if (!(fabs(value) < 4503599627370496.0))
                    return 0;
                x = (int64_t)value;
                if ((double)x != value)
                    return 0;
            } else
                memcpy(&x, place, 8);
            *entries++ = (double)(x > p || x < -p ? x % p : x);
        }
    }
    return 1;
}

static PyObject *rank(PyObject *module, PyObject *arguments)
{
    PyObject *object;
    long long p;
    const char *name;
    Py_buffer matrix;
    if (!PyArg_ParseTuple(arguments, "OLs", &object, &p, &name))
        return NULL;
    const InstructionSet *set = chosen(name);
    if (!set || !open_matrix(object, &matrix, 0, sizeof(long) == 8 ? "dlq" : "dq", "float64 or int64"))
        return NULL;
    PyObject *answer = NULL;
    Py_ssize_t rows = matrix.shape[0], columns = matrix.shape[1];
    double *entries = NULL;
    if (p < 3 || p >= 1 << 22)
        PyErr_Format(PyExc_ValueError, "the prime must be odd and below 2^22, got %lld", p);
    else if (at_most(rows, columns) > PRODUCTS)
        PyErr_Format(PyExc_ValueError, "a matrix must have at most %d rows or columns, got %zd and %zd", PRODUCTS,
                     rows, columns);
    else if (!(entries = malloc(sizeof(double) * (rows * columns + 1))))
        PyErr_NoMemory();
    else if (!load(&matrix, entries, p))
        PyErr_SetString(PyExc_ValueError, "the entries of a float64 matrix must be integers below 2^52");
    else {
        ptrdiff_t found;
        Py_BEGIN_ALLOW_THREADS
        found = set->rank(entries, rows, columns, (double)p);
        Py_END_ALLOW_THREADS
        if (found < 0)
            PyErr_Format(PyExc_ValueError, "the modulus must be a prime, got %lld", p);
        else
            answer = PyLong_FromSsize_t(found);
    }
    free(entries);
    PyBuffer_Release(&matrix);
    return answer;
}

static PyMethodDef FUNCTIONS[] = {
    {"instruction_sets", instruction_sets, METH_NOARGS,
     "instruction_sets() -> list of names, those that this machine has, the fastest first"},
    {"eliminate", eliminate, METH_VARARGS,
     "eliminate(matrix, p, row, column, height, threads, instruction_set) -> number of pivots\n\n"
     "One step of an elimination modulo 233, 239, 241 or 251 of the part of an int8 matrix from (row, column) on: as many of its columns\n"
     "as there are pivots in its first rows (at most height) are cleared below these and moved to the front. The rank\n"
     "of the part is this number plus the rank from (row + height, column + pivots) on. Destroys the matrix."},
    {"rank", rank, METH_VARARGS,
     "rank(matrix, p, instruction_set) -> rank modulo a prime p < 2^22 of a small float64 or int64 matrix of integers"},
    {NULL, NULL, 0, NULL}};

static int set_version(PyObject *module) { return PyModule_AddIntConstant(module, "VERSION", VERSION); }

static PyModuleDef_Slot SLOTS[] = {{Py_mod_exec, (void *)set_version}, {0, NULL}};

static struct PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "lightning_sym_kernel", "Ranks over small prime fields, compiled.", 0, FUNCTIONS, SLOTS,
    NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_lightning_sym_kernel(void) { return PyModuleDef_Init(&MODULE); }
