/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/process/lookup.h"

#include "base/alloc.h"
#include "base/timer.h"

#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct lookup {
	uv_getaddrinfo_t request;
	struct net_box *box;
	const struct name *name;
	struct lookup *next;	       /* while it waits in the queue of the box */
	struct lookup_waiter *waiters; /* in any order */
	bool is_queued, is_running;
	struct ip ips[ADDRESSES_MAX];
	size_t n;
	uint64_t until_ms; /* `ips` are fresh */
};

static void start_next(struct net_box *b);

static void unlink_waiter(struct lookup_waiter *w)
{
	struct lookup_waiter **at = &w->lookup->waiters;
	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	w->lookup = NULL;
}

void lookup_forget(struct lookup_waiter *w)
{
	if (w->lookup)
		unlink_waiter(w);
}

static void answer_all(struct lookup *l, const char *reason)
{
	while (l->waiters) {
		struct lookup_waiter *w = l->waiters;
		unlink_waiter(w);
		w->done(w, l->ips, l->n, reason);
	}
}

static void keep_addresses(struct lookup *l, const struct addrinfo *list)
{
	l->n = 0;
	for (const struct addrinfo *a = list; a && l->n < ADDRESSES_MAX; a = a->ai_next)
		l->n += ip_from(&l->ips[l->n], a->ai_addr);
	l->until_ms = l->n > 0 ? timer_now() + LOOKUP_FRESH_MS : 0;
}

static void on_found(uv_getaddrinfo_t *request, int status, struct addrinfo *list)
{
	struct lookup *l = request->data;
	struct net_box *b = l->box;
	bool is_unknown = status == UV_EAI_NONAME || status == UV_EAI_NODATA;
	l->is_running = false;
	b->n_lookups--;
	keep_addresses(l, status == 0 ? list : NULL);
	uv_freeaddrinfo(list);
	answer_all(l, is_unknown ? "its name was not found" : "its name cannot be looked up now");
	start_next(b);
	net_box_let_go(b);
}

static void run(struct lookup *l)
{
	const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
	l->request.data = l;
	if (uv_getaddrinfo(l->box->service->loop, &l->request, on_found, l->name->host, NULL,
		    &hints) < 0) {
		l->n = 0;
		answer_all(l, "its name cannot be looked up now");
		return;
	}
	l->is_running = true;
	l->box->n_lookups++;
	net_box_hold(l->box);
}

/* Run what waits in the queue. Nobody may want its result any more. */
static void start_next(struct net_box *b)
{
	while (b->first_lookup && b->n_lookups < LOOKUPS_MAX) {
		struct lookup *l = b->first_lookup;
		b->first_lookup = l->next;
		if (!b->first_lookup)
			b->last_lookup = &b->first_lookup;
		l->is_queued = false;
		if (l->waiters)
			run(l);
	}
}

void lookup_start(struct net_box *b, struct name *name, struct lookup_waiter *w)
{
	struct lookup *l = name->arg;
	if (!l) {
		l = name->arg = xnew(struct lookup);
		*l = (struct lookup){.box = b, .name = name};
	}
	if (!l->is_running && l->n > 0 && timer_now() < l->until_ms) {
		w->done(w, l->ips, l->n, NULL);
		return;
	}
	w->lookup = l;
	w->next = l->waiters;
	l->waiters = w;
	if (l->is_running || l->is_queued)
		return;
	l->is_queued = true;
	l->next = NULL;
	*b->last_lookup = l;
	b->last_lookup = &l->next;
	start_next(b);
}

void lookups_free(struct net_box *b)
{
	for (size_t i = 0; i < names_count(b->names); i++)
		free(names_row(b->names, i)->arg);
}
