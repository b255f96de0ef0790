/* SPDX-License-Identifier: Apache-2.0 */
#include "session/start/order.h"

#include "base/alloc.h"
#include "base/id.h"
#include "base/json.h"
#include "base/utf8.h"
#include "runtime/installation.h"
#include "runtime/start.h"
#include "session/start/order_image.h"
#include "session/start/trust.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ORDER_BOX_ID: the id of the user of a box with the host's system. */
enum { ID_BYTES = sizeof "s-" + 10, ORDER_BOX_ID = 1000 };

struct limits order_default_limits(void)
{
	return (struct limits){.value = {
#define X(name, value, what) [LIMIT_##name] = (value),
				       LIMITS(X)
#undef X
			       }};
}

static int choose_runtime(struct order_checked *c, const struct order *order, struct err *err)
{
	if (!order->runtime) {
		int r = runtime_guess(
			order->filename, order->code, order->code_bytes, &c->runtime, err);
		c->runtime = c->runtime ? c->runtime : &runtime_python;
		return r;
	}
	c->runtime = runtime_by_name(order->runtime);
	if (c->runtime)
		return 0;
	err_set(err, ERR_RUNTIME, "no runtime %s here", order->runtime);
	return err_hint(err, "choose one of %s", runtime_names());
}

/* Write the destination @dst of a volume to @out as an absolute path without trailing slashes. A
 * relative path is below the workspace. The warden checks the path's components. */
static int box_path(const char *dst, char out[WIRE_PATH_BYTES], struct err *err)
{
	size_t n = strlen(dst);
	while (n > 1 && dst[n - 1] == '/')
		n--;
	if (n == 0 || n + sizeof "/home/user/" > WIRE_PATH_BYTES)
		return err_set(err, ERR_USAGE, "volume destination \"%.100s\" is not a path", dst);
	snprintf(out, WIRE_PATH_BYTES, "%s%.*s", dst[0] == '/' ? "" : "/home/user/", (int)n, dst);
	return 0;
}

/* Check that @path can be bound into a box. @src is the same path as the caller wrote it. */
static int check_source(
	enum bind_kind kind, const char *path, const char *src, struct stat *st, struct err *err)
{
	static const char *const options[BIND_KIND_END_] = {[BIND_WORKSPACE] = "--workspace",
		[BIND_IMAGE] = "--rootfs",
		[BIND_LAYER] = "--template",
		[BIND_VOLUME_RO] = "--volume",
		[BIND_VOLUME_RW] = "--volume"};
	bool is_dir_needed = kind == BIND_WORKSPACE || kind == BIND_IMAGE || kind == BIND_LAYER;
	if (!path || stat(path, st) < 0) {
		int sys = errno;
		(void)err_sys(err, sys == EACCES ? ERR_ACCESS : ERR_NOT_FOUND, sys, "%s %s",
			options[kind], src);
		return err_hint(err, "%s",
			sys == EACCES ? "this user may not read it: ls -ld says who may"
				      : "name a file or directory of this host");
	}
	if (is_dir_needed && !S_ISDIR(st->st_mode))
		return err_fail(err, ERR_USAGE, "name a directory of this host",
			"%s %s is not a directory", options[kind], src);
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode))
		return err_fail(err, ERR_USAGE,
			"devices, sockets and pipes cannot be shown to a box",
			"%s %s is neither a file nor a directory", options[kind], src);
	if (kind == BIND_WORKSPACE && strcmp(path, "/") == 0)
		return err_fail(err, ERR_USAGE, "choose a directory for this work",
			"--workspace / would hand over the whole host");
	if (kind == BIND_IMAGE && strcmp(path, "/") == 0)
		return err_fail(err, ERR_USAGE,
			"name the directory of another system; without the option, a box has the "
			"/usr of this host",
			"--rootfs / would show the whole host");
	if (kind == BIND_WORKSPACE && access(path, W_OK) < 0) {
		int r = err_sys(err, ERR_ACCESS, errno, "--workspace %s", src);
		return err_hint(err, "choose a directory that you may write to"), r;
	}
	return 0;
}

