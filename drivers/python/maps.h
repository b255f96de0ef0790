/* Mappings of files of a process, as /proc tells them. libc only. SPDX-License-Identifier:
 * Apache-2.0
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct mapping {
	uintptr_t start, end;
	off_t offset;
	int prot;
	bool is_memory;		 /* there was never a file */
	bool is_others;		 /* mapped by another process; by a guard, to write it */
	bool is_kept, has_holes; /* in a guard */
	dev_t dev;
	ino_t ino;
	char *path; /* NULL: it has no name */
	int fd;	    /* of the same file, when that has no name; -1: none */
	int copy;   /* in a branch: the copy of it that was made for this mapping; -1: none */
};

/* What is to become of one, which is mapped from @path. Returns: 0, or what ends the list. */
typedef int take_fn(struct mapping *m, const char *path);

/* The shared ones; or the private ones that may be written to. */
enum maps_kind { MAPS_SHARED, MAPS_COPIES };

/*
 * Each mapping of @kind that has a path in the file @maps, /proc/PID/maps, with one call for each;
 * a kernel before 6.11 says -ENOTTY. And the same from the text. Returns: 0, what @take did, or
 * negative errno.
 */
int maps_ask(const char *maps, enum maps_kind kind, take_fn *take);
int maps_read(const char *maps, enum maps_kind kind, take_fn *take);
