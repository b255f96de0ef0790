/*
 * An order as text. An order says how a session is made: volumes, limits, modules to import. Its
 * text is JSON with sorted keys.
 *
 * The text is stored in the journal, so that the session can be reopened as it was made. It
 * contains every limit, and paths of the host as they were resolved at that time. The text also
 * identifies templates: sessions whose orders have the same text can be branches of one template.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "registry/start/order_text.h"

#include "base/json.h"
#include "base/alloc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const limit_names[LIMIT_END_] = {
#define X(name, value, what) #name,
	LIMITS(X)
#undef X
};

/* ---- writing an order as text ---- */

/* Set @key to the real path of @path, unless @path is NULL. Returns: 0, or -1 when the path is
 * not UTF-8. */
static int set_path(json_t *out, const char *key, const char *path)
{
	char *real = path ? realpath(path, NULL) : NULL;
	int r = path ? json_object_set_new(out, key, json_string(real ? real : path)) : 0;
	free(real);
	return r;
}

static json_t *strings_json(const char *const *strings, size_t n)
{
	json_t *out = json_array();
	for (size_t i = 0; out && i < n && strings[i]; i++)
		if (json_array_append_new(out, json_string(strings[i])) < 0) {
			json_decref(out);
			return NULL;
		}
	return out;
}

static json_t *volumes_json(const struct order *order)
{
	json_t *out = json_array();
	for (size_t i = 0; i < order->n_volumes; i++) {
		const struct volume *v = &order->volumes[i];
		json_t *row = json_pack("{s:s, s:b}", "dst", v->dst, "writable", v->is_writable);
		if (set_path(row, "src", v->src) < 0 || json_array_append(out, row) < 0) {
			json_decref(row);
			json_decref(out);
			return NULL;
		}
		json_decref(row);
	}
	return out;
}

/* The values of secrets are in no text. */
static json_t *secrets_json(const struct secrets *secrets)
{
	json_t *out = json_array();
	for (size_t i = 0; i < secrets->n; i++) {
		const struct secret *s = &secrets->v[i];
		char place[SECRET_PLACE_BYTES];
		secret_write_place(s, place);
		json_add_new(out,
			json_pack("{s:s, s:s, s:s}", "name", s->name, "to", place, "placeholder",
				s->placeholder));
	}
	return out;
}