static int add_bind(struct order_checked *c, enum bind_kind kind, const char *src, const char *dst,
	struct err *err)
{
	struct warden_bind *bind = &c->binds[c->n_binds];
	struct stat st;
	char *path = realpath(src, NULL);
	int r = check_source(kind, path, src, &st, err);
	if (r == 0) {
		*bind = (struct warden_bind){.kind = kind, .dev = st.st_dev, .ino = st.st_ino};
		snprintf(bind->src, sizeof bind->src, "%s", path);
	}
	free(path);
	if (r == 0 && dst)
		r = box_path(dst, bind->dst, err);
	c->n_binds += r == 0;
	return r;
}

/* Return whether the bind is the workspace, or below the workspace or /tmp. Each branch gets
 * directories of its own there, which hide the binds of its stem. */
static bool is_per_branch(const struct warden_bind *bind)
{
	return bind->kind == BIND_WORKSPACE || strncmp(bind->dst, "/home/user/", 11) == 0 ||
		strncmp(bind->dst, "/tmp/", 5) == 0;
}

/*
 * Sort the binds into the three groups that struct order_checked describes. The runtimes' binds are
 * those from @first up to, but not including, @last. Binds of one group keep their order, because
 * one volume may be mounted in another.
 */
static void sort_binds(struct order_checked *c, size_t first, size_t last)
{
	struct warden_bind *sorted = xcalloc(WIRE_BINDS_MAX, sizeof *sorted);
	size_t n = 0;
	for (int pass = 0; pass < 3; pass++) {
		for (size_t i = 0; i < c->n_binds; i++) {
			bool is_own = i >= first && i < last;
			int class = !is_per_branch(&c->binds[i]) ? 0 : is_own ? 1 : 2;
			if (class == pass)
				sorted[n++] = c->binds[i];
		}
		c->n_shared = pass == 0 ? n : c->n_shared;
		c->n_template = pass == 1 ? n : c->n_template;
	}
	free(c->binds);
	c->binds = sorted;
}

static bool has_bind(const struct order_checked *c, const struct warden_bind *bind)
{
	for (size_t i = 0; i < c->n_binds; i++)
		if (c->binds[i].dst[0] && strcmp(c->binds[i].dst, bind->dst) == 0)
			return true;
	return false;
}

/* Check that one more volume has room. Layers of an image have room of their own. */
static int check_room(const struct order_checked *c, struct err *err)
{
	size_t n = 0;
	for (size_t i = 0; i < c->n_binds; i++)
		n += c->binds[i].kind != BIND_IMAGE;
	return n < WIRE_VOLUMES_MAX
		? 0
		: err_set(err, ERR_LIMIT, "more than %d volumes", WIRE_VOLUMES_MAX);
}

static int add_start_binds(struct order_checked *c, struct err *err)
{
	for (size_t r = 0; r < RUNTIMES_MAX; r++)
		for (size_t i = 0; i < c->starts[r].n_binds; i++) {
			if (has_bind(c, &c->starts[r].binds[i]))
				continue;
			if (check_room(c, err) < 0)
				return -err_errno(err->code);
			c->binds[c->n_binds++] = c->starts[r].binds[i];
		}
	return 0;
}

/* Return the bind whose directory contains the mount point of @bind, or NULL. *@rest becomes the
 * path of the mount point in that directory. */
static const struct warden_bind *holder_of(
	const struct order_checked *c, const struct warden_bind *bind, const char **rest)
{
	const struct warden_bind *found = NULL;
	size_t most = 0;
	for (const struct warden_bind *b = c->binds; b < bind; b++) {
		const char *at = b->kind == BIND_WORKSPACE ? "/home/user" : b->dst;
		size_t n = strlen(at);
		if (b->kind == BIND_IMAGE || b->kind == BIND_LAYER || n <= most ||
			strncmp(bind->dst, at, n) != 0 || bind->dst[n] != '/')
			continue;
		found = b;
		most = n;
	}
	*rest = bind->dst + most + 1;
	return found;
}

static bool is_volume(const struct warden_bind *bind)
{
	return bind->kind == BIND_INSTALLATION || bind->kind == BIND_VOLUME_RO ||
		bind->kind == BIND_VOLUME_RW;
}

