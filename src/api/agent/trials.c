/* SPDX-License-Identifier: Apache-2.0 */
#include "api/agent/trials.h"

#include "api/row/param.h"
#include "base/attr.h"
#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_BYTES = 64 };

struct trial {
	struct trials *trials;
	char id[ID_BYTES]; /* id of the branch; "" while the trial has no branch */
	bool is_running;
	struct waiter waiter;
};

struct trials {
	struct registry *registry;
	struct runs *runs;
	struct trials_hooks hooks;
	bool is_over;
	/* n: number of trials. place: number of the trial to adopt, from 1; 0: adopt none. */
	unsigned n, place;
	unsigned n_pending; /* requests that the registry has not answered yet */
	struct trial v[];
};

static unsigned place_of(const struct trial *trial)
{
	return (unsigned)(trial - trial->trials->v) + 1;
}

struct trials *trials_new(
	struct registry *registry, struct runs *runs, unsigned n, const struct trials_hooks *hooks)
{
	struct trials *t = xcalloc(1, sizeof *t + n * sizeof t->v[0]);
	t->registry = registry;
	t->runs = runs;
	t->hooks = *hooks;
	t->n = n;
	for (unsigned i = 0; i < n; i++)
		t->v[i].trials = t;
	return t;
}

/* ---- making and ending branches ---- */

static void on_ended(void *arg, const json_t *result, const struct err *err)
{
	(void)arg;
	(void)result;
	(void)err;
}

/* End the branch of a trial. A step that runs in it ends with an error. */
static void end(struct trial *trial)
{
	char id[ID_BYTES];
	memcpy(id, trial->id, sizeof id);
	trial->id[0] = '\0';
	if (id[0])
		registry_end(trial->trials->registry, id, on_ended, NULL);
}

static void end_all(struct trials *t)
{
	for (unsigned i = 0; i < t->n; i++)
		end(&t->v[i]);
}

/*
 * Count an answer of the registry to a request of the trials. Called once for each answer.
 * Returns: whether trials_end() was called before the answer arrived. If true, the caller must
 * ignore the answer, and must not use @t any more, because @t may be freed.
 *
 * If trials_end() was called, this function also:
 * - ends all branches again, because the answer may have announced a new branch;
 * - frees @t and calls `gone`, if no other answer is pending.
 */
static bool is_over(struct trials *t)
{
	t->n_pending--;
	if (!t->is_over)
		return false;
	end_all(t);
	if (t->n_pending > 0)
		return true;
	struct trials_hooks hooks = t->hooks;
	free(t);
	hooks.gone(hooks.arg);
	return true;
}

static void on_branched(void *arg, const json_t *session, const struct err *err)
{
	struct trial *trial = arg;
	struct trials *t = trial->trials;
	if (session)
		snprintf(trial->id, sizeof trial->id, "%s", param_text(session, "session", ""));
	if (!is_over(t))
		t->hooks.branched(t->hooks.arg, place_of(trial), err);
}

void trials_branch(struct trials *t, unsigned place, const char *session, uint64_t ttl_ms)
{
	struct trial *trial = &t->v[place - 1];
	t->n_pending++;
	registry_try(t->registry, session, ttl_ms, on_branched, trial);
}

/* ---- running steps in branches ---- */

static void on_event(void *arg, const json_t *event)
{
	struct trial *trial = arg;
	struct trials *t = trial->trials;
	if (!t->is_over)
		t->hooks.event(t->hooks.arg, place_of(trial), event);
}

static void on_ran(void *arg, const json_t *record, const struct err *err)
{
	struct trial *trial = arg;
	struct trials *t = trial->trials;
	trial->is_running = false;
	if (!t->is_over)
		t->hooks.ran(t->hooks.arg, place_of(trial), record, err);
}

int trials_run(struct trials *t, unsigned place, json_t *params, struct err *err)
{
	struct trial *trial = &t->v[place - 1];
	const struct run_order order = {.registry = t->registry, .params = params};
	json_put_text(params, "session", trial->id);
	trial->waiter = (struct waiter){.arg = trial, .event = on_event, .done = on_ran};
	trial->is_running = true;
	int r = runs_start(t->runs, &order, &trial->waiter, err);
	if (r < 0)
		trial->is_running = false;
	return r;
}

void trials_interrupt(struct trials *t)
{
	for (unsigned i = 0; i < t->n; i++)
		if (t->v[i].is_running && t->v[i].waiter.run)
			run_interrupt(t->v[i].waiter.run, false);
}

/* ---- adopting a branch, and ending all trials ---- */

static void on_adopted(void *arg, const json_t *session, const struct err *err)
{
	struct trials *t = arg;
	if (session)
		/* The session has adopted the branch. The id is cleared so that end_all() does not
		 * end this branch. */
		t->v[t->place - 1].id[0] = '\0';
	if (is_over(t))
		return;
	end_all(t);
	t->hooks.adopted(t->hooks.arg, err);
}

void trials_adopt(struct trials *t, unsigned place, const char *session)
{
	t->place = place;
	t->n_pending++;
	if (place == 0)
		on_adopted(t, NULL, NULL);
	else
		registry_adopt(t->registry, session, t->v[place - 1].id, on_adopted, t);
}

bool trials_end(struct trials *t)
{
	if (!t)
		return false;
	t->is_over = true;
	end_all(t);
	if (t->n_pending > 0)
		return true;
	free(t);
	return false;
}
