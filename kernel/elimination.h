/* The eliminations for one instruction set; kernel.c says what ISA, TARGET, LEFT, AS_LEFT, RIGHT, GROUP, ROWS and
   COLUMNS are. Included once for each. */

#define NAME(function) JOIN(function, ISA)

/* A left factor for `multiply`: the entries in these `depth` columns. */
TARGET static void NAME(pack_left)(const int8_t *entries, ptrdiff_t stride, ptrdiff_t rows, const int *columns,
                                   ptrdiff_t depth, LEFT *packed, int p)
{
    (void)p;
    for (ptrdiff_t tile = 0; tile < rows; tile += ROWS)
        for (ptrdiff_t k = 0; k < depth; k += GROUP)
            for (ptrdiff_t i = tile; i < tile + ROWS; i++)
                for (ptrdiff_t g = k; g < k + GROUP; g++)
                    *packed++ = i < rows && g < depth ? AS_LEFT(entries[i * stride + columns[g]]) : 0;
}

/* A right factor of at most COLUMNS columns. */
TARGET static void NAME(pack_right)(const int8_t *entries, ptrdiff_t stride, ptrdiff_t depth, ptrdiff_t columns,
                                    RIGHT *packed)
{
    for (ptrdiff_t k = 0; k < depth; k += GROUP)
        for (ptrdiff_t j = 0; j < COLUMNS; j++)
            for (ptrdiff_t g = k; g < k + GROUP; g++)
                *packed++ = j < columns && g < depth ? entries[g * stride + j] : 0;
}

/* target -= left right modulo p: as much of a tile as there is. */
TARGET static inline void NAME(subtract)(int8_t *target, ptrdiff_t stride, ptrdiff_t rows, ptrdiff_t columns,
                                         const LEFT *left, const RIGHT *right, ptrdiff_t groups, float p)
{
    const float inverse = 1 / p;
    int32_t sums[ROWS * COLUMNS] __attribute__((aligned(64)));
    int8_t tile[ROWS * COLUMNS] __attribute__((aligned(64))) = {0};
    const ptrdiff_t height = at_most(rows, ROWS);
    NAME(multiply)(left, right, groups, sums);
    for (ptrdiff_t i = 0; i < height; i++)
        if (columns >= COLUMNS) /* a length that the compiler knows */
            memcpy(tile + i * COLUMNS, target + i * stride, COLUMNS);
        else
            memcpy(tile + i * COLUMNS, target + i * stride, columns);
    for (int i = 0; i < ROWS * COLUMNS; i++)
        tile[i] = (int8_t)reduced((float)(tile[i] - sums[i]), p, inverse);
    for (ptrdiff_t i = 0; i < height; i++)
        if (columns >= COLUMNS)
            memcpy(target + i * stride, tile + i * COLUMNS, COLUMNS);
        else
            memcpy(target + i * stride, tile + i * COLUMNS, columns);
}

/* row -= sum of factors times sources, not reduced */
TARGET static inline void NAME(clear)(float *restrict row, const float *const *sources, const float *factors,
                                      ptrdiff_t length)
{
    for (ptrdiff_t j = 0; j < length; j++) {
        float x = row[j];
#pragma GCC unroll 8
        for (int q = 0; q < TOGETHER; q++)
            x -= factors[q] * sources[q][j];
        row[j] = x;
    }
}

TARGET static inline void NAME(scale)(float *row, float factor, ptrdiff_t length, float p)
{
    const float inverse = 1 / p;
    for (ptrdiff_t j = 0; j < length; j++)
        row[j] = reduced(row[j] * factor, p, inverse);
}

/* Brings the live rows of a window to reduced echelon form and clears all rows in the pivots: a 1 each. A row is
   `width` residues and, behind them, a row of the identity, which becomes a row of the operations. `pivots` are places
   in the window, where there is one. TOGETHER pivot rows are cleared in each other first, then all at once in the rest,
   which is reduced only when its turn comes: it has at most HEIGHT products added up. */
