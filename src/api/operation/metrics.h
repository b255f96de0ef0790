/* Metrics of the engine, in the format of Prometheus. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "base/buf.h"

#include <stdint.h>

/* Counters of fronts and operations. All functions that count accept NULL, and then count
 * nothing. */
struct metrics;

enum { METRICS_BYTES = 1 << 20 }; /* maximum size of what metrics_write() appends */

/* Counters of a front. Each is a row of the table in metrics.c. */
enum metrics_of {
	METRICS_CONNECTIONS,  /* number of open connections: add 1 or -1 */
	METRICS_REQUESTS,     /* number of running requests: add 1 or -1 */
	METRICS_ANSWERS,      /* answered requests */
	METRICS_UNAUTHORIZED, /* requests without a valid token */
	METRICS_FULL, /* connections or requests that were refused, because a limit was reached */
	METRICS_END_
};

/* Create the counters. Errors: ERR_NO_MEMORY. Owns: the caller calls metrics_close(). */
int metrics_open(struct metrics **out, struct err *err);
void metrics_close(struct metrics *m);

/* Add @by to a counter of a front. */
void metrics_count(struct metrics *m, enum metrics_of what, int64_t by);
/* Count an answer of @op. @code: ERR_NONE, or the code of the error. */
void metrics_answer(struct metrics *m, const struct operation *op, enum err_code code);

/*
 * Append all metrics: of sessions, boxes, templates, steps, queues, refusals, memory and the
 * journal. They contain numbers of all owners. So only the operator and principals with metrics=yes
 * may read them.
 *
 * Shape:   text/plain; version=0.0.4; charset=utf-8.
 * Limits:  @out must have room for METRICS_BYTES.
 * Blocks:  while it counts open sessions in the journal and reads four small files.
 * Source:  prometheus.io/docs/instrumenting/exposition_formats.
 * Returns: 0; -EPERM if the caller may not read metrics (see principal_may_see_metrics()); -E2BIG,
 * -ENOMEM. After an error nothing is appended.
 */
int metrics_write(struct buf *out, const struct operation_context *context);
