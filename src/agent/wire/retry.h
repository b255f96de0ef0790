/* The decision whether and when a failed request is retried. Makes no system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/failure.h"

/*
 * RETRY_WAIT_MS: how long a request may wait in all between its tries.
 * RETRY_LOADING_MS: how long it may wait in addition while the server loads the model.
 */
enum { RETRY_TRIES_MAX = 4, RETRY_WAIT_MS = 120000, RETRY_LOADING_MS = 600000 };

struct retry {
	uint64_t random; /* state of the random generator, seeded by the caller */
	int n_tries, tries_max;
	/* How long the request has waited so far, and the maximum. */
	int64_t waited_ms, wait_max_ms;
	/* How long the request has waited while the server loaded the model, and the maximum.
	 * These waits are not part of `waited_ms`. */
	int64_t loading_ms, loading_max_ms;
};

#define RETRY_INIT(seed)                                                                           \
	((struct retry){.random = (seed),                                                          \
		.tries_max = RETRY_TRIES_MAX,                                                      \
		.wait_max_ms = RETRY_WAIT_MS,                                                      \
		.loading_max_ms = RETRY_LOADING_MS})

/*
 * Count a failure, and return how long to wait before the next try.
 *
 * If the server asked for a wait, this wait is returned. Otherwise it is two seconds if the server
 * is loading the model. After other failures it is half a second, doubled with each failure up to
 * eight seconds, minus a random part of up to a quarter.
 * Returns: milliseconds; -1 if the request must not be tried again.
 */
int64_t retry_next(struct retry *r, const struct failure *f);
