/*
 * Lists file mappings of a process, as /proc reports them. libc only.
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
	bool is_memory; /* shared memory that is not a file */
	/* mapped by another process; a guard maps the file too, to save its content */
	bool is_others;
	bool is_kept, has_holes; /* used in a guard */
	dev_t dev;
	ino_t ino;
	char *path;	    /* path; NULL: the file has no name */
	int fd;		    /* descriptor of the same file, if that has no name; or -1 */
	int copy;	    /* in a branch: copy of the file for this mapping, or -1 */
	uint64_t own_bytes; /* private mapping in a guard: bytes that the program has written */
	/* private mapping that was mapped again, from the file that has the name now */
	bool is_renewed;
};

/* Mappings of this process; a guard or branch inherits the list with the memory. */
struct mapping_list {
	struct mapping *list;
	size_t n;
};

/*
 * Callback for each mapping, with the path from which it was mapped. Returns: 0, or another value
 * to end the listing.
 */
typedef int take_fn(struct mapping *m, const char *path);

/* MAPS_SHARED: all shared mappings; MAPS_COPIES: writable private mappings. */
enum maps_kind { MAPS_SHARED, MAPS_COPIES };

/*
 * Call @take for each mapping of @kind that has a path. @maps is /proc/PID/maps. maps_ask() uses
 * one ioctl per mapping and fails with -ENOTTY before Linux 6.11; maps_read() parses the text.
 * Returns: 0, the value that @take returned, or negative errno.
 */
int maps_ask(const char *maps, enum maps_kind kind, take_fn *take);
int maps_read(const char *maps, enum maps_kind kind, take_fn *take);

enum { MAPPINGS_MAX = 4096 };

/*
 * Clear @found and call @take for each mapping of @kind of this process; @take appends the wanted
 * ones.
 * Returns: 0, or negative errno (-E2BIG: more than MAPPINGS_MAX).
 */
int maps_find(struct mapping_list *found, enum maps_kind kind, take_fn *take);

/* Append @m. Owns: takes over @m->path, even on failure. Returns: 0, -E2BIG or -ENOMEM. */
int maps_append(struct mapping_list *found, const struct mapping *m);

/* Free the list. An empty list is not written to, because in a branch each write copies a page. */
void maps_forget(struct mapping_list *found);