TARGET static void NAME(row_operations)(float *window, int height, int width, const char *live, int *pivots,
                                        float p)
{
    const float inverse = 1 / p;
    const ptrdiff_t length = width + height;
    for (int i = 0; i < height;) {
        const float *sources[TOGETHER];
        int chosen[TOGETHER], count = 0;
        float factors[TOGETHER] = {0};
        for (; i < height && count < TOGETHER; i++) {
            float *row = window + i * length;
            int column = 0;
            if (!live[i])
                continue;
            for (int q = 0; q < count; q++)
                factors[q] = reduced(row[pivots[chosen[q]]], p, inverse);
            if (count)
                NAME(clear)(row, sources, factors, length);
            NAME(scale)(row, 1, length, p);
            while (column < width && row[column] == 0)
                column++;
            if (column == width)
                continue;
            NAME(scale)(row, reduced((float)inverse_modulo((int64_t)row[column], (int64_t)p), p, inverse), length, p);
            for (int q = 0; q < count; q++) {
                float *other = window + chosen[q] * length;
                const float factor = other[column];
                for (ptrdiff_t j = 0; j < length; j++)
                    other[j] = reduced(other[j] - factor * row[j], p, inverse);
            }
            pivots[i] = column;
            chosen[count] = i;
            for (int q = count++; q < TOGETHER; q++)
                sources[q] = row; /* those behind it have the factor zero until they are others */
        }
        for (int k = 0, next = 0; k < height && count; k++) {
            float *row = window + k * length, some = 0;
            if (next < count && chosen[next] == k) {
                next++;
                continue;
            }
            for (int q = 0; q < TOGETHER; q++) {
                factors[q] = q < count ? reduced(row[pivots[chosen[q]]], p, inverse) : 0;
                some += factors[q] * factors[q];
            }
            if (some > 0)
                NAME(clear)(row, sources, factors, width + i); /* no operation uses a later row yet */
        }
    }
}

/* next = operations * block, a few strips of columns */
TARGET static void NAME(operate)(void *job, ptrdiff_t part)
{
    Panel *panel = job;
    const ptrdiff_t groups = in_blocks(panel->height, GROUP), end = (part + 1) * CHUNK * COLUMNS;
    RIGHT right[COLUMNS * (HEIGHT + GROUP)] __attribute__((aligned(64)));
    for (ptrdiff_t j = part * CHUNK * COLUMNS; j < at_most(end, panel->columns); j += COLUMNS) {
        NAME(pack_right)(panel->block + j, panel->columns, panel->height, panel->columns - j, right);
        for (ptrdiff_t i = 0; i < panel->height; i += ROWS)
            NAME(subtract)(panel->next + i * panel->columns + j, panel->columns, panel->height - i,
                           panel->columns - j, (const LEFT *)panel->left + i * groups * GROUP, right, groups,
                           (float)panel->p);
    }
}

TARGET static void NAME(pack)(void *job, ptrdiff_t part)
{
    Panel *panel = job;
    const ptrdiff_t depth = in_blocks(panel->rank, GROUP) * GROUP, rest = panel->columns - panel->rank;
    for (ptrdiff_t j = part * CHUNK * COLUMNS; j < at_most((part + 1) * CHUNK * COLUMNS, rest); j += COLUMNS)
        NAME(pack_right)(panel->block + panel->rank + j, panel->columns, panel->rank, rest - j,
                         (RIGHT *)panel->right + j * depth);
}

