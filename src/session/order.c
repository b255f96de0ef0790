/* SPDX-License-Identifier: Apache-2.0 */
#include "session/order.h"

#include "base/utf8.h"

#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ID_RANDOM_BYTES = 10 };

struct limits order_default_limits(void)
{
	return (struct limits){.value = {
#define X(name, value, what) [LIMIT_##name] = (value),
				       LIMITS(X)
#undef X
			       }};
}

const char *order_runtimes(void)
{
	return runtime_names();
}

static int choose_runtime(struct order_checked *c, const struct order *order, struct err *err)
{
	c->runtime = order->runtime
		? runtime_by_name(order->runtime)
		: runtime_guess(order->filename, order->code, order->code_bytes);
	if (c->runtime)
		return 0;
	err_set(err, ERR_RUNTIME, "no runtime %s here", order->runtime);
	return err_hint(err, "there is: %s", runtime_names());
}

/* Absolute and without a trailing slash; parts are left for the warden to judge. */
static int box_path(const char *dst, char out[WIRE_PATH_BYTES], struct err *err)
{
	size_t n = strlen(dst);
	while (n > 1 && dst[n - 1] == '/')
		n--;
	if (n == 0 || n + sizeof "/home/user/" > WIRE_PATH_BYTES)
		return err_set(err, ERR_USAGE, "volume destination \"%.100s\" is no path", dst);
	(void)snprintf(
		out, WIRE_PATH_BYTES, "%s%.*s", dst[0] == '/' ? "" : "/home/user/", (int)n, dst);
	return 0;
}

/* Is @path what a bind of this kind can be made of? @src is how the caller wrote it. */
static int check_source(
	enum bind_kind kind, const char *path, const char *src, struct stat *st, struct err *err)
{
	static const char *const options[BIND_KIND_END_] = {[BIND_WORKSPACE] = "--workspace",
		[BIND_ROOTFS] = "--rootfs",
		[BIND_VOLUME_RO] = "--volume",
		[BIND_VOLUME_RW] = "--volume"};
	bool is_dir_needed = kind == BIND_WORKSPACE || kind == BIND_ROOTFS;
	if (!path || stat(path, st) < 0) {
		int sys = errno;
		int r = err_sys(err, sys == EACCES ? ERR_ACCESS : ERR_NOT_FOUND, sys, "%s %s",
			options[kind], src);
		return err_hint(err, "name a file or directory of this host"), r;
	}
	if (is_dir_needed && !S_ISDIR(st->st_mode)) {
		err_set(err, ERR_USAGE, "%s %s is no directory", options[kind], src);
		return err_hint(err, "name a directory of this host");
	}
	if (!S_ISDIR(st->st_mode) && !S_ISREG(st->st_mode)) {
		err_set(err, ERR_USAGE, "%s %s is no file or directory", options[kind], src);
		return err_hint(err, "devices, sockets and pipes cannot be shown to a box");
	}
	if (kind == BIND_WORKSPACE && strcmp(path, "/") == 0) {
		err_set(err, ERR_USAGE, "--workspace / would hand over the whole host");
		return err_hint(err, "choose a directory for this work");
	}
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
		(void)snprintf(bind->src, sizeof bind->src, "%s", path);
	}
	free(path);
	if (r == 0 && dst)
		r = box_path(dst, bind->dst, err);
	c->n_binds += r == 0;
	return r;
}

static int add_binds(struct order_checked *c, const struct order *order, struct err *err)
{
	size_t n = order->n_volumes + c->start.n_binds + 2;
	int r = 0;
	if (n > WIRE_BINDS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d volumes", WIRE_BINDS_MAX);
	c->binds = calloc(n, sizeof *c->binds);
	if (!c->binds)
		return err_set(err, ERR_NO_MEMORY, "no memory for volumes");
	if (order->rootfs)
		r = add_bind(c, BIND_ROOTFS, order->rootfs, NULL, err);
	if (r == 0 && order->workspace)
		r = add_bind(c, BIND_WORKSPACE, order->workspace, NULL, err);
	for (size_t i = 0; r == 0 && i < c->start.n_binds; i++)
		c->binds[c->n_binds++] = c->start.binds[i];
	for (size_t i = 0; r == 0 && i < order->n_volumes; i++) {
		const struct volume *v = &order->volumes[i];
		r = add_bind(
			c, v->is_writable ? BIND_VOLUME_RW : BIND_VOLUME_RO, v->src, v->dst, err);
	}
	return r;
}

static int check_code(const struct order *order, struct err *err)
{
	if (utf8_is_valid(order->code, order->code_bytes))
		return 0;
	err_set(err, ERR_USAGE, "%s is not UTF-8", order->filename);
	return err_hint(err, "save it as UTF-8: iconv -f latin1 -t utf-8 FILE");
}

static int new_id(struct order_checked *c, struct err *err)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char random[ID_RANDOM_BYTES];
	if (sodium_init() < 0)
		return err_set(err, ERR_INTERNAL, "libsodium does not start");
	randombytes_buf(random, sizeof random);
	strcpy(c->id, "s-");
	for (size_t i = 0; i < sizeof random; i++)
		c->id[2 + i] = digits[random[i] & 31];
	return 0;
}

static int check(struct order_checked *c, const struct order *order, const struct install *install,
	struct err *err)
{
	struct runtime_request ask = {.interpreter = order->interpreter,
		.rootfs = order->rootfs,
		.drivers_dir = install->drivers_dir,
		.session = c->id,
		.env = order->env,
		.n_env = order->n_env,
		.cpu_milli = order->limits.value[LIMIT_cpu_milli],
		.has_seed = order->has_seed,
		.seed = order->seed};
	int r = check_code(order, err);
	if (r == 0)
		r = choose_runtime(c, order, err);
	if (r == 0)
		r = new_id(c, err);
	if (r == 0)
		r = c->runtime->start(&ask, &c->start, err);
	return r < 0 ? r : add_binds(c, order, err);
}

int order_check(struct order_checked *out, const struct order *order, const struct install *install,
	struct err *err)
{
	*out = (struct order_checked){0};
	int r = check(out, order, install, err);
	if (r < 0)
		order_done(out);
	return r;
}

void order_done(struct order_checked *c)
{
	runtime_start_done(&c->start);
	free(c->binds);
	*c = (struct order_checked){0};
}
