/* Whether to ask again, and when. No system call. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/wire/failure.h"

/* Waiting for a model that loads has a budget of its own. */
enum { RETRY_TRIES_MAX = 4, RETRY_WAIT_MS = 120000, RETRY_LOADING_MS = 600000 };

struct retry {
	uint64_t random; /* seeded by the caller */
	int n_tries, tries_max;
	int64_t waited_ms, wait_max_ms;	    /* in all */
	int64_t loading_ms, loading_max_ms; /* the same for LOADING */
};

#define RETRY_INIT(seed)                                                                           \
	((struct retry){.random = (seed),                                                          \
		.tries_max = RETRY_TRIES_MAX,                                                      \
		.wait_max_ms = RETRY_WAIT_MS,                                                      \
		.loading_max_ms = RETRY_LOADING_MS})

/*
 * Count one more failure.
 * Shape:   what the server asked for; else half a second, doubled each time up to eight, less up to
 *          a quarter at random; two seconds while a model loads.
 * Returns: milliseconds to wait before the next try; -1: do not try again.
 */
int64_t retry_next(struct retry *r, const struct failure *f);
