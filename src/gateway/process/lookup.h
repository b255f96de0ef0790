/* The addresses of a name, from the resolver of the host. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gateway/process/inside.h"

enum { LOOKUP_FRESH_MS = 10000 };

/* One who waits for addresses; a member of the waiting object. */
struct lookup_waiter {
	struct lookup_waiter *next;
	struct lookup *lookup; /* NULL: it does not wait */
	/* @n: at least 1, or 0 and a @reason, "its name was not found". */
	void (*done)(struct lookup_waiter *w, const struct ip *ips, size_t n, const char *reason);
};

/*
 * Find the addresses of a name. They are kept for LOOKUP_FRESH_MS; those who want the same name at
 * the same time share one lookup, and of a box no more than LOOKUPS_MAX run at once.
 * `done` may be called before this returns.
 */
void lookup_start(struct net_box *b, struct name *name, struct lookup_waiter *w);
/* Wait no more. `done` is not called. */
void lookup_forget(struct lookup_waiter *w);
/* Free what belongs to the names of a box. No lookup may run. */
void lookups_free(struct net_box *b);