char *order_text(const struct order *order, const char *const *preload, bool is_fresh)
{
	json_t *limits = json_object();
	for (int i = 0; i < LIMIT_END_; i++)
		json_put_int(limits, limit_names[i], order->limits.value[i]);
	json_t *out = json_pack("{s:s*, s:s*, s:s*, s:s*, s:s*, s:o, s:o, s:o, s:o, s:b}",
		"runtime", order->runtime, "python", order->interpreter, "template",
		order->template, "layer", order->layer, "template_python", order->template_python,
		"volumes", volumes_json(order), "env", strings_json(order->env, order->n_env),
		"preload", preload ? strings_json(preload, SIZE_MAX) : json_array(), "limits",
		limits, "fresh", is_fresh);
	int r = set_path(out, "workspace", order->workspace);
	if (r == 0)
		r = set_path(out, "rootfs", order->rootfs);
	if (order->image && order->image->about)
		json_put_shared(out, "image", order->image->about);
	if (order->has_seed)
		json_put_int(out, "seed", order->seed);
	if (order->has_time)
		json_put_int(out, "time_ns", order->time_ns);
	if (order_has_net(order->net, order->n_net))
		json_put_new(out, "net", strings_json(order->net, order->n_net));
	if (order->secrets && order->secrets->n > 0)
		json_put_new(out, "secrets", secrets_json(order->secrets));
	char *text = out && r == 0 ? json_dumps(out, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	json_decref(out);
	return text;
}

char *order_text_with(
	const char *skills, const struct order *order, const char *const *preload, bool is_fresh)
{
	struct volume *volumes = calloc(order->n_volumes + 1, sizeof *volumes);
	struct order with = *order;
	bool is_free = skills != NULL;
	if (!volumes)
		return NULL;
	for (size_t i = 0; i < order->n_volumes; i++) {
		volumes[i] = order->volumes[i];
		is_free = is_free && strcmp(volumes[i].dst, SKILLS_DIR) != 0;
	}
	if (is_free)
		volumes[with.n_volumes++] = (struct volume){.src = skills, .dst = SKILLS_DIR};
	with.volumes = volumes;
	char *text = order_text(&with, preload, is_fresh);
	free(volumes);
	return text;
}

char *order_text_with_net(const char *text, const char *const *net, size_t n)
{
	cleanup_json json_t *json = json_loads(text, 0, NULL);
	if (!json)
		return NULL;
	(void)json_object_del(json, "net");
	if (order_has_net(net, n))
		json_put_new(json, "net", strings_json(net, n));
	return json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
}

/* ---- reading an order from its text ---- */

/* Convert a JSON list of strings to an array of *@n strings with a NULL at the end. The strings
 * stay owned by @array. Returns: NULL when @array is not a list of strings. */
static const char **parse_strings(const json_t *array, size_t *n)
{
	*n = json_array_size(array);
	const char **out = json_is_array(array) ? calloc(*n + 1, sizeof *out) : NULL;
	for (size_t i = 0; out && i < *n; i++) {
		out[i] = json_string_value(json_array_get(array, i));
		if (!out[i]) {
			free(out);
			return NULL;
		}
	}
	return out;
}

static int parse_volumes(struct order_kept *k, const json_t *array)
{
	size_t n = json_array_size(array);
	k->volumes = calloc(n + 1, sizeof *k->volumes);
	for (size_t i = 0; k->volumes && i < n; i++) {
		const json_t *row = json_array_get(array, i);
		k->volumes[i] =
			(struct volume){.src = json_string_value(json_object_get(row, "src")),
				.dst = json_string_value(json_object_get(row, "dst")),
				.is_writable = json_is_true(json_object_get(row, "writable"))};
		if (!k->volumes[i].src || !k->volumes[i].dst)
			return -1;
	}
	k->order.volumes = k->volumes;
	k->order.n_volumes = n;
	return k->volumes ? 0 : -1;
}

/* Read the limits. If a limit is missing, the text is older than that limit, and the limit gets
 * its default. */
static int parse_limits(struct order *o, const json_t *limits)
{
	o->limits = order_default_limits();
	for (int i = 0; i < LIMIT_END_; i++) {
		const json_t *value = json_object_get(limits, limit_names[i]);
		if (value && (!json_is_integer(value) || json_integer_value(value) < 0))
			return -1;
		if (value)
			o->limits.value[i] = (uint64_t)json_integer_value(value);
	}
	return json_is_object(limits) ? 0 : -1;
}

/* Return whether @json is an object, and whether those of its members that are in `kinds` have
 * the right types. */
static bool has_kinds(const json_t *json)
{
	static const struct {
		const char *name;
		json_type type;
	} kinds[] = {{"runtime", JSON_STRING}, {"python", JSON_STRING}, {"workspace", JSON_STRING},
		{"rootfs", JSON_STRING}, {"template", JSON_STRING}, {"layer", JSON_STRING},
		{"template_python", JSON_STRING}, {"seed", JSON_INTEGER},
		{"time_ns", JSON_INTEGER}};
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const json_t *value = json_object_get(json, kinds[i].name);
		if (value && json_typeof(value) != kinds[i].type)
			return false;
	}
	return json_is_object(json);
}

static int parse_secrets(struct secrets *out, const json_t *array)
{
	size_t i;
	const json_t *row;
	struct err err;
	json_array_foreach(json_unconst(array), i, row)
	{
		char prefix[SECRET_PREFIX_BYTES];
		const char *name = json_get_text(row, "name");
		const char *placeholder = json_get_text(row, "placeholder");
		struct secret *s = &out->v[out->n];
		if (out->n == SECRETS_MAX || secret_check_name(name, &err) < 0 ||
			secret_read_place(s, prefix, json_get_text(row, "to"), &err) < 0 ||
			!secret_is_placeholder(placeholder))
			return -1;
		snprintf(s->name, sizeof s->name, "%s", name);
		snprintf(s->placeholder, sizeof s->placeholder, "%s", placeholder);
		out->n++;
	}
	return 0;
}

