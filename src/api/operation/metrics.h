/* The engine in numbers, as Prometheus reads them. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/buf.h"

#include <stdint.h>

/* What fronts and operations count. All but the reading is one addition. NULL counts nothing. */
struct metrics;

enum { METRICS_BYTES = 1 << 20 }; /* a buffer for metrics_write() */

/* What a front counts of itself: rows of the table in metrics.c. */
enum metrics_of {
	METRICS_CONNECTIONS,  /* open now: 1 and -1 */
	METRICS_REQUESTS,     /* under way now: 1 and -1 */
	METRICS_ANSWERS,      /* requests answered */
	METRICS_UNAUTHORIZED, /* requests without a token that is known */
	METRICS_FULL,	      /* connections or requests that found no room */
	METRICS_END_
};

/* Errors: ERR_NO_MEMORY. Owns: the caller, metrics_close(). */
int metrics_open(struct metrics **out, struct err *err);
void metrics_close(struct metrics *m);

/* What a front has more of, or less. */
void metrics_count(struct metrics *m, enum metrics_of what, int64_t by);
/* An operation was answered; @code: ERR_NONE or of its error. */
void metrics_answer(struct metrics *m, const struct operation *op, enum err_code code);

/*
 * Append everything that is counted: sessions, boxes, templates, steps, times, queues, refusals,
 * memory, the journal. It tells of everybody, so only the one who runs the engine, and principals
 * with metrics=yes, may ask: it is the same for both.
 *
 * Shape:   text/plain; version=0.0.4; charset=utf-8.
 * Limits:  METRICS_BYTES of @out are enough.
 * Blocks:  for a count of open sessions in the journal, and four small files.
 * Source:  prometheus.io/docs/instrumenting/exposition_formats.
 * Returns: 0; -EPERM, and nothing is appended, when the caller may not see it
 *          (principal_may_see_metrics()); -E2BIG, -ENOMEM.
 */
int metrics_write(struct buf *out, const struct operation_context *context);
