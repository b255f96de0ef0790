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
	uint64_t own_bytes; /* of a private mapping in a copy: that the program has written to */
	bool is_renewed;    /* a private mapping of the file that has the name now */
};

/* Mappings of this process, which a guard or branch inherits with its memory. */
struct mapping_list {
	struct mapping *list;
	size_t n;
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

enum { MAPPINGS_MAX = 4096 };

/*
 * Empty @found and call @take for each mapping of @kind of this process; @take appends what it
 * wants.
 * Returns: 0, or negative errno (-E2BIG: more than MAPPINGS_MAX).
 */
int maps_find(struct mapping_list *found, enum maps_kind kind, take_fn *take);

/* Append @m. Owns: takes @m->path, also on failure. Returns: 0, -E2BIG or -ENOMEM. */
int maps_append(struct mapping_list *found, const struct mapping *m);

/* Free the list. Writes nothing when it is empty already: a write is a page to copy. */
void maps_forget(struct mapping_list *found);
