/* SPDX-License-Identifier: Apache-2.0 */
#include "watch_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Return the place of the first watch whose number is not below @number. */
static size_t place_of(const struct watch_table *t, int number)
{
	size_t low = 0, high = t->n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (t->all[middle].number < number)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct watch *watch_find(struct watch_table *t, int number)
{
	size_t at = place_of(t, number);
	return at < t->n && t->all[at].number == number ? &t->all[at] : NULL;
}

int watch_put(struct watch_table *t, int number, const char *path)
{
	struct watch *known = watch_find(t, number);
	char *own = strdup(path);
	if (!own)
		return -ENOMEM;
	if (known) {
		free(known->path);
		known->path = own;
		return 0;
	}
	if (t->n == t->room && t->n < WATCHES_MAX) {
		size_t room = t->room ? t->room * 2 : 16;
		struct watch *all = realloc(t->all, room * sizeof *all);
		if (all) {
			t->all = all;
			t->room = room;
		}
	}
	if (t->n == t->room || t->n == WATCHES_MAX) {
		free(own);
		return t->n == WATCHES_MAX ? -E2BIG : -ENOMEM;
	}
	size_t at = place_of(t, number);
	memmove(&t->all[at + 1], &t->all[at], (t->n - at) * sizeof *t->all);
	t->all[at] = (struct watch){.number = number, .path = own};
	t->n++;
	return 0;
}

static void forget_names(struct watch *w)
{
	for (struct watch_name *at = w->reported, *next; at; at = next) {
		next = at->next;
		free(at);
	}
	w->reported = NULL;
}

void watch_remove(struct watch_table *t, struct watch *w)
{
	size_t at = (size_t)(w - t->all);
	forget_names(w);
	free(w->path);
	t->n--;
	memmove(w, w + 1, (t->n - at) * sizeof *t->all);
}

void watch_remove_below(
	struct watch_table *t, const char *path, void (*drop)(void *arg, int number), void *arg)
{
	size_t bytes = strlen(path);
	for (size_t i = t->n; i > 0; i--) {
		struct watch *w = &t->all[i - 1];
		if (strncmp(w->path, path, bytes) != 0 || (w->path[bytes] && w->path[bytes] != '/'))
			continue;
		drop(arg, w->number);
		watch_remove(t, w);
	}
}

int watch_note(struct watch *w, const char *name)
{
	size_t bytes = strlen(name) + 1;
	struct watch_name *noted = malloc(sizeof *noted + bytes);
	if (!noted)
		return -ENOMEM;
	memcpy(noted->name, name, bytes);
	noted->next = w->reported;
	w->reported = noted;
	return 0;
}

bool watch_take(struct watch *w, const char *name)
{
	for (struct watch_name **at = &w->reported; *at; at = &(*at)->next)
		if (strcmp((*at)->name, name) == 0) {
			struct watch_name *found = *at;
			*at = found->next;
			free(found);
			return true;
		}
	return false;
}

void watch_settle(struct watch_table *t)
{
	for (size_t i = 0; i < t->n; i++)
		forget_names(&t->all[i]);
}
