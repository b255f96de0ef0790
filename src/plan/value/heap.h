/* The resources of one evaluation: an arena, steps (fuel), depth; and its first failure.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fail_kind { FAIL_NONE, FAIL_ERROR, FAIL_FUEL, FAIL_MEMORY, FAIL_DEPTH, FAIL_FLOW, FAIL_TOOL };

enum {
	HEAP_N_BINS = 16,	    /* powers of two from 16 bytes on */
	HEAP_LARGE_BYTES = 1 << 15, /* from here on a piece has storage of its own */
	HEAP_DEPTH_MAX = 400,	    /* of values within values, when one is walked */
	FAIL_MSG_BYTES = 512,
};

struct heap_limits {
	uint64_t fuel; /* steps: calls, iterations, and elements that built-ins visit */
	size_t bytes;
	uint32_t depth; /* calls within calls */
};

/*
 * All objects live until heap_done(): there is no garbage collector.
 * Invariant: once `kind` is set, every function that sees the failure returns it unchanged.
 */
struct heap {
	char *at, *end; /* the free part of the newest chunk */
	struct heap_chunk *chunks, *large;
	void *bins[HEAP_N_BINS];
	size_t used_bytes, max_bytes;
	uint64_t fuel;
	uint32_t depth;	  /* of a walk over values, see heap_enter() */
	uint64_t seed[2]; /* of hashes */
	uint32_t guard;	  /* the program counter label, see machine/flow.c */
	uint32_t epoch;	  /* number of the last struct flow_event */
	bool is_python;	  /* numbers print as CPython prints them */
	bool is_frozen;	  /* nothing that was made may change any more */
	enum fail_kind kind;
	char msg[FAIL_MSG_BYTES];
};

/* Limits: nothing is allocated before it is needed. @seed: 16 bytes no outsider can guess. */
void heap_init(struct heap *h, const struct heap_limits *limits, const uint64_t seed[2]);
void heap_done(struct heap *h);

/* Memory, not cleared, aligned to 16 bytes. Returns: NULL over the limit, with the failure set. */
void *heap_alloc(struct heap *h, size_t bytes);
void *heap_zero(struct heap *h, size_t bytes);
/* Give back what heap_alloc() gave for the same @bytes, so that it can be used again. */
void heap_release(struct heap *h, void *p, size_t bytes);
/*
 * A larger array, into which @n elements of @p are copied. @p is as it was: its memory is used
 * again after heap_release() only. Returns: NULL over the limit.
 */
void *heap_regrow(struct heap *h, void *p, size_t n, size_t room, size_t size);

/* Record what went wrong; the first cause stays. Returns: -1, which compilers and analysers see. */
#define heap_fail(h, ...)	     heap_negative(heap_set_failure((h), FAIL_ERROR, __VA_ARGS__))
#define heap_fail_kind(h, kind, ...) heap_negative(heap_set_failure((h), (kind), __VA_ARGS__))
int heap_set_failure(struct heap *h, enum fail_kind kind, const char *fmt, ...) attr_printf(3, 4);

static inline int heap_negative(int r)
{
	return r < 0 ? r : -1;
}

/* Pay for @steps. Returns: 0, or -1 when there is no fuel left. */
int heap_out_of_fuel(struct heap *h);
static inline int heap_pay(struct heap *h, uint64_t steps)
{
	return h->fuel >= steps ? (h->fuel -= steps, 0) : heap_out_of_fuel(h);
}

/* One level further into a value, and back. Returns: 0, or -1 over HEAP_DEPTH_MAX. */
int heap_enter(struct heap *h);
void heap_leave(struct heap *h);
