/* SPDX-License-Identifier: Apache-2.0 */
#include "api/run.h"

#include "api/install.h"
#include "base/fd.h"
#include "base/utf8.h"
#include "sandbox/privilege.h"
#include "session/session.h"
#include "session/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SESSION_ID_RANDOM_BYTES = 10 };

struct run {
	const struct run_request *req;
	const struct run_events *events;
	struct run_result *out;
	const struct runtime *runtime;
	struct runtime_start start;
	struct warden_bind *binds;
	size_t n_binds;
	char id[RECORD_ID_BYTES];
	int out_fd;
	uv_loop_t loop;
	uv_signal_t signals[2];
	struct warden *warden;
	struct session *session;
	bool is_closed; /* the session is, or never was */
	struct err err; /* why it could not be started, or the files not be copied */
};

struct limits run_default_limits(void)
{
	return (struct limits){.value = {
#define X(name, value, what) [LIMIT_##name] = (value),
		LIMITS(X)
#undef X
	}};
}

const char *run_runtimes(void)
{
	return runtime_names();
}

/* ---- what is asked for, checked before anything is made ---- */

static int choose_runtime(struct run *run, struct err *err)
{
	const struct run_request *req = run->req;
	run->runtime = req->runtime ? runtime_by_name(req->runtime)
				    : runtime_guess(req->filename, req->code, req->code_bytes);
	if (run->runtime)
		return 0;
	err_set(err, ERR_RUNTIME, "no runtime %s here", req->runtime);
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
	(void)snprintf(out, WIRE_PATH_BYTES, "%s%.*s", dst[0] == '/' ? "" : "/home/user/", (int)n, dst);
	return 0;
}

static int add_bind(struct run *run, enum bind_kind kind, const char *src, const char *dst,
	const char *what, struct err *err)
{
	struct warden_bind *bind = &run->binds[run->n_binds];
	struct stat st;
	bool is_dir_needed = kind == BIND_WORKSPACE || kind == BIND_ROOTFS;
	*bind = (struct warden_bind){.kind = kind};
	cleanup(buf_done) struct buf real = BUF_INIT(WIRE_PATH_BYTES);
	char *path = realpath(src, NULL);
	int r = 0;
	if (!path || stat(path, &st) < 0) {
		r = err_sys(err, errno == EACCES ? ERR_ACCESS : ERR_NOT_FOUND, errno, "%s %s", what, src);
		err_hint(err, "name a file or directory of this host");
	} else if (is_dir_needed && !S_ISDIR(st.st_mode)) {
		r = err_set(err, ERR_USAGE, "%s %s is no directory", what, src);
	} else if (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)) {
		r = err_set(err, ERR_USAGE, "%s %s is no file or directory", what, src);
	} else if (kind == BIND_WORKSPACE && access(path, W_OK) < 0) {
		r = err_sys(err, ERR_ACCESS, errno, "%s %s", what, src);
		err_hint(err, "choose a directory that you may write to");
	} else if (strcmp(path, "/") == 0 && kind == BIND_WORKSPACE) {
		r = err_set(err, ERR_USAGE, "%s / would hand over the whole host", what);
	} else {
		bind->dev = st.st_dev;
		bind->ino = st.st_ino;
		(void)snprintf(bind->src, sizeof bind->src, "%s", path);
	}
	free(path);
	if (r == 0 && dst)
		r = box_path(dst, bind->dst, err);
	run->n_binds += r == 0;
	return r;
}