/* Clears some rows below in the pivot columns, and moves columns from in front of their place. */
TARGET static void NAME(update)(void *job, ptrdiff_t part)
{
    Panel *panel = job;
    const ptrdiff_t start = panel->height + part * CHUNK * ROWS, groups = in_blocks(panel->rank, GROUP);
    const ptrdiff_t rows = at_most(panel->rows - start, CHUNK * ROWS), rest = panel->columns - panel->rank;
    int8_t *entries = panel->entries + start * panel->stride;
    LEFT left[CHUNK * ROWS * (HEIGHT + GROUP)] __attribute__((aligned(64)));
    NAME(pack_left)(entries, panel->stride, rows, panel->pivots, panel->rank, left, panel->p);
    for (ptrdiff_t i = 0; i < rows; i++)
        for (int k = 0; k < panel->moves; k++)
            entries[i * panel->stride + panel->to[k]] = entries[i * panel->stride + panel->from[k]];
    for (ptrdiff_t j = 0; j < rest; j += COLUMNS)
        for (ptrdiff_t i = 0; i < rows; i += ROWS)
            NAME(subtract)(entries + i * panel->stride + panel->rank + j, panel->stride, rows - i, rest - j,
                           left + i * groups * GROUP, (const RIGHT *)panel->right + j * groups * GROUP, groups,
                           (float)panel->p);
}

/* Brings the block to reduced echelon form; `pivots` are columns, -1 in rows that are zero. Pivots are sought in a
   window, some columns of all rows. Where rows are left that are zero there and not elsewhere, the next window has the
   first entry of each of them, so at least one more has a pivot. */
TARGET static void NAME(echelon)(Panel *panel, float *window, int8_t *operations, int *pivots)
{
    const ptrdiff_t height = panel->height, columns = panel->columns;
    const float p = (float)panel->p;
    int width = (int)at_most(height + SPARE, columns), places[HEIGHT + SPARE], all[HEIGHT], found[HEIGHT];
    char live[HEIGHT]; /* rows without a pivot that are not zero, or not known to be */
    for (int i = 0; i < height; i++)
        live[i] = 1, pivots[i] = -1, all[i] = i;
    for (int j = 0; j < width; j++)
        places[j] = j;
    for (;;) {
        const ptrdiff_t length = width + height;
        int leading[HEIGHT], more = 0, used = 0;
        for (int i = 0; i < height; i++) {
            float *row = window + i * length;
            for (int j = 0; j < width; j++)
                row[j] = panel->block[i * columns + places[j]];
            for (int j = 0; j < height; j++)
                row[width + j] = i == j;
            found[i] = -1;
        }
        NAME(row_operations)(window, (int)height, width, live, found, (float)panel->p);
        for (int i = 0; i < height; i++)
            if (found[i] >= 0)
                pivots[i] = places[found[i]], live[i] = 0, used = 1;
        if (used) {
            for (int i = 0; i < height; i++)
                for (int j = 0; j < height; j++)
                    operations[i * height + j] = (int8_t)-reduced(window[i * length + width + j], p, 1 / p);
            NAME(pack_left)(operations, height, height, all, height, panel->left, panel->p);
            memset(panel->next, 0, height * columns);
            in_parallel(panel->threads, in_blocks(columns, CHUNK * COLUMNS), NAME(operate), panel);
            int8_t *block = panel->next;
            panel->next = panel->block, panel->block = block;
        }
        for (int i = 0; i < height; i++) {
            ptrdiff_t j = 0;
            while (live[i] && j < columns && !panel->block[i * columns + j])
                j++;
            live[i] = live[i] && j < columns;
            if (live[i])
                leading[more++] = (int)j;
        }
        if (!more)
            return;
        qsort(leading, more, sizeof *leading, in_order);
        width = 0;
        for (int k = 0; k < more; k++)
            if (!k || leading[k] != leading[k - 1])
                places[width++] = leading[k];
        for (int j = leading[0], k = 0; j < columns && width < at_most(height + SPARE, columns); j++) {
            while (k < more && leading[k] < j)
                k++;
            if (k == more || leading[k] != j)
                places[width++] = j;
        }
    }
}

