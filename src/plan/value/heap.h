/* The resources of one evaluation: an arena, steps (fuel), depth; and the first failure.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fail_kind { FAIL_NONE, FAIL_ERROR, FAIL_FUEL, FAIL_MEMORY, FAIL_DEPTH, FAIL_FLOW, FAIL_TOOL };

enum {
	HEAP_N_BINS = 16,	    /* powers of two from 16 bytes on */
	HEAP_LARGE_BYTES = 1 << 15, /* minimum size of an allocation with its own chunk */
	HEAP_DEPTH_MAX = 400,	    /* depth of nested values in a walk */
	FAIL_MSG_BYTES = 512,
};

struct heap_limits {
	uint64_t fuel; /* steps: calls, iterations, and elements that built-ins visit */
	size_t bytes;
	uint32_t depth; /* nested calls */
};

/*
 * The heap of one evaluation. All objects exist until heap_done(): the heap has no garbage
 * collector. Invariant: once `kind` is set, every function that sees the failure returns the
 * failure unchanged.
 */
struct heap {
	char *at, *end; /* free part of the newest chunk */
	struct heap_chunk *chunks, *large;
	void *bins[HEAP_N_BINS];
	size_t used_bytes, max_bytes;
	uint64_t fuel;
	uint32_t depth;	  /* depth of a walk over values, see heap_enter() */
	uint64_t seed[2]; /* seed of hashes */
	uint32_t guard;	  /* label of the program counter, see machine/flow.c */
	uint32_t epoch;	  /* number of the last struct flow_event */
	bool is_python;	  /* numbers print as CPython prints them */
	enum fail_kind kind;
	char msg[FAIL_MSG_BYTES];
};

/* Initialise a heap. @seed: 16 bytes that an outsider cannot guess. Limits: memory is allocated
 * only when it is needed. */
void heap_init(struct heap *h, const struct heap_limits *limits, const uint64_t seed[2]);
void heap_done(struct heap *h);

/* Allocate memory aligned to 16 bytes; only heap_zero() clears it. Returns: NULL if the limit is
 * exceeded, with the failure set. */
void *heap_alloc(struct heap *h, size_t bytes);
void *heap_zero(struct heap *h, size_t bytes);
/* Return memory that heap_alloc() allocated with the same @bytes to the heap for reuse. */
void heap_release(struct heap *h, void *p, size_t bytes);
/*
 * Allocate a larger array and copy @n elements of @p to it. @p itself is not released: the caller
 * may pass it to heap_release(). Returns: NULL if the limit is exceeded.
 */
void *heap_regrow(struct heap *h, void *p, size_t n, size_t room, size_t size);

/* Record a failure; only the first one is kept. Returns: -1; the macros make this visible to
 * compilers and analysers. */
#define heap_fail(h, ...)	     heap_negative(heap_set_failure((h), FAIL_ERROR, __VA_ARGS__))
#define heap_fail_kind(h, kind, ...) heap_negative(heap_set_failure((h), (kind), __VA_ARGS__))
int heap_set_failure(struct heap *h, enum fail_kind kind, const char *fmt, ...) attr_printf(3, 4);

static inline int heap_negative(int r)
{
	return r < 0 ? r : -1;
}

/* Pay for @steps. Returns: 0; -1 if the fuel is used up. */
int heap_out_of_fuel(struct heap *h);
static inline int heap_pay(struct heap *h, uint64_t steps)
{
	return h->fuel >= steps ? (h->fuel -= steps, 0) : heap_out_of_fuel(h);
}

/* Enter a nested value, and leave it. Returns: 0; -1 if HEAP_DEPTH_MAX is exceeded. */
int heap_enter(struct heap *h);
void heap_leave(struct heap *h);
