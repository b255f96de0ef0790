/*
 * List the file mappings of a process as /proc reports them. Needs libc only.
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
	/*
	 * The mapping belongs to another process. A guard maps the file as well, to save its
	 * content.
	 */
	bool is_others;
	/*
	 * In a guard, is_kept means that the content is saved, and has_holes means that pages that
	 * were never written can be recognized.
	 */
	bool is_kept, has_holes;
	dev_t dev;
	ino_t ino;
	char *path; /* path of the file, NULL if the file has no name */
	int fd;	    /* descriptor that is open on a file without a name, or -1 */
	int copy;   /* in a branch: descriptor of the copy of the file, or -1 */
	/* in a guard: number of bytes that the program has written to a private mapping */
	uint64_t own_bytes;
	/*
	 * in a resumed guard: a private mapping has taken its unwritten pages from the file that
	 * has the name now
	 */
	bool is_renewed;
};

/* Mappings of this process. A guard or branch inherits the list with the memory. */
struct mapping_list {
	struct mapping *list;
	size_t n;
};

/*
 * Callback for each mapping. @path is the path from which it was mapped. Returns: 0, or another
 * value to end the listing.
 */
typedef int take_fn(struct mapping *m, const char *path);

/* MAPS_SHARED: all shared mappings; MAPS_COPIES: writable private mappings. */
enum maps_kind { MAPS_SHARED, MAPS_COPIES };

/*
 * Call @take for each mapping of @kind that has a path. @maps is the path /proc/PID/maps.
 * maps_ask() uses one ioctl for each mapping, and fails with -ENOTTY before Linux 6.11. maps_read()
 * parses the text.
 * Returns: 0, the value with which @take ended the listing, or negative errno.
 */
int maps_ask(const char *maps, enum maps_kind kind, take_fn *take);
int maps_read(const char *maps, enum maps_kind kind, take_fn *take);

enum { MAPPINGS_MAX = 4096 };

/*
 * Clear @found, and call @take for each mapping of @kind in this process. @take appends the
 * mappings that it wants.
 * Returns: 0, or negative errno, which is -E2BIG for more than MAPPINGS_MAX.
 */
int maps_find(struct mapping_list *found, enum maps_kind kind, take_fn *take);

/*
 * Append @m to the list. Owns: takes over @m->path, even on failure. Returns: 0, -E2BIG, or
 * -ENOMEM.
 */
int maps_append(struct mapping_list *found, const struct mapping *m);

/*
 * Free the list. An empty list is not written to, because in a branch each written page is copied.
 */
void maps_forget(struct mapping_list *found);
