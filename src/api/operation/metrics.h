/* Metrics of the engine, in the format of Prometheus. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/buf.h"

#include <stdint.h>

/* The counters of fronts and operations. Counting is one addition; with NULL nothing is counted. */
struct metrics;

enum { METRICS_BYTES = 1 << 20 }; /* maximum size of the output of metrics_write() */

/* The counters of a front: rows of the table in metrics.c. */
enum metrics_of {
	METRICS_CONNECTIONS,  /* open connections: add 1 or -1 */
	METRICS_REQUESTS,     /* running requests: add 1 or -1 */
	METRICS_ANSWERS,      /* answered requests */
	METRICS_UNAUTHORIZED, /* requests without a known token */
	METRICS_FULL,	      /* connections or requests refused for lack of room */
	METRICS_END_
};

/* Create the counters. Errors: ERR_NO_MEMORY. Owns: the caller, metrics_close(). */
int metrics_open(struct metrics **out, struct err *err);
void metrics_close(struct metrics *m);

/* Add @by to a counter of a front. */
void metrics_count(struct metrics *m, enum metrics_of what, int64_t by);
/* Count the answer of an operation; @code: ERR_NONE or the error's code. */
void metrics_answer(struct metrics *m, const struct operation *op, enum err_code code);

/*
 * Append all metrics: sessions, boxes, templates, steps, times, queues, refusals,
 * memory, the journal. They cover all owners, so only the operator of the engine, and principals
 * with metrics=yes, may read them.
 *
 * Shape:   text/plain; version=0.0.4; charset=utf-8.
 * Limits:  METRICS_BYTES of @out are enough.
 * Blocks:  for a count of open sessions in the journal, and four small files.
 * Source:  prometheus.io/docs/instrumenting/exposition_formats.
 * Returns: 0; -EPERM, and nothing is appended, when the caller may not read them
 *          (principal_may_see_metrics()); -E2BIG, -ENOMEM.
 */
int metrics_write(struct buf *out, const struct operation_context *context);