/* Refuse a volume whose mount point would be in a directory of the host and does not exist
 * there, because retort makes no files in such directories. */
static int check_places(const struct order_checked *c, struct err *err)
{
	for (size_t i = 0; i < c->n_binds; i++) {
		const struct warden_bind *bind = &c->binds[i];
		const char *rest;
		char place[2 * WIRE_PATH_BYTES];
		struct stat st;
		const struct warden_bind *in = is_volume(bind) ? holder_of(c, bind, &rest) : NULL;
		if (!in)
			continue;
		snprintf(place, sizeof place, "%s/%s", in->src, rest);
		if (lstat(place, &st) == 0 || errno != ENOENT)
			continue;
		bool is_dir = stat(bind->src, &st) == 0 && S_ISDIR(st.st_mode);
		err_set(err, ERR_USAGE, "volume destination %.100s: there is no %.100s in %.100s",
			bind->dst, rest, in->src);
		return err_hint(err,
			"create it: %s %.180s; retort creates nothing in your directories",
			is_dir ? "mkdir -p" : "touch", place);
	}
	return 0;
}

/* Refuse two volumes with one destination, because the later would hide the earlier. */
static int check_twice(const struct order_checked *c, struct err *err)
{
	const struct warden_bind *last = &c->binds[c->n_binds - 1];
	for (const struct warden_bind *b = c->binds; b < last; b++) {
		if (!is_volume(b) || strcmp(b->dst, last->dst) != 0)
			continue;
		return err_fail(err, ERR_USAGE, "give one of them another destination",
			"volume destination %.80s: both %.70s and %.70s would be there", b->dst,
			b->src, last->src);
	}
	return 0;
}

static int add_volume(struct order_checked *c, const struct volume *v, struct err *err)
{
	int r = check_room(c, err);
	if (r < 0)
		return r;
	r = add_bind(c, v->is_writable ? BIND_VOLUME_RW : BIND_VOLUME_RO, v->src, v->dst, err);
	return r < 0 ? r : check_twice(c, err);
}

static int add_image(struct order_checked *c, const struct order *order, struct err *err)
{
	int r = 0;
	if (order->rootfs)
		return add_bind(c, BIND_IMAGE, order->rootfs, NULL, err);
	for (size_t i = 0; r == 0 && order->image && i < order->image->n_trees; i++)
		r = add_bind(c, BIND_IMAGE, order->image->trees[i], NULL, err);
	return r;
}

static int add_binds(struct order_checked *c, const struct order *order, const struct trust *trust,
	struct err *err)
{
	int r = add_image(c, order, err);
	if (r == 0 && order->layer_tree)
		r = add_bind(c, BIND_LAYER, order->layer_tree, NULL, err);
	if (r == 0 && order->workspace)
		r = add_bind(c, BIND_WORKSPACE, order->workspace, NULL, err);
	size_t first = c->n_binds;
	if (r == 0)
		r = add_start_binds(c, err);
	if (r == 0 && trust)
		r = add_bind(c, BIND_VOLUME_RO, trust->dir, AUTHORITY_DIR, err);
	size_t last = c->n_binds;
	for (size_t i = 0; r == 0 && i < order->n_volumes; i++)
		r = add_volume(c, &order->volumes[i], err);
	if (r == 0)
		r = check_places(c, err);
	if (r == 0)
		sort_binds(c, first, last);
	return r;
}

static int check_code(const struct order *order, struct err *err)
{
	if (utf8_is_valid(order->code, order->code_bytes))
		return 0;
	return err_fail(err, ERR_USAGE, "save it as UTF-8: iconv -f latin1 -t utf-8 FILE",
		"%s is not UTF-8", order->filename);
}

void order_new_id(char id[ORDER_ID_BYTES])
{
	id_make(id, ID_BYTES, "s-");
}

/* Prepare the other runtimes of a session. If this host lacks a runtime, the error is reported
 * when a step needs that runtime. @python: the interpreter of a template, or NULL. */
