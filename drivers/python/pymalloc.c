/*
 * Provides memory for CPython's small-object allocator, pymalloc.
 *
 * By default pymalloc maps one arena at a time. The arenas lie scattered between libraries and
 * are too small for huge pages. A clone copies one page table entry for each small page, and spends
 * most of its time on that. So in a template process, the arenas are allocated in a few stretches
 * of 16 MB, aligned so that hugepages_collapse() can turn them into huge pages when everything is
 * loaded.
 *
 * pymalloc_fill_holes() reduces copy-on-write. After the imports, there are free blocks all over
 * the heap. New objects would use them, and each write there would copy a page in each branch. So
 * the function allocates blocks of each size until one lies at the start of a fresh pool. These
 * blocks are never freed. Later objects are then adjacent in fresh pools.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "pymalloc.h"
#include "ext.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

enum { STRETCHES_MAX = 64, FREE_MAX = 256 };

/* Constants of CPython 3.10 to 3.13 on 64 bits. Source: Objects/obmalloc.c */
enum {
	POOL_BYTES = 16 << 10,
	POOL_HEAD_BYTES = 48,
	GRAIN_BYTES = 16,
	BLOCK_BYTES_MAX = 512,
	/* This is ample: a process with all of pandas loaded has 300 KB of free blocks. */
	FILL_BYTES_MAX = 8 << 20
};

static const size_t huge_bytes = (size_t)2 << 20, stretch_bytes = (size_t)16 << 20;

/* PyObjectArenaAllocator. Source: Python's documentation, "Customize pymalloc Arena Allocator". */
struct allocator {
	void *ctx;
	void *(*alloc)(void *ctx, size_t bytes);
	void (*free)(void *ctx, void *piece, size_t bytes);
};

static struct {
	char *stretches[STRETCHES_MAX];
	unsigned n_stretches;
	size_t used; /* number of bytes in use in the last stretch */
	void *free[FREE_MAX];
	size_t free_bytes; /* size of each piece in @free */
	unsigned n_free;
} arena;

static void *map(size_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}

static int add_stretch(void)
{
	char *at, *start;

	if (arena.n_stretches == STRETCHES_MAX)
		return -1;
	at = map(stretch_bytes + huge_bytes);
	if (!at)
		return -1;
	start = (char *)(((uintptr_t)at + huge_bytes - 1) & ~(uintptr_t)(huge_bytes - 1));
	if (start > at)
		(void)munmap(at, (size_t)(start - at));
	if (start < at + huge_bytes)
		(void)munmap(start + stretch_bytes, (size_t)(at + huge_bytes - start));
	arena.stretches[arena.n_stretches++] = start;
	arena.used = 0;
	return 0;
}

static void *get_piece(void *ctx, size_t bytes)
{
	(void)ctx;
	if (arena.n_free > 0 && arena.free_bytes == bytes)
		return arena.free[--arena.n_free];
	if (bytes > stretch_bytes)
		return map(bytes);
	if ((arena.n_stretches == 0 || arena.used + bytes > stretch_bytes) && add_stretch() < 0)
		return map(bytes);
	arena.used += bytes;
	return arena.stretches[arena.n_stretches - 1] + arena.used - bytes;
}

static int is_ours(const char *piece)
{
	for (unsigned i = 0; i < arena.n_stretches; i++)
		if (piece >= arena.stretches[i] && piece < arena.stretches[i] + stretch_bytes)
			return 1;
	return 0;
}

/* Return the memory of a piece to the kernel, but keep its addresses for the next piece. */
static void put_piece(void *ctx, void *piece, size_t bytes)
{
	(void)ctx;
	if (!is_ours(piece)) {
		(void)munmap(piece, bytes);
		return;
	}
	(void)madvise(piece, bytes, MADV_DONTNEED);
	if (arena.n_free == 0)
		arena.free_bytes = bytes;
	if (arena.n_free < FREE_MAX && arena.free_bytes == bytes)
		arena.free[arena.n_free++] = piece;
}

void pymalloc_fill_holes(void)
{
	size_t bytes = GRAIN_BYTES, filled = 0;

	while (bytes <= BLOCK_BYTES_MAX && filled < FILL_BYTES_MAX) {
		uintptr_t block = (uintptr_t)PyObject_Malloc(bytes);

		filled += bytes;
		if ((block & (POOL_BYTES - 1)) == POOL_HEAD_BYTES)
			bytes += GRAIN_BYTES;
	}
}

void pymalloc_gather(void)
{
	static struct allocator ours = {NULL, get_piece, put_piece};
	void (*set)(struct allocator *) =
		(void (*)(struct allocator *))dlsym(RTLD_DEFAULT, "PyObject_SetArenaAllocator");

	if (set)
		set(&ours);
}