static int add_binds(struct run *run, struct err *err)
{
	const struct run_request *req = run->req;
	size_t n = req->n_volumes + run->start.n_binds + 2;
	int r = 0;
	if (n > WIRE_BINDS_MAX)
		return err_set(err, ERR_LIMIT, "more than %d volumes", WIRE_BINDS_MAX);
	run->binds = calloc(n, sizeof *run->binds);
	if (!run->binds)
		return err_set(err, ERR_NO_MEMORY, "no memory for volumes");
	if (req->rootfs)
		r = add_bind(run, BIND_ROOTFS, req->rootfs, NULL, "--rootfs", err);
	if (r == 0 && req->workspace)
		r = add_bind(run, BIND_WORKSPACE, req->workspace, NULL, "--workspace", err);
	for (size_t i = 0; r == 0 && i < run->start.n_binds; i++)
		run->binds[run->n_binds++] = run->start.binds[i];
	for (size_t i = 0; r == 0 && i < req->n_volumes; i++) {
		const struct run_volume *v = &req->volumes[i];
		r = add_bind(run, v->is_writable ? BIND_VOLUME_RW : BIND_VOLUME_RO, v->src, v->dst,
			"--volume", err);
	}
	return r;
}

static int open_out_dir(struct run *run, struct err *err)
{
	const char *dir = run->req->out_dir;
	if (!dir)
		return 0;
	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return err_sys(err, ERR_ACCESS, errno, "--out %s", dir);
	run->out_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (run->out_fd < 0)
		return err_sys(err, ERR_ACCESS, errno, "--out %s", dir);
	if (faccessat(run->out_fd, ".", W_OK, 0) < 0) {
		int r = err_sys(err, ERR_ACCESS, errno, "--out %s", dir);
		return err_hint(err, "choose a directory that you may write to"), r;
	}
	return 0;
}

static int check_code(const struct run_request *req, struct err *err)
{
	if (utf8_is_valid(req->code, req->code_bytes))
		return 0;
	err_set(err, ERR_USAGE, "%s is not UTF-8", req->filename);
	return err_hint(err, "save it as UTF-8: iconv -f latin1 -t utf-8 FILE");
}

static int new_id(struct run *run, struct err *err)
{
	static const char digits[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char random[SESSION_ID_RANDOM_BYTES];
	if (sodium_init() < 0)
		return err_set(err, ERR_INTERNAL, "libsodium does not start");
	randombytes_buf(random, sizeof random);
	strcpy(run->id, "s-");
	for (size_t i = 0; i < sizeof random; i++)
		run->id[2 + i] = digits[random[i] & 31];
	return 0;
}

static int prepare(struct run *run, const struct install *install, struct err *err)
{
	const struct run_request *req = run->req;
	struct runtime_request ask = {.interpreter = req->interpreter, .rootfs = req->rootfs,
		.drivers_dir = install->drivers_dir, .session = run->id, .env = req->env,
		.n_env = req->n_env, .cpu_milli = req->limits.value[LIMIT_cpu_milli],
		.has_seed = req->has_seed, .seed = req->seed};
	int r = check_code(req, err);
	if (r == 0)
		r = choose_runtime(run, err);
	if (r == 0)
		r = new_id(run, err);
	if (r == 0)
		r = run->runtime->start(&ask, &run->start, err);
	if (r == 0)
		r = add_binds(run, err);
	return r < 0 ? r : open_out_dir(run, err);
}

/* ---- while it runs ---- */

static void on_closed(void *arg)
{
	struct run *run = arg;
	run->is_closed = true;
	for (size_t i = 0; i < ARRAY_LEN(run->signals); i++)
		uv_close((uv_handle_t *)&run->signals[i], NULL);
	warden_stop(run->warden);
}

static void on_opened(void *arg, const struct err *err)
{
	struct run *run = arg;
	const struct run_request *req = run->req;
	const struct step_request step = {.code = req->code, .code_bytes = req->code_bytes,
		.filename = req->filename, .argv = req->argv, .preload = req->preload, .once = true};
	if (err)
		run->err = *err;
	else if (session_run(run->session, &step, &run->err) == 0) {
		if (run->events->started)
			run->events->started(run->events->arg, run->id);
		return;
	}
	session_close(run->session);
}

static void on_output(void *arg, int stream, const char *data, size_t bytes, size_t n_head)
{
	struct run *run = arg;
	(void)bytes;
	if (run->events->output && n_head > 0)
		run->events->output(run->events->arg, stream, data, n_head);
}

static void on_display(void *arg, const json_t *display)
{
	struct run *run = arg;
	if (run->events->display)
		run->events->display(run->events->arg, display);
}

static void tell_tail(struct run *run, const struct record *record, int stream)
{
	const struct capture *c = &record->out[stream];
	cleanup_buf struct buf tail = BUF_INIT(c->limit_bytes);
	if (run->events->tail && c->total_bytes > c->head.bytes && capture_tail(c, &tail) == 0)
		run->events->tail(run->events->arg, stream, capture_cut_bytes(c), buf_str(&tail),
			tail.bytes);
}

/* Copy what the record lists. The first failure is kept; the rest is copied all the same. */
static void copy_files(struct run *run, const struct record *record)
{
	size_t i;
	json_t *file;
	json_array_foreach(record->files, i, file) {
		const char *path = json_string_value(json_object_get(file, "path"));
		const char *change = json_string_value(json_object_get(file, "change"));
		struct err err;
		if (strcmp(change, "deleted") == 0)
			continue;
		if (workspace_copy_out(session_workspace_fd(run->session), path, run->out_fd, &err) == 0)
			run->out->n_copied++;
		else if (run->err.code == ERR_NONE)
			run->err = err;
	}
}

static void on_done(void *arg, const struct record *record)
{
	struct run *run = arg;
	for (int i = 0; i < 2; i++)
		tell_tail(run, record, i);
	run->out->record = record_json(record);
	run->out->exit_status = record->exit_status;
	if (run->out_fd >= 0)
		copy_files(run, record);
	session_close(run->session);
}

static void on_signal(uv_signal_t *handle, int number attr_unused)
{
	struct run *run = handle->data;
	session_interrupt(run->session);
}

static int watch_signals(struct run *run, struct err *err)
{
	static const int numbers[] = {SIGINT, SIGTERM};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		run->signals[i].data = run;
		int r = uv_signal_init(&run->loop, &run->signals[i]);
		if (r == 0)
			r = uv_signal_start(&run->signals[i], on_signal, numbers[i]);
		if (r < 0)
			return err_sys(err, ERR_INTERNAL, -r, "watch signals");
	}
	return 0;
}

