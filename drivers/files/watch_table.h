/* The directories that are watched: the number that the kernel gave each, and its path.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { WATCHES_MAX = 8192 };

/* A name that a scan has reported, whose event may still come. */
struct watch_name {
	struct watch_name *next;
	char name[];
};

struct watch {
	int number;
	char *path; /* relative to the watched directory; "" for itself */
	struct watch_name *reported;
};

/* The watches, sorted by number. */
struct watch_table {
	struct watch *all;
	size_t n, room;
};

/* Find a watch by its number. Returns: NULL if there is none. */
struct watch *watch_find(struct watch_table *t, int number);

/* Note the path of a number, which may be known already. Returns: 0; -ENOMEM; -E2BIG: there are
 * WATCHES_MAX. */
int watch_put(struct watch_table *t, int number, const char *path);

/* Remove the watches of @path and of what is below it. @drop is called with the number of each. */
void watch_remove_below(
	struct watch_table *t, const char *path, void (*drop)(void *arg, int number), void *arg);

/* Forget one watch. */
void watch_remove(struct watch_table *t, struct watch *w);

/* Note that a name of the directory was reported. watch_take() forgets the name, and returns
 * whether it was noted. watch_settle() forgets all names: all events are read that the kernel had
 * when they were noted. */
int watch_note(struct watch *w, const char *name);
bool watch_take(struct watch *w, const char *name);
void watch_settle(struct watch_table *t);