static void start_others(
	struct order_checked *c, const struct runtime_request *ask, const char *python)
{
	const struct runtime *runtime;
	c->why_not = xcalloc(RUNTIMES_MAX, sizeof *c->why_not);
	struct runtime_request other = *ask;
	if (ask->interpreter)
		other.chosen = c->starts[runtime_index(c->runtime)].argv[0];
	for (unsigned i = 0; (runtime = runtime_at(i)); i++) {
		/* the caller's interpreter is for the session's own runtime */
		other.interpreter = runtime == &runtime_python ? python : NULL;
		if (runtime != c->runtime &&
			runtime->start(&other, &c->starts[i], &c->why_not[i]) < 0)
			runtime_start_done(&c->starts[i]);
	}
}

const struct runtime_start *order_start(
	const struct order_checked *c, const struct runtime *runtime, struct err *err)
{
	unsigned i = runtime_index(runtime);
	if (c->starts[i].argv[0])
		return &c->starts[i];
	if (c->why_not)
		*err = c->why_not[i];
	else
		err_set(err, ERR_RUNTIME, "this session has only %s", c->runtime->name);
	return NULL;
}

bool order_has_net(const char *const *net, size_t n)
{
	return n > 1 || (n == 1 && strcmp(net[0], "none") != 0);
}

static int take_net(struct order_checked *c, const struct order *order, struct err *err)
{
	struct rules *rules = xnew(struct rules);
	int r = rules_parse(rules, order->net, order->n_net, err);
	if (r == 0 && rules->n > 0)
		c->net = take_ptr(rules);
	free(rules);
	return r;
}

/* Copy the secrets, without their values. */
static void take_secrets(struct order_checked *c, const struct order *order)
{
	if (!order->secrets || order->secrets->n == 0)
		return;
	c->secrets = xnew(struct secrets);
	secrets_copy(c->secrets, order->secrets, false);
}

/* Have the box trust what the gateway serves in the place of servers: make the directory of
 * certificates, and name it in the environment @env, before the variables of the caller. Owns: the
 * caller frees @env, which stays NULL if the box needs no such trust. */
static int take_trust(struct order_checked *c, struct trust *trust, struct runtime_request *ask,
	const char ***env, struct err *err)
{
	size_t n = 0;
	int r = c->net && trust && rules_have_http(c->net) ? trust_make(trust, err) : 1;
	if (r != 0)
		return MIN(r, 0);
	while (trust_environment[n])
		n++;
	*env = xcalloc(n + ask->n_env + 1, sizeof **env);
	memcpy(*env, trust_environment, n * sizeof **env);
	if (ask->n_env > 0)
		memcpy(*env + n, ask->env, ask->n_env * sizeof **env);
	ask->env = *env;
	ask->n_env += n;
	return 0;
}

/* Take what the image says of its user and its environment. */
static int take_image(struct order_checked *c, const struct order *order,
	struct runtime_request *ask, struct err *err)
{
	static const struct order_image none = {.about = NULL};
	const struct order_image *image = order->image ? order->image : &none;
	c->uid = c->gid = ORDER_BOX_ID;
	c->has_image = ask->has_image;
	if (!ask->has_image)
		return 0;
	c->workdir = order_image_workdir(image->about);
	if (image->about)
		c->image = json_need(
			json_pack("{s:s, s:s}", "name", json_get_text(image->about, "name"),
				"digest", json_get_text(image->about, "digest")));
	/* once_check() looks at no layer */
	int r = image->about && image->n_trees == 0
		? 0
		: order_image_user(image, &c->uid, &c->gid, err);
	if (r == 0 && c->uid > 0)
		ask->user = order_image_user_name(image->about);
	ask->image_env = order_image_env(image, &ask->n_image_env);
	return r;
}