static int start(struct run *run, struct err *err)
{
	const struct session_config config = {.loop = &run->loop, .warden = run->warden,
		.runtime = run->runtime, .start = &run->start, .binds = run->binds,
		.n_binds = run->n_binds, .limits = &run->req->limits, .id = run->id,
		.stdin_fd = run->req->stdin_fd};
	const struct session_events events = {.arg = run, .opened = on_opened, .output = on_output,
		.display = on_display, .done = on_done, .closed = on_closed};
	int r = watch_signals(run, err);
	if (r == 0)
		r = warden_attach(run->warden, &run->loop, err);
	return r < 0 ? r : session_open(&run->session, &config, &events, err);
}

static int finish(struct run *run, int r, struct err *err)
{
	fd_close(&run->out_fd);
	runtime_start_done(&run->start);
	free(run->binds);
	if (r == 0 && run->err.code != ERR_NONE) {
		*err = run->err;
		r = -err_errno(run->err.code);
	}
	return r;
}

int run_once(const struct run_request *req, const struct run_events *events, struct run_result *out,
	struct err *err)
{
	struct run run = {.req = req, .events = events, .out = out, .out_fd = -1};
	struct install install;
	*out = (struct run_result){0};
	int r = install_find(&install, err);
	/* The warden gets itself ready while we look at what is asked for. */
	if (r == 0)
		r = warden_start(&run.warden, install.warden, err);
	if (r == 0)
		r = privilege_drop(err);
	if (r == 0)
		r = prepare(&run, &install, err);
	if (r == 0 && (r = uv_loop_init(&run.loop)) < 0)
		r = err_sys(err, ERR_INTERNAL, -r, "event loop");
	if (r < 0) {
		if (run.warden)
			warden_stop(run.warden);
		return finish(&run, r, err);
	}
	r = start(&run, err);
	if (r < 0)
		on_closed(&run);
	(void)uv_run(&run.loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&run.loop);
	return finish(&run, r, err);
}