/* The step that `eliminate` of the module takes; 1 if there is no memory for it. */
TARGET static int NAME(eliminate)(Panel *panel)
{
    const ptrdiff_t height = panel->height, columns = panel->columns, tall = in_blocks(height, ROWS) * ROWS;
    const ptrdiff_t wide = in_blocks(columns, COLUMNS) * COLUMNS, deep = height + GROUP;
    float *window = malloc(sizeof(float) * height * (2 * height + SPARE));
    int8_t *blocks[2] = {malloc(height * columns), malloc(height * columns)};
    int8_t *operations = malloc(height * height);
    int pivots[HEIGHT];
    char is_pivot[HEIGHT] = {0};
    int failed = 1;
    panel->left = malloc(sizeof(LEFT) * tall * deep);
    panel->right = malloc(sizeof(RIGHT) * wide * deep);
    if (window && blocks[0] && blocks[1] && operations && panel->left && panel->right) {
        failed = 0;
        panel->block = blocks[0], panel->next = blocks[1];
        for (ptrdiff_t i = 0; i < height; i++)
            memcpy(panel->block + i * columns, panel->entries + i * panel->stride, columns);
        NAME(echelon)(panel, window, operations, pivots);
        for (ptrdiff_t i = 0; i < height; i++)
            if (pivots[i] >= 0) {
                memmove(panel->block + panel->rank * columns, panel->block + i * columns, columns);
                panel->pivots[panel->rank++] = pivots[i];
            }
        for (int i = 0; i < panel->rank; i++)
            if (panel->pivots[i] < panel->rank)
                is_pivot[panel->pivots[i]] = 1;
        for (int i = 0, stays = 0; i < panel->rank; i++)
            if (panel->pivots[i] >= panel->rank) {
                while (is_pivot[stays])
                    stays++;
                panel->from[panel->moves] = stays++;
                panel->to[panel->moves++] = panel->pivots[i];
            }
        for (ptrdiff_t i = 0; i < panel->rank; i++)
            for (int k = 0; k < panel->moves; k++)
                panel->block[i * columns + panel->to[k]] = panel->block[i * columns + panel->from[k]];
        if (panel->rank && columns > panel->rank && panel->rows > height) {
            const ptrdiff_t strips = in_blocks(columns - panel->rank, COLUMNS);
            in_parallel(panel->threads, in_blocks(strips, CHUNK), NAME(pack), panel);
            in_parallel(panel->threads, in_blocks(panel->rows - height, CHUNK * ROWS), NAME(update), panel);
        }
    }
    free(window), free(blocks[0]), free(blocks[1]), free(operations), free(panel->left), free(panel->right);
    return failed;
}

/* Rank of residues modulo p, which are destroyed; -1 if p is no prime. A row is reduced when its turn comes. */
TARGET static ptrdiff_t NAME(rank)(double *entries, ptrdiff_t rows, ptrdiff_t columns, double p)
{
    const double by = 1 / p;
    ptrdiff_t found = 0; /* pivots, in the columns in front */
    for (ptrdiff_t i = 0; i < rows && found < columns; i++) {
        double *restrict row = entries + i * columns;
        ptrdiff_t column = found;
        for (ptrdiff_t j = found; j < columns; j++)
            row[j] = reduced_double(row[j], p, by);
        while (column < columns && row[column] == 0)
            column++;
        if (column == columns)
            continue;
        for (ptrdiff_t k = i; column > found && k < rows; k++) {
            double *other = entries + k * columns, moved = other[found];
            other[found] = other[column], other[column] = moved;
        }
        const double inverse = (double)inverse_modulo((int64_t)row[found], (int64_t)p);
        if (inverse == 0)
            return -1;
        const double factor = reduced_double(inverse, p, by);
        for (ptrdiff_t j = found; j < columns; j++)
            row[j] = reduced_double(row[j] * factor, p, by);
        for (ptrdiff_t k = i + 1; k < rows; k++) {
            double *restrict other = entries + k * columns;
            const double multiple = reduced_double(other[found], p, by);
            if (multiple != 0)
                for (ptrdiff_t j = found + 1; j < columns; j++)
                    other[j] -= multiple * row[j];
        }
        found++;
    }
    return found;
}

#undef NAME
#undef ISA
#undef TARGET
#undef LEFT
#undef AS_LEFT
#undef RIGHT
#undef GROUP
#undef ROWS
#undef COLUMNS