static int check(struct order_checked *c, const struct order *order, const struct install *install,
	struct trust *trust, struct err *err)
{
	const char **env = NULL;
	struct runtime_request ask = {.interpreter = order->interpreter,
		.has_image = order->rootfs || order->image_name || order->image,
		.drivers_dir = install->drivers_dir,
		.session = c->id,
		.env = order->env,
		.n_env = order->n_env,
		.cpu_milli = order->limits.value[LIMIT_cpu_milli],
		.memory_bytes = order->limits.value[LIMIT_memory_bytes],
		.has_seed = order->has_seed,
		.has_time = order->has_time,
		.seed = order->seed,
		.time_ns = order->time_ns};
	c->limits = order->limits;
	c->has_seed = order->has_seed;
	c->binds = xcalloc(WIRE_BINDS_MAX, sizeof *c->binds);
	take_secrets(c, order);
	int r = check_code(order, err);
	if (r == 0)
		r = take_image(c, order, &ask, err);
	if (r == 0)
		r = take_net(c, order, err);
	if (r == 0)
		r = take_trust(c, trust, &ask, &env, err);
	if (r == 0)
		r = choose_runtime(c, order, err);
	if (r == 0)
		order_new_id(c->id);
	const char *python = order->template_python;
	char path[PATH_MAX];
	if (r == 0 && python && !ask.interpreter && c->runtime == &runtime_python)
		ask.interpreter = python;
	else if (r == 0 && python && python_find(python, path, err) == 0)
		ask.chosen = path;
	if (r == 0)
		r = c->runtime->start(&ask, &c->starts[runtime_index(c->runtime)], err);
	/* The operations path.* need it in the box of every session. */
	if (r == 0 && order->is_session)
		r = runtime_bind_driver(
			&ask, &c->starts[runtime_index(c->runtime)], "files", "/retort/files", err);
	if (r == 0 && order->is_session)
		start_others(c, &ask, python);
	const struct trust *seen = env ? trust : NULL;
	free(env);
	free(ask.image_env);
	return r < 0 ? r : add_binds(c, order, seen, err);
}

int order_check(struct order_checked *out, const struct order *order, const struct install *install,
	struct trust *trust, struct err *err)
{
	*out = (struct order_checked){0};
	int r = check(out, order, install, trust, err);
	if (r < 0)
		order_done(out);
	return r;
}

static bool is_host_writable(const struct warden_bind *bind)
{
	return bind->kind == BIND_WORKSPACE || bind->kind == BIND_VOLUME_RW;
}

/* Return whether the directory of @bind is @dir or one of those above it. */
static bool contains(const struct warden_bind *bind, const char *dir)
{
	struct stat st;
	char *path = realpath(dir, NULL);
	bool is_found = false;
	while (path && !is_found) {
		is_found = stat(path, &st) == 0 && st.st_dev == bind->dev && st.st_ino == bind->ino;
		char *slash = strrchr(path, '/');
		if (slash[1] == '\0') /* "/" */
			break;
		slash[slash == path] = '\0';
	}
	free(path);
	return is_found;
}

int order_check_sockets(
	const struct order_checked *c, const char *const *dirs, size_t n, struct err *err)
{
	for (size_t i = 0; i < c->n_binds; i++)
		for (size_t d = 0; d < n && is_host_writable(&c->binds[i]); d++)
			if (dirs[d] && contains(&c->binds[i], dirs[d]))
				return err_fail(err, ERR_ACCESS,
					"show another directory, or this one read-only; `retort serve "
					"--socket` and XDG_RUNTIME_DIR say where the sockets are",
					"a program that may write to %.100s could replace the "
					"engine's sockets in %.100s",
					c->binds[i].src, dirs[d]);
	return 0;
}

const struct warden_bind *order_host_bind(const struct order_checked *order)
{
	for (size_t i = 0; i < order->n_binds; i++)
		if (is_host_writable(&order->binds[i]))
			return &order->binds[i];
	return NULL;
}

bool order_has_host_workspace(const struct order_checked *order)
{
	for (size_t i = 0; i < order->n_binds; i++)
		if (order->binds[i].kind == BIND_WORKSPACE)
			return true;
	return false;
}

/* A box with an image gets a new root with each branch. */
const struct warden_bind *order_branch_binds(const struct order_checked *order)
{
	return order->binds + (order->has_image ? 0 : order->n_shared);
}

size_t order_n_branch_binds(const struct order_checked *order)
{
	return order->n_binds - (order->has_image ? 0 : order->n_shared);
}

void order_done(struct order_checked *c)
{
	for (size_t i = 0; i < RUNTIMES_MAX; i++)
		runtime_start_done(&c->starts[i]);
	free(c->why_not);
	free(c->net);
	free(c->secrets);
	free(c->binds);
	json_decref(c->image);
	*c = (struct order_checked){0};
}
