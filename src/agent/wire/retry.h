/* Decides whether and when a failed request is retried. No system call. SPDX-License-Identifier:
 * Apache-2.0 */
#pragma once

#include "agent/wire/failure.h"

/* RETRY_LOADING_MS: the separate time limit while the server loads the model. */
enum { RETRY_TRIES_MAX = 4, RETRY_WAIT_MS = 120000, RETRY_LOADING_MS = 600000 };

struct retry {
	uint64_t random; /* state of the random numbers, seeded by the caller */
	int n_tries, tries_max;
	int64_t waited_ms, wait_max_ms;	    /* time waited so far, and its limit */
	int64_t loading_ms, loading_max_ms; /* time waited for loading, and its limit */
};

#define RETRY_INIT(seed)                                                                           \
	((struct retry){.random = (seed),                                                          \
		.tries_max = RETRY_TRIES_MAX,                                                      \
		.wait_max_ms = RETRY_WAIT_MS,                                                      \
		.loading_max_ms = RETRY_LOADING_MS})

/*
 * Count a failure, and return when to try again.
 * Shape:   the time that the server asked for; otherwise half a second, doubled with each failure
 * up to eight seconds, minus a random part of up to a quarter; two seconds while a model is loaded.
 * Returns: milliseconds to wait before the next try; -1: do not try again.
 */
int64_t retry_next(struct retry *r, const struct failure *f);
