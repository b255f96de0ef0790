/* SPDX-License-Identifier: Apache-2.0 */
#include "session/box/checkpoint.h"

#include "base/alloc.h"
#include "base/fd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state_text *state_text_new(const char *s, const struct loss_text *loss)
{
	size_t bytes = strlen(s) + 1;
	struct state_text *t = malloc(sizeof *t + bytes);
	if (!t)
		return NULL;
	t->n_refs = 1;
	t->loss = *loss;
	memcpy(t->s, s, bytes);
	return t;
}

struct state_text *state_text_hold(struct state_text *t)
{
	if (t)
		t->n_refs++;
	return t;
}

void state_text_let_go(struct state_text *t)
{
	if (t && --t->n_refs == 0)
		free(t);
}

struct guard *guard_new(struct box *box)
{
	struct guard *g = xnew(struct guard);
	*g = (struct guard){.n_refs = 1, .box = box_hold(box), .fd = -1, .due_fd = -1};
	return g;
}

struct guard *guard_hold(struct guard *g)
{
	if (g)
		g->n_refs++;
	return g;
}

void guard_let_go(struct guard *g)
{
	if (!g || --g->n_refs > 0)
		return;
	/* The guard's process exits when this socket is closed. */
	fd_close(&g->fd);
	fd_close(&g->due_fd);
	box_let_go(g->box);
	free(g);
}

struct checkpoint *checkpoint_new(const char *step, uint64_t id)
{
	struct checkpoint *c = xnew(struct checkpoint);
	*c = (struct checkpoint){.n_refs = 1, .id = id};
	snprintf(c->step, sizeof c->step, "%s", step);
	return c;
}

struct checkpoint *checkpoint_hold(struct checkpoint *c)
{
	c->n_refs++;
	return c;
}

void checkpoint_let_go(struct checkpoint *c)
{
	if (--c->n_refs > 0)
		return;
	guard_let_go(c->guard);
	if (c->stem)
		stem_let_go(c->stem);
	shadow_let_go(c->files);
	for (size_t i = 0; i < ARRAY_LEN(c->states); i++)
		state_text_let_go(c->states[i]);
	free(c);
}

void checkpoints_evict(struct checkpoints *all, unsigned n)
{
	unsigned n_gone = all->n > n ? all->n - n : 0;
	for (unsigned i = 0; i < n_gone; i++)
		checkpoint_let_go(all->v[i]);
	memmove(all->v, all->v + n_gone, (all->n - n_gone) * sizeof all->v[0]);
	all->n -= n_gone;
}

void checkpoints_cut(struct checkpoints *all, unsigned n)
{
	while (all->n > n)
		checkpoint_let_go(all->v[--all->n]);
}

void checkpoints_add(struct checkpoints *all, struct checkpoint *c)
{
	checkpoints_evict(all, CHECKPOINTS_MAX);
	all->v[all->n++] = c;
}

struct checkpoint *checkpoints_find(const struct checkpoints *all, const char *step)
{
	for (unsigned i = all->n; i-- > 0;)
		if (strcmp(all->v[i]->step, step) == 0)
			return all->v[i];
	return NULL;
}
