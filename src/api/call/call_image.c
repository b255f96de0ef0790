/* Operations on images. SPDX-License-Identifier: Apache-2.0 */
#include "api/call/inside.h"
#include "api/operation/calls.h"
#include "base/alloc.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/timer.h"
#include "base/work.h"
#include "image/image_store.h"
#include "image/pull/import.h"
#include "image/pull/pull.h"
#include "layer/layer_record.h"
#include "registry/registry.h"
#include "session/start/engine.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { TELL_MS = 100, PART_AGE_MAX_S = 365 * 24 * 3600, SHOWN_DIGITS = 12 };

/* Return the engine; or answer that it has no store. */
static struct engine *engine_of(struct operation_call *call)
{
	struct err err;
	struct engine *engine = registry_engine(call->context->registry);
	if (engine->layers)
		return engine;
	(void)err_fail(&err, ERR_NOT_FOUND, "start it with a state directory",
		"this engine has no images");
	call_fail(call, &err);
	return NULL;
}

/* ---- what threads do with files ---- */

struct errand {
	struct work work;
	struct operation_call *call;
	struct engine *engine;
	struct layer_store *store;
	json_t *result;
	struct err err;
};

static void on_done(struct work *work)
{
	struct errand *e = container_of(work, struct errand, work);
	struct operation_call *call = e->call;
	json_t *result = e->result;
	struct engine *engine = e->engine;
	struct err err = e->err;
	free(e);
	call_give(call, result, &err);
	engine_release(engine);
}

static void begin(struct operation_call *call, void (*perform)(struct work *work))
{
	struct engine *engine = engine_of(call);
	if (!engine)
		return;
	struct errand *e = xnew(struct errand);
	*e = (struct errand){.call = call, .engine = engine, .store = engine->layers};
	engine_hold(engine);
	work_begin(engine->loop, WORK_READ, &e->work, perform, on_done);
}

static const char *name_of(const struct errand *e)
{
	return param_text(e->call->params, "name", "");
}

/* Make the result of a record: its name as people write it, and no list of digests that nobody
 * needs. */
static json_t *about_image(const json_t *record)
{
	json_t *about = json_need(json_copy(json_unconst(record)));
	const json_t *config = json_object_get(record, "config");
	json_t *shown = json_need(json_copy(json_unconst(config)));
	(void)json_object_del(shown, "diffs");
	json_put_text(about, "short_name", image_ref_short(json_get_text(record, "name")));
	json_put_new(about, "config", shown);
	return about;
}

static void perform_get(struct work *work)
{
	struct errand *e = container_of(work, struct errand, work);
	cleanup_json json_t *record = image_store_get(e->store, name_of(e), &e->err);
	e->result = record ? about_image(record) : NULL;
}

static void start_get(struct operation_call *call)
{
	begin(call, perform_get);
}

static void perform_list(struct work *work)
{
	struct errand *e = container_of(work, struct errand, work);
	cleanup_fd int dir = layer_record_dir(e->store, LAYER_IMAGES, "", false);
	if (dir < 0 && dir != -ENOENT) {
		(void)err_sys(&e->err, ERR_ACCESS, -dir, "read the images in %.150s",
			layer_store_dir(e->store));
		return;
	}
	cleanup_json json_t *records = image_store_list(e->store);
	json_t *images = json_need(json_array());
	const json_t *record;
	size_t i;
	json_array_foreach(records, i, record)
	{
		json_t *about = about_image(record);
		(void)json_object_del(about, "config");
		json_put_int(about, "layers",
			(int64_t)json_array_size(json_object_get(record, "layers")));
		json_add_new(images, about);
	}
	e->result = json_need(json_pack("{s:o}", "images", images));
}

static void start_list(struct operation_call *call)
{
	begin(call, perform_list);
}

static void perform_remove(struct work *work)
{
	struct errand *e = container_of(work, struct errand, work);
	if (image_store_remove(e->store, name_of(e), &e->err) == 0)
		e->result = json_need(json_object());
}

