/*
 * The runtime for Node: find its installation, bind it into the box, and build the driver's command
 * line.
 *
 * The version of Node is not checked here, because that would start Node twice. Instead the driver
 * reports the version in its first frame, and refuses a version that is too old.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "runtime/installation.h"
#include "runtime/start.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { UV_THREADS_MIN = 2, UV_THREADS_MAX = 16 };

static const struct runtime_kind kind = {
	.language = "Node",
	.executable = "bin/node",
	.signs = {"include/node", "lib/node_modules", "share/doc/node"},
	.hint = "name its bin/node",
	.usual = {"/usr/bin/node", "/usr/local/bin/node", "/usr/bin/nodejs"},
	.missing = "install version 18 or newer (apt install nodejs) or name one: --python PATH",
};

static int add_arguments(const struct runtime_request *req, const char *node,
	struct runtime_start *out, struct err *err)
{
	unsigned long long mib = req->memory_bytes >> 20;
	int r = runtime_add(out->argv, RUNTIME_ARGS_MAX, err, "%s", node);
	/* Pass the memory of the box to V8, so that V8 collects garbage before the box reaches its
	 * limit, which the kernel enforces. Without the option, V8 would size its heap by the
	 * memory of the whole machine, which is larger. */
	if (r == 0 && mib > 0)
		r = runtime_add(out->argv, RUNTIME_ARGS_MAX, err, "--max-old-space-size=%llu", mib);
	/* Node chooses a random seed if it gets the seed 0, so add 1. */
	if (r == 0 && req->has_seed)
		r = runtime_add(out->argv, RUNTIME_ARGS_MAX, err, "--random-seed=%u",
			runtime_seed(req) % INT32_MAX + 1);
	if (r == 0 && req->has_seed)
		r = runtime_add(out->argv, RUNTIME_ARGS_MAX, err, "--hash-seed=%u",
			runtime_seed(req) % INT32_MAX + 1);
	return r == 0 ? runtime_add(out->argv, RUNTIME_ARGS_MAX, err, "/retort/node/driver.js") : r;
}

static int node_start(const struct runtime_request *req, struct runtime_start *out, struct err *err)
{
	char node[PATH_MAX], threads[64];
	int r = req->has_image ? runtime_name_in_image(req, "node", node, err)
			       : runtime_find(&kind, req->interpreter, node, err);
	if (r == 0 && !req->has_image)
		r = runtime_bind_installation(&kind, out, node, err);
	if (r < 0)
		return r;
	r = runtime_bind_driver(req, out, "node", "/retort/node", err);
	if (r < 0)
		return r;
	uint64_t n_threads = (req->cpu_milli + 999) / 1000;
	snprintf(threads, sizeof threads, "UV_THREADPOOL_SIZE=%u",
		(unsigned)MIN(MAX(n_threads, UV_THREADS_MIN), UV_THREADS_MAX));
	const char *const own[] = {threads, "NO_UPDATE_NOTIFIER=1"};
	struct runtime_request mine = *req;
	mine.chosen = req->interpreter ? node : req->chosen;
	r = add_arguments(req, node, out, err);
	return r < 0 ? r : runtime_add_environment(&mine, own, ARRAY_LEN(own), out, err);
}

const struct runtime runtime_node = {
	.name = "javascript",
	.endings = "|js|mjs|cjs|ts|mts|cts|",
	.words = "|node|nodejs|typescript|ecmascript|",
	.carry = CARRY_REPLAY,
	.is_stdin_text = true,
	.has_environment = true,
	.has_scopes = true,
	.start = node_start,
};
