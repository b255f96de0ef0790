/* SPDX-License-Identifier: Apache-2.0 */
#include "function.h"

#include "base/attr.h"
#include "regexp.h"
#include "series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MEDIAN_VALUES_MAX = 16 << 20, FIRST_ROOM = 64 };

/* ---- median ---- */

struct values {
	double *list;
	size_t n, room;
};

static int add_value(struct values *v, double value)
{
	if (v->n == v->room) {
		size_t room = v->room > 0 ? v->room * 2 : FIRST_ROOM;
		double *list = room > MEDIAN_VALUES_MAX
			? NULL
			: sqlite3_realloc64(v->list, room * sizeof *list);
		if (!list)
			return SQLITE_NOMEM;
		v->list = list;
		v->room = room;
	}
	v->list[v->n++] = value;
	return SQLITE_OK;
}

static void median_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	struct values *v = sqlite3_aggregate_context(ctx, sizeof *v);
	int type = sqlite3_value_numeric_type(argv[0]);
	if (!v || (type != SQLITE_INTEGER && type != SQLITE_FLOAT))
		return;
	if (add_value(v, sqlite3_value_double(argv[0])) != SQLITE_OK)
		sqlite3_result_error(ctx, "median: more than 16 million values, or no memory", -1);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void median_end(sqlite3_context *ctx)
{
	struct values *v = sqlite3_aggregate_context(ctx, 0);
	if (v && v->n > 0) {
		qsort(v->list, v->n, sizeof *v->list, compare);
		double middle = v->list[v->n / 2];
		if (v->n % 2 == 0)
			middle = middle / 2 + v->list[v->n / 2 - 1] / 2;
		sqlite3_result_double(ctx, middle);
	}
	if (v)
		sqlite3_free(v->list);
}

/* ---- variance ---- */

/*
 * The state of Welford's algorithm, which computes a variance in one pass and loses no digits by
 * cancellation. Source: Welford, Technometrics 4 (1962).
 */
struct spread {
	double n, mean, squares;
};

static void spread_step(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	struct spread *s = sqlite3_aggregate_context(ctx, sizeof *s);
	int type = sqlite3_value_numeric_type(argv[0]);
	if (!s || (type != SQLITE_INTEGER && type != SQLITE_FLOAT))
		return;
	double value = sqlite3_value_double(argv[0]), delta = value - s->mean;
	s->n++;
	s->mean += delta / s->n;
	s->squares += delta * (value - s->mean);
}

enum { SPREAD_POPULATION = 1, SPREAD_ROOT = 2 };

static const int spread_kinds[] = {0, 1, 2, 3};

static void spread_end(sqlite3_context *ctx)
{
	const int kind = *(const int *)sqlite3_user_data(ctx);
	const struct spread *s = sqlite3_aggregate_context(ctx, 0);
	double divisor = s ? s->n - (kind & SPREAD_POPULATION ? 0 : 1) : 0;
	if (divisor <= 0)
		return;
	double variance = s->squares / divisor;
	sqlite3_result_double(ctx, kind & SPREAD_ROOT ? sqrt(variance) : variance);
}

/* ---- random ---- */

/* Return the next number of a SplitMix64 generator. Source: Steele, Lea, Flood, OOPSLA 2014. */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void random_integer(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	(void)argv;
	sqlite3_result_int64(ctx, (sqlite3_int64)next_random(sqlite3_user_data(ctx)));
}

static void random_blob(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	(void)argc;
	sqlite3_int64 n = MAX(sqlite3_value_int64(argv[0]), 1);
	sqlite3_int64 limit =
		sqlite3_limit(sqlite3_context_db_handle(ctx), SQLITE_LIMIT_LENGTH, -1);
	unsigned char *out = n > limit ? NULL : sqlite3_malloc64((sqlite3_uint64)n);
	if (!out) {
		sqlite3_result_error_toobig(ctx);
		return;
	}
	for (sqlite3_int64 i = 0; i < n; i++)
		out[i] = (unsigned char)next_random(sqlite3_user_data(ctx));
	sqlite3_result_blob64(ctx, out, (sqlite3_uint64)n, sqlite3_free);
}

int function_register(sqlite3 *db, uint64_t *random)
{
	static const struct {
		const char *name;
		int kind;
	} spreads[] = {{"variance", 0}, {"var_pop", SPREAD_POPULATION}, {"stddev", SPREAD_ROOT},
		{"stddev_pop", SPREAD_ROOT | SPREAD_POPULATION}};
	const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
	int rc = sqlite3_create_function(
		db, "median", 1, flags, NULL, NULL, median_step, median_end);
	for (size_t i = 0; rc == SQLITE_OK && i < ARRAY_LEN(spreads); i++)
		rc = sqlite3_create_function(db, spreads[i].name, 1, flags,
			(void *)(uintptr_t)&spread_kinds[spreads[i].kind], NULL, spread_step,
			spread_end);
	const int varying = SQLITE_UTF8 | SQLITE_INNOCUOUS;
	if (rc == SQLITE_OK && random)
		rc = sqlite3_create_function(
			db, "random", 0, varying, random, random_integer, NULL, NULL);
	if (rc == SQLITE_OK && random)
		rc = sqlite3_create_function(
			db, "randomblob", 1, varying, random, random_blob, NULL, NULL);
	if (rc == SQLITE_OK)
		rc = regexp_register(db);
	return rc == SQLITE_OK ? series_register(db) : rc;
}