static void start_remove(struct operation_call *call)
{
	begin(call, perform_remove);
}

static void perform_prune(struct work *work)
{
	struct errand *e = container_of(work, struct errand, work);
	uint64_t bytes = 0;
	int64_t age_s = (int64_t)param_count(e->call->params, "age_s", 0);
	if (image_store_prune(e->store, age_s, &bytes, &e->err) == 0)
		e->result = json_need(json_pack("{s:I}", "bytes", (json_int_t)bytes));
}

static void start_prune(struct operation_call *call)
{
	begin(call, perform_prune);
}

/* ---- image.pull, image.import ---- */

struct pulling {
	struct operation_call *call;
	struct engine *engine;
	struct pull *pull;     /* or */
	struct import *import; /* this */
	/* When the last event of each layer was sent, and of which phase it was. */
	uint64_t told_ms[IMAGE_LAYERS_MAX];
	enum intake_phase told[IMAGE_LAYERS_MAX];
};

static const char *const phases[] = {"waiting", "checking", "downloading", "unpacking", "done"};

static void on_progress(void *arg, const struct pull_progress *p)
{
	struct pulling *pulling = arg;
	bool is_new = pulling->told[p->layer] != p->phase || pulling->told_ms[p->layer] == 0;
	if (!is_new && timer_since(pulling->told_ms[p->layer]) < TELL_MS)
		return;
	pulling->told_ms[p->layer] = timer_now();
	pulling->told[p->layer] = p->phase;
	call_event(pulling->call,
		json_pack("{s:s, s:s%, s:i, s:i, s:s, s:I, s:I}", "event", "progress", "layer",
			p->digest, strnlen(p->digest, SHOWN_DIGITS), "number", (int)p->layer + 1,
			"of", (int)p->n_layers, "phase", phases[p->phase], "moved",
			(json_int_t)p->moved, "bytes", (json_int_t)p->bytes));
}

static void on_pulled(void *arg, const json_t *about, const struct err *err)
{
	struct pulling *p = arg;
	struct operation_call *call = p->call;
	struct engine *engine = p->engine;
	free(p);
	call_give(call, about ? about_image(about) : NULL, err);
	engine_release(engine);
}

static void cancel_pull(struct operation_call *call)
{
	struct pulling *p = call->following;
	if (p->pull)
		pull_cancel(p->pull);
	else
		import_cancel(p->import);
}

/* Returns: NULL after an answer. */
static struct pulling *new_pulling(struct operation_call *call)
{
	struct engine *engine = engine_of(call);
	if (!engine)
		return NULL;
	struct pulling *p = xnew(struct pulling);
	p->call = call;
	p->engine = engine;
	return p;
}

/* It has begun; or it has not, if @r is negative. */
static void follow(struct pulling *p, int r, const struct err *err)
{
	struct operation_call *call = p->call;
	if (r < 0) {
		free(p);
		call_fail(call, err);
		return;
	}
	engine_hold(p->engine);
	call->following = p;
	call->cancel = cancel_pull;
}

static struct login login_of(const json_t *params, const char *user, const char *secret)
{
	return (struct login){
		.user = param_text(params, user, NULL), .secret = param_text(params, secret, NULL)};
}

static void start_pull(struct operation_call *call)
{
	const json_t *params = call->params;
	struct err err;
	struct pulling *p = new_pulling(call);
	if (!p)
		return;
	const struct pull_order order = {.loop = p->engine->loop,
		.store = p->engine->layers,
		.name = param_text(params, "name", ""),
		.mirror = param_text(params, "mirror", NULL),
		.login = login_of(params, "user", "secret"),
		.mirror_login = login_of(params, "mirror_user", "mirror_secret"),
		.progress = param_flag(params, "stream") ? on_progress : NULL,
		.done = on_pulled,
		.arg = p};
	int r = pull_start(&p->pull, &order, &err);
	follow(p, r, &err);
}