static const char *text_of(const json_t *json, const char *key)
{
	return json_string_value(json_object_get(json, key));
}

int order_parse(struct order_kept *out, const char *text, size_t bytes, struct err *err)
{
	struct order_kept k = {.json = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, NULL)};
	struct order *o = &k.order;
	size_t n_preload;
	const json_t *seed = json_object_get(k.json, "seed");
	const json_t *image = json_object_get(k.json, "image");
	o->runtime = text_of(k.json, "runtime");
	o->interpreter = text_of(k.json, "python");
	o->workspace = text_of(k.json, "workspace");
	o->rootfs = text_of(k.json, "rootfs");
	o->template = text_of(k.json, "template");
	o->layer = text_of(k.json, "layer");
	o->template_python = text_of(k.json, "template_python");
	if (image) {
		k.image = xnew(struct order_image);
		*k.image = (struct order_image){.about = image};
		o->image = k.image;
		o->image_name = json_get_text(image, "name");
	}
	o->has_seed = json_is_integer(seed);
	o->seed = (uint64_t)json_integer_value(seed);
	const json_t *time = json_object_get(k.json, "time_ns");
	o->has_time = json_is_integer(time);
	o->time_ns = json_integer_value(time);
	o->is_session = true;
	k.is_fresh = json_is_true(json_object_get(k.json, "fresh"));
	k.preload = parse_strings(json_object_get(k.json, "preload"), &n_preload);
	k.env = parse_strings(json_object_get(k.json, "env"), &o->n_env);
	o->env = k.env;
	if (json_object_get(k.json, "net"))
		k.net = parse_strings(json_object_get(k.json, "net"), &o->n_net);
	o->net = k.net;
	k.secrets = xnew(struct secrets);
	o->secrets = k.secrets;
	if (!has_kinds(k.json) || (image && !order_image_is_valid(image)) ||
		parse_secrets(k.secrets, json_object_get(k.json, "secrets")) < 0 ||
		parse_limits(o, json_object_get(k.json, "limits")) < 0 || !k.preload || !k.env ||
		(json_object_get(k.json, "net") && !k.net) ||
		parse_volumes(&k, json_object_get(k.json, "volumes")) < 0) {
		order_kept_done(&k);
		return err_set(err, ERR_DAMAGED, "the session's parameters cannot be read");
	}
	*out = k;
	return 0;
}

void order_kept_done(struct order_kept *k)
{
	json_decref(k->json);
	free(k->preload);
	free(k->env);
	free(k->net);
	free(k->secrets);
	free(k->volumes);
	free(k->image);
	*k = (struct order_kept){0};
}

void order_text_runtime(const char *text, size_t bytes, char *out, size_t room)
{
	json_t *order = json_loadb(text, bytes, 0, NULL);
	const char *runtime = json_string_value(json_object_get(order, "runtime"));
	snprintf(out, room, "%s", runtime ? runtime : "python");
	json_decref(order);
}

int shared_order_parse(struct shared_order **out, const char *text, struct err *err)
{
	struct shared_order *o = xnew(struct shared_order);
	o->n_refs = 1;
	o->layer = ORDER_LAYER_INIT;
	int r = order_parse(&o->kept, text, strlen(text), err);
	if (r < 0)
		free(o);
	else
		*out = o;
	return r;
}

int shared_order_check(struct shared_order *o, const struct engine *engine, struct err *err)
{
	struct order_checked made;
	int r = order_layer_use(&o->layer, &o->kept.order, engine->layers, err);
	if (r < 0)
		return r;
	r = order_check(&made, &o->kept.order, &engine->install, engine->trust, err);
	if (r < 0)
		return r;
	r = order_check_sockets(&made, engine->socket_dirs, ENGINE_SOCKET_DIRS, err);
	if (r < 0)
		order_done(&made);
	else
		o->order = made;
	return r;
}

struct shared_order *shared_order_hold(struct shared_order *o)
{
	o->n_refs++;
	return o;
}

void shared_order_let_go(struct shared_order *o)
{
	if (!o || --o->n_refs > 0)
		return;
	order_done(&o->order);
	order_kept_done(&o->kept);
	order_layer_done(&o->layer);
	shared_order_let_go(o->previous);
	free(o);
}
