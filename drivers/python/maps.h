/*
 * The file mappings of a process, as /proc reports them. libc only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping {
	uintptr_t start, end;
	off_t offset;
	int prot;
	bool is_memory; /* shared memory that never was a file */
	/* Mapped by another process; a guard maps it too, to save the content */
	bool is_others;
	bool is_kept, has_holes; /* in a guard */
	dev_t dev;
	ino_t ino;
	char *path;	    /* NULL: the file has no name */
	int fd;		    /* a descriptor of the same file, for a file without a name; -1: none */
	int copy;	    /* in a branch: the copy of the file made for this mapping; -1: none */
	uint64_t own_bytes; /* a private mapping in a guard: bytes that the program has written */
	/* A private mapping that was mapped again from the file that has the name now */
	bool is_renewed;
};

/* Mappings of this process; a guard or branch inherits the list with the memory. */
struct mapping_list {
	struct mapping *list;
	size_t n;
};

/*
 * Called for each mapping, with the path from which it was mapped. Returns: 0, or a value that
 * ends the listing.
 */
typedef int take_fn(struct mapping *m, const char *path);

/* All shared mappings; or the writable private ones. */
enum maps_kind { MAPS_SHARED, MAPS_COPIES };

/*
 * Call @take for each mapping of @kind that has a path. @maps is /proc/PID/maps. maps_ask() uses
 * one ioctl per mapping and gives -ENOTTY on kernels before 6.11; maps_read() parses the text.
 * Returns: 0, what @take returned, or negative errno.
 */
int maps_ask(const char *maps, enum maps_kind kind, take_fn *take);
int maps_read(const char *maps, enum maps_kind kind, take_fn *take);

enum { MAPPINGS_MAX = 4096 };

/*
 * Empty @found and call @take for each mapping of @kind of this process; @take appends the
 * mappings that it wants.
 * Returns: 0, or negative errno (-E2BIG: more than MAPPINGS_MAX).
 */
int maps_find(struct mapping_list *found, enum maps_kind kind, take_fn *take);

/* Append @m. Owns: takes @m->path, also on failure. Returns: 0, -E2BIG or -ENOMEM. */
int maps_append(struct mapping_list *found, const struct mapping *m);

/* Free the list. An empty list is not written to: in a branch each write copies a page. */
void maps_forget(struct mapping_list *found);