static void start_import(struct operation_call *call)
{
	const json_t *params = call->params;
	struct err err;
	struct pulling *p = new_pulling(call);
	if (!p)
		return;
	const struct import_order order = {.loop = p->engine->loop,
		.store = p->engine->layers,
		.path = param_text(params, "path", ""),
		.name = param_text(params, "name", NULL),
		.ref = param_text(params, "ref", NULL),
		.progress = param_flag(params, "stream") ? on_progress : NULL,
		.done = on_pulled,
		.arg = p};
	int r = order.path[0] == '/' ? import_start(&p->import, &order, &err)
				     : err_set(&err, ERR_USAGE, "path must begin with '/'");
	follow(p, r, &err);
}

/* ---- rows of the table of operations ---- */

#define NAME_ROW(text)                                                                             \
	{                                                                                          \
		"name", PARAM_TEXT, NEEDED, .min = 1, .max = IMAGE_NAME_BYTES, .help = text        \
	}
static const struct param pull_rows[] = {
	NAME_ROW("name of the image: [HOST[:PORT]/]NAME[:TAG][@sha256:DIGEST]"),
	{"mirror", PARAM_TEXT, .min = 1, .max = IMAGE_HOST_BYTES - 1,
		.help = "HOST[:PORT][/PATH] that is asked first; if it does not have the image, or "
			"does not answer, the registry is asked"},
	{"user", PARAM_TEXT, .max = 256,
		.help = "name for the login at the registry; an empty text: `secret` is an "
			"identity token"},
	{"secret", PARAM_TEXT, .min = 1, .max = 16384, .help = "password for it"},
	{"mirror_user", PARAM_TEXT, .max = 256, .help = "name for the login at the mirror"},
	{"mirror_secret", PARAM_TEXT, .min = 1, .max = 16384, .help = "password for it"},
	{"stream", PARAM_FLAG, .fallback = "false", .help = "send events about the progress"},
};
static const struct param import_rows[] = {
	{"path", PARAM_TEXT, NEEDED, .min = 1, .max = PATH_MAX - 1,
		.help = "file or directory on the engine's host: an OCI image layout; or a tar "
			"archive of one, of what `docker save` writes, or of the files of a system"},
	{"name", PARAM_TEXT, .min = 1, .max = IMAGE_NAME_BYTES,
		.help = "name for the image; without it, the one that the archive has"},
	{"ref", PARAM_TEXT, .min = 1, .max = IMAGE_NAME_BYTES,
		.help = "name of the image among several in the archive"},
	{"stream", PARAM_FLAG, .fallback = "false", .help = "send events about the progress"},
};
static const struct param name_rows[] = {
	NAME_ROW("name of the image, or 6 or more digits of its digest, perhaps after sha256:"),
};
static const struct param prune_rows[] = {
	{"age_s", PARAM_COUNT, .max = PART_AGE_MAX_S, .fallback = "0",
		.help = "keep what is younger: layers, and parts of downloads"},
};
static const struct param layer_rows[] = {
	GIVES("digest", PARAM_TEXT, "SHA-256 of the layer, as it was downloaded"),
	MAY_GIVE("bytes", PARAM_COUNT, "size of its files"),
	MAY_GIVE("files", PARAM_COUNT, "number of files, directories and links"),
	MAY_GIVE("left_out", PARAM_COUNT, "device files and sockets, which are left out"),
};
static const struct param config_rows[] = {
	MAY_GIVE("env", PARAM_TEXTS, "environment variables: NAME=VALUE"),
	MAY_GIVE("entrypoint", PARAM_TEXTS, "program that is run, with its first arguments"),
	MAY_GIVE("cmd", PARAM_TEXTS, "further arguments, or the program"),
	MAY_GIVE("shell", PARAM_TEXTS, "shell for commands"),
	MAY_GIVE("workdir", PARAM_TEXT, "working directory"),
	MAY_GIVE("user", PARAM_TEXT, "user"),
	MAY_GIVE("stop_signal", PARAM_TEXT, "signal that ends the program"),
	MAY_GIVE("ports", PARAM_TEXTS, "ports: 80/tcp"),
	MAY_GIVE("volumes", PARAM_TEXTS, "directories that are meant for volumes"),
	MAY_GIVE("labels", PARAM_MAP, "labels"),
	MAY_GIVE("created", PARAM_TEXT, "when the image was made"),
	MAY_GIVE("architecture", PARAM_TEXT, "architecture: amd64, arm64"),
};
#define ABOUT_IMAGE                                                                                \
	GIVES("name", PARAM_TEXT, "name of the image in full"),                                    \
		GIVES("short_name", PARAM_TEXT, "name without the parts that may be left out"),    \
		GIVES("digest", PARAM_TEXT,                                                        \
			"SHA-256 of its manifest, or of the index that has it"),                   \
		GIVES("bytes", PARAM_COUNT, "size of its files"),                                  \
		GIVES("files", PARAM_COUNT, "number of files, directories and links"),             \
		GIVES("made_ms", PARAM_COUNT, "when it came here: milliseconds since 1970")
