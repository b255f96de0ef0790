/* The heap of one evaluation: an arena that keeps released pieces in bins for reuse.
 * SPDX-License-Identifier: Apache-2.0 */
#include "plan/value/heap.h"

#include "base/pages.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 1 << 16, CHUNK_MOST_BYTES = 1 << 24, ALIGN = 16 };

/* The header of a chunk of the arena, or of one large allocation. Both kinds are kept in doubly
 * linked lists. */
struct heap_chunk {
	struct heap_chunk *next, *before;
	size_t bytes; /* size of the chunk, including this header */
	size_t unused;
};

void heap_init(struct heap *h, const struct heap_limits *limits, const uint64_t seed[2])
{
	*h = (struct heap){.max_bytes = limits->bytes, .fuel = limits->fuel};
	h->seed[0] = seed[0];
	h->seed[1] = seed[1];
}

static void free_chunks(struct heap_chunk *c)
{
	while (c) {
		struct heap_chunk *next = c->next;
		free(c);
		c = next;
	}
}

void heap_done(struct heap *h)
{
	free_chunks(h->chunks);
	free_chunks(h->large);
	*h = (struct heap){0};
}

static struct heap_chunk *new_chunk(struct heap *h, struct heap_chunk **list, size_t bytes)
{
	if (bytes > h->max_bytes || h->used_bytes > h->max_bytes - bytes) {
		(void)heap_fail_kind(
			h, FAIL_MEMORY, "out of memory: the limit is %zu bytes", h->max_bytes);
		return NULL;
	}
	struct heap_chunk *c = pages_alloc(bytes);
	if (!c) {
		(void)heap_fail_kind(h, FAIL_MEMORY, "out of memory: the host has no more");
		return NULL;
	}
	*c = (struct heap_chunk){.next = *list, .bytes = bytes};
	if (*list)
		(*list)->before = c;
	*list = c;
	h->used_bytes += bytes;
	return c;
}

/* Return the index of the smallest bin for *bytes, and round *bytes up to the size of its
 * pieces. */
static size_t bin_of(size_t *bytes)
{
	size_t bin = 0, room = ALIGN;
	while (room < *bytes) {
		room *= 2;
		bin++;
	}
	*bytes = room;
	return bin;
}

static void *alloc_small(struct heap *h, size_t bytes)
{
	size_t room = bytes, bin = bin_of(&room);
	if (bin < HEAP_N_BINS && h->bins[bin]) {
		void *p = h->bins[bin];
		memcpy(&h->bins[bin], p, sizeof(void *));
		return p;
	}
	/* A plan that uses much memory gets larger chunks, up to 16 MiB. Near the limit the chunks
	 * stay small, so that one more chunk still fits. */
	size_t chunk = CHUNK_BYTES;
	while (chunk < CHUNK_MOST_BYTES && h->used_bytes > chunk &&
		h->max_bytes - h->used_bytes > 8 * chunk)
		chunk *= 4;
	struct heap_chunk *c = new_chunk(h, &h->chunks, chunk);
	if (!c)
		return NULL;
	h->at = (char *)(c + 1);
	h->end = (char *)c + chunk;
	void *p = h->at;
	h->at += bytes;
	return p;
}

void *heap_alloc(struct heap *h, size_t bytes)
{
	if (bytes >= HEAP_LARGE_BYTES) {
		if (bytes > SIZE_MAX / 2) {
			(void)heap_fail_kind(
				h, FAIL_MEMORY, "out of memory: %zu bytes at once", bytes);
			return NULL;
		}
		struct heap_chunk *c = new_chunk(h, &h->large, bytes + sizeof *c);
		return c ? c + 1 : NULL;
	}
	bytes = bytes ? (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1) : ALIGN;
	void **bin = &h->bins[__builtin_ctzll(bytes / ALIGN)];
	if ((bytes & (bytes - 1)) == 0 && *bin) {
		void *p = *bin;
		memcpy(bin, p, sizeof(void *));
		return p;
	}
	if ((size_t)(h->end - h->at) < bytes)
		return alloc_small(h, bytes);
	void *p = h->at;
	h->at += bytes;
	return p;
}

void *heap_zero(struct heap *h, size_t bytes)
{
	void *p = heap_alloc(h, bytes);
	return p ? memset(p, 0, bytes) : NULL;
}

void heap_release(struct heap *h, void *p, size_t bytes)
{
	if (!p)
		return;
	if (bytes >= HEAP_LARGE_BYTES) {
		struct heap_chunk *c = (struct heap_chunk *)p - 1;
		if (c->before)
			c->before->next = c->next;
		else
			h->large = c->next;
		if (c->next)
			c->next->before = c->before;
		h->used_bytes -= c->bytes;
		free(c);
		return;
	}
	/* Every piece in a bin must have at least the size of the bin, because heap_alloc()
	 * takes any of them. So choose the bin of the largest size that this piece covers. */
	size_t room = bytes, bin = bin_of(&room);
	if (room > bytes) {
		if (bin == 0)
			return;
		bin--;
	}
	memcpy(p, &h->bins[bin], sizeof(void *));
	h->bins[bin] = p;
}

void *heap_regrow(struct heap *h, void *p, size_t n, size_t room, size_t size)
{
	if (room > SIZE_MAX / 4 / size) {
		(void)heap_fail_kind(h, FAIL_MEMORY, "out of memory: %zu elements at once", room);
		return NULL;
	}
	void *now = heap_alloc(h, room * size);
	if (now && n > 0)
		memcpy(now, p, n * size);
	return now;
}

int heap_set_failure(struct heap *h, enum fail_kind kind, const char *fmt, ...)
{
	va_list args;
	if (h->kind != FAIL_NONE)
		return -1;
	h->kind = kind;
	va_start(args, fmt);
	vsnprintf(h->msg, sizeof h->msg, fmt, args);
	va_end(args);
	return -1;
}

int heap_out_of_fuel(struct heap *h)
{
	h->fuel = 0;
	return heap_fail_kind(h, FAIL_FUEL, "too many steps: the limit of fuel was reached");
}

int heap_enter(struct heap *h)
{
	if (h->depth >= HEAP_DEPTH_MAX)
		return heap_fail_kind(h, FAIL_DEPTH,
			"nested too deeply: a value within more than %d others", HEAP_DEPTH_MAX);
	h->depth++;
	return 0;
}

void heap_leave(struct heap *h)
{
	h->depth--;
}
