/* Templates that were built: what threads do with their files. SPDX-License-Identifier: Apache-2.0
 */
#include "base/alloc.h"
#include "base/json.h"
#include "base/work.h"
#include "layer/layer_template.h"
#include "registry/build/build.h"
#include "registry/session_table.h"

#include <stdlib.h>

struct errand {
	struct work work;
	struct engine *engine;
	struct layer_store *store;
	char *owner, *name; /* `name` may be NULL */
	json_t *result;	    /* NULL: see `err` */
	struct err err;
	registry_done_fn *done;
	void *arg;
};

static void on_done(struct work *work)
{
	struct errand *e = container_of(work, struct errand, work);
	e->done(e->arg, e->result, e->result ? NULL : &e->err);
	json_decref(e->result);
	engine_release(e->engine);
	free(e->owner);
	free(e->name);
	free(e);
}

static void start(struct registry *r, const char *name, void (*perform)(struct work *work),
	registry_done_fn *done, void *arg)
{
	struct err err;
	if (!r->table->layers) {
		(void)err_fail(&err, ERR_NOT_FOUND, "start it with a state directory",
			"this engine has no templates with packages");
		done(arg, NULL, &err);
		return;
	}
	struct errand *e = xnew(struct errand);
	*e = (struct errand){.engine = r->table->engine,
		.store = r->table->layers,
		.owner = xstrdup(registry_owner(r)),
		.name = name ? xstrdup(name) : NULL,
		.done = done,
		.arg = arg};
	engine_hold(e->engine);
	work_begin(e->engine->loop, WORK_READ, &e->work, perform, on_done);
}

static void perform_get(struct work *work)
{
	struct errand *e = container_of(work, struct errand, work);
	e->result = layer_store_get(e->store, e->owner, e->name, &e->err);
}

void registry_built(struct registry *r, const char *name, registry_done_fn *done, void *arg)
{
	start(r, name, perform_get, done, arg);
}

static void perform_list(struct work *work)
{
	struct errand *e = container_of(work, struct errand, work);
	size_t i;
	json_t *row;
	e->result = layer_store_list(e->store, e->owner);
	json_array_foreach(e->result, i, row)
	{
		size_t n = json_array_size(json_object_get(row, "packages"));
		json_put_int(row, "packages", (int64_t)n);
		(void)json_object_del(row, "lock");
	}
}

void registry_built_list(struct registry *r, registry_done_fn *done, void *arg)
{
	start(r, NULL, perform_list, done, arg);
}

static void perform_remove(struct work *work)
{
	struct errand *e = container_of(work, struct errand, work);
	bool is_in_use = false;
	if (layer_store_remove(e->store, e->owner, e->name, &is_in_use, &e->err) < 0)
		return;
	e->result = json_need(json_object());
	json_put_bool(e->result, "in_use", is_in_use);
}

void registry_unbuild(struct registry *r, const char *name, registry_done_fn *done, void *arg)
{
	start(r, name, perform_remove, done, arg);
}