static const struct param get_rows[] = {
	ABOUT_IMAGE,
	{"layers", PARAM_OBJECTS, NEEDED, FIELDS(layer_rows),
		.help = "the layers, the lowest first"},
	{"config", PARAM_OBJECT, NEEDED, FIELDS(config_rows),
		.help = "what the image says of itself"},
};
static const struct param listed_rows[] = {
	ABOUT_IMAGE,
	GIVES("layers", PARAM_COUNT, "number of layers"),
};
static const struct param list_rows[] = {
	{"images", PARAM_OBJECTS, NEEDED, FIELDS(listed_rows), .help = "the images, by name"},
};
static const struct param pruned_rows[] = {
	GIVES("bytes", PARAM_COUNT, "size of what was removed"),
};

static const struct operation rows[] = {
	{"image.pull", "Get an image from a registry", ROWS(pull_rows), RESULT(get_rows),
		.label = OPERATION_PROGRAM,
		.limits = "An image has at most 128 layers. Not for callers with a token.",
		.errors =
			"denied|auth|not_found|unreachable|protocol|damaged|quota|limit|no_space|io|access|"
			"interrupted|box",
		.is_for_operator = true, .has_events = true,
		.example = "{'name': 'words', 'mirror': 'localhost:5000'}",
		.answer = "{'short_name': 'words:latest'}", .start = start_pull},
	{"image.import", "Take an image from a file or directory of the engine's host",
		ROWS(import_rows), RESULT(get_rows), .label = OPERATION_PROGRAM,
		.limits = "As image.pull.",
		.errors =
			"denied|not_found|protocol|damaged|limit|no_space|io|access|interrupted|box",
		.is_for_operator = true, .has_events = true,
		.example = "{'path': '/srv/words.tar', 'name': 'words'}",
		.answer = "{'short_name': 'words:latest'}", .start = start_import},
	{"image.list", "List the images", RESULT(list_rows), .label = OPERATION_PROGRAM,
		.errors = "not_found|access", .example = "{}",
		.answer = "{'images': [{'short_name': 'words:latest'}]}", .start = start_list},
	{"image.get", "Describe an image", ROWS(name_rows), RESULT(get_rows),
		.label = OPERATION_PROGRAM, .errors = "not_found|damaged",
		.example = "{'name': 'words'}", .answer = "{'short_name': 'words:latest'}",
		.start = start_get},
	{"image.remove", "Remove an image", ROWS(name_rows), .label = OPERATION_ENGINE,
		.limits =
			"Layers that other images have, or boxes use, stay. Not for callers with a "
			"token.",
		.errors = "denied|not_found|damaged|io|access", .is_for_operator = true,
		.example = "{'name': 'words'}", .answer = "{}", .start = start_remove},
	{"image.prune", "Remove layers and downloads that nothing needs", ROWS(prune_rows),
		RESULT(pruned_rows), .label = OPERATION_ENGINE,
		.limits = "Not for callers with a token.",
		.errors = "denied|not_found|access|io|busy", .is_for_operator = true,
		.example = "{}", .answer = "{'bytes': 0}", .start = start_prune},
};

const struct operation_family image_family = FAMILY(rows);
