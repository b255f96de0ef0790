/* The resources of one evaluation: memory in an arena, a budget of steps (fuel), and the first
 * failure. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/attr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fail_kind { FAIL_NONE, FAIL_ERROR, FAIL_FUEL, FAIL_MEMORY, FAIL_DEPTH, FAIL_FLOW, FAIL_TOOL };

enum {
	HEAP_N_BINS = 16,	    /* bins for pieces of 16, 32, 64, … bytes */
	HEAP_LARGE_BYTES = 1 << 15, /* an allocation of this size or more gets a chunk of its own */
	HEAP_DEPTH_MAX = 400,	    /* how deeply values may be nested, such as lists in lists */
	FAIL_MSG_BYTES = 512,
};

struct heap_limits {
	uint64_t fuel; /* budget of steps: calls, iterations, and elements that built-ins visit */
	size_t bytes;
	uint32_t depth; /* nested calls */
};

/* The heap of one evaluation. All objects exist until heap_done(): the heap has no garbage
 * collector. Once a failure is set in `kind`, each function that sees the failure passes it to its
 * caller unchanged. */
struct heap {
	char *at, *end; /* unused part of the newest chunk */
	struct heap_chunk *chunks, *large;
	void *bins[HEAP_N_BINS];
	size_t used_bytes, max_bytes;
	uint64_t fuel;
	uint32_t depth;	  /* current depth of a walk over nested values, see heap_enter() */
	uint64_t seed[2]; /* seed of hashes */
	uint32_t guard;	  /* label of the program counter, see machine/flow.c */
	uint32_t epoch;	  /* epoch of the latest struct flow_event */
	bool is_python;	  /* write values as CPython does, not as Starlark does */
	enum fail_kind kind;
	char msg[FAIL_MSG_BYTES];
};

/* Initialise a heap. @seed is 16 random bytes, which make hashes unpredictable. No memory is
 * allocated before it is needed. */
void heap_init(struct heap *h, const struct heap_limits *limits, const uint64_t seed[2]);
void heap_done(struct heap *h);

/* Allocate memory aligned to 16 bytes. heap_zero() also clears it. Returns: NULL with the failure
 * set if the limit is exceeded. */
void *heap_alloc(struct heap *h, size_t bytes);
void *heap_zero(struct heap *h, size_t bytes);
/* Return memory to the heap for reuse. @bytes is the size with which it was allocated. */
void heap_release(struct heap *h, void *p, size_t bytes);
/* Allocate an array of @room elements of @size bytes, and copy the @n elements of @p to it. @p
 * itself is not released: the caller may pass it to heap_release(). Returns: NULL with the failure
 * set if the limit is exceeded. */
void *heap_regrow(struct heap *h, void *p, size_t n, size_t room, size_t size);

/* Record a failure, unless one was recorded before. Returns: -1. heap_fail() and heap_fail_kind()
 * are macros, so that compilers and analysers see that the result is negative. */
#define heap_fail(h, ...)	     heap_negative(heap_set_failure((h), FAIL_ERROR, __VA_ARGS__))
#define heap_fail_kind(h, kind, ...) heap_negative(heap_set_failure((h), (kind), __VA_ARGS__))
int heap_set_failure(struct heap *h, enum fail_kind kind, const char *fmt, ...) attr_printf(3, 4);

static inline int heap_negative(int r)
{
	return r < 0 ? r : -1;
}

/* heap_pay(): subtract @steps from the fuel. Returns: 0; -1 with the failure set if the fuel is
 * used up. */
int heap_out_of_fuel(struct heap *h);
static inline int heap_pay(struct heap *h, uint64_t steps)
{
	return h->fuel >= steps ? (h->fuel -= steps, 0) : heap_out_of_fuel(h);
}

/* Count one more level of nested values (heap_enter()) or one less (heap_leave()) in a walk.
 * Returns: 0; -1 with the failure set if HEAP_DEPTH_MAX is exceeded. */
int heap_enter(struct heap *h);
void heap_leave(struct heap *h);
