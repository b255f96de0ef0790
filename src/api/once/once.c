/* SPDX-License-Identifier: Apache-2.0 */
#include "api/once/once.h"

#include "base/fd.h"
#include "session/box/copy_out.h"
#include "session/session.h"
#include "session/start/engine.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct run {
	const struct run_request *req;
	const struct step_listener *listener;
	struct run_result *out;
	struct engine engine;
	struct order_checked order;
	int out_fd;
	uv_loop_t loop;
	uv_signal_t signals[2];
	struct session *session;
	bool is_interrupted;
	bool is_tainted; /* it has read from an untrusted tool */
	struct err err;	 /* why it could not be started, or the files not be copied */
};

static int open_out_dir(struct run *run, struct err *err)
{
	const char *dir = run->req->out_dir;
	if (!dir)
		return 0;
	int made = mkdir(dir, 0777);
	if (made == 0 || errno == EEXIST)
		run->out_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (run->out_fd >= 0 && faccessat(run->out_fd, ".", W_OK, 0) == 0)
		return 0;
	int r = err_sys(err, ERR_ACCESS, errno, "--out %s", dir);
	return err_hint(err, "choose a directory that you may write to"), r;
}

/* Nothing of the session is left: the loop can end. */
static void on_emptied(struct engine *engine)
{
	struct run *run = engine->arg;
	engine->emptied = NULL;
	for (size_t i = 0; i < ARRAY_LEN(run->signals); i++)
		uv_close((uv_handle_t *)&run->signals[i], NULL);
	engine_stop(&run->engine);
}

static int run_step(struct run *run)
{
	const struct run_request *req = run->req;
	struct step_order *order = step_order_new(&(struct step_order){.code = req->order.code,
							  .code_bytes = req->order.code_bytes,
							  .filename = req->order.filename,
							  .argv = req->argv,
							  .preload = req->preload,
							  .stdin_fd = -1},
		&run->err);
	int r = order ? session_run(run->session, order, run->listener, &run->err) : -ENOMEM;
	step_order_let_go(order);
	return r;
}

static void on_opened(void *arg, const struct err *err)
{
	struct run *run = arg;
	if (err)
		run->err = *err;
	else if (run->is_interrupted)
		err_set(&run->err, ERR_INTERRUPTED, "interrupted before the program started");
	else if (run_step(run) == 0) {
		if (run->listener->started)
			run->listener->started(run->listener->arg, run->order.id);
		return;
	}
	session_close(run->session);
}

static void on_call(void *arg, struct tool_call *call)
{
	struct run *run = arg;
	call->is_tainted = run->is_tainted;
	run->req->gate->call(run->req->gate->arg, call);
}

static void on_cancel(void *arg, struct tool_call *call)
{
	struct run *run = arg;
	run->req->gate->cancel(run->req->gate->arg, call);
}

/* Nothing of a run is kept. */
static int on_keep(void *arg, const char *text, size_t bytes, bool is_untrusted, struct err *err)
{
	struct run *run = arg;
	(void)text, (void)bytes, (void)err;
	run->is_tainted |= is_untrusted;
	return 0;
}

static void tell_tail(struct run *run, const struct record *record, int stream)
{
	const struct capture *c = &record->out[stream];
	cleanup_buf struct buf tail = BUF_INIT(c->limit_bytes);
	if (run->req->tail && c->total_bytes > c->head.bytes && capture_tail(c, &tail) == 0)
		run->req->tail(run->listener->arg, stream, capture_cut_bytes(c), buf_str(&tail),
			tail.bytes);
}

/* Copy what the record lists. The first failure is kept; the rest is copied all the same. */
static void copy_files(struct run *run, const struct record *record)
{
	struct copy_out copying = {.fd = session_workspace_fd(run->session),
		.out_fd = run->out_fd,
		.again_bytes_max = record->limits.value[LIMIT_disk_bytes]};
	for (size_t i = 0; i < record->n_paths; i++) {
		const char *path = record->paths[i];
		struct err err;
		if (path && copy_out_file(&copying, path, &err) < 0 && run->err.code == ERR_NONE)
			run->err = err;
	}
	copy_out_done(&copying);
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
	run->is_interrupted = true;
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
	const struct session_config config = {.engine = &run->engine,
		.order = &run->order,
		.id = run->order.id,
		.is_once = true,
		.stdin_fd = run->req->stdin_fd};
	const struct session_events events = {.arg = run,
		.opened = on_opened,
		.call = run->req->gate ? on_call : NULL,
		.cancel = run->req->gate ? on_cancel : NULL,
		.keep = on_keep,
		.done = on_done};
	int r = watch_signals(run, err);
	if (r == 0)
		r = engine_attach(&run->engine, &run->loop, err);
	return r < 0 ? r : session_open(&run->session, &config, &events, err);
}

static int prepare(struct run *run, struct err *err)
{
	int r = engine_start(&run->engine, err);
	if (r == 0)
		r = order_check(&run->order, &run->req->order, &run->engine.install, err);
	if (r == 0)
		r = open_out_dir(run, err);
	if (r == 0 && (r = uv_loop_init(&run->loop)) < 0)
		r = err_sys(err, ERR_INTERNAL, -r, "event loop");
	return r;
}

static int run_loop(struct run *run, struct err *err)
{
	run->engine.emptied = on_emptied;
	run->engine.arg = run;
	int r = start(run, err);
	if (r < 0 && run->engine.n_alive == 0)
		on_emptied(&run->engine);
	(void)uv_run(&run->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&run->loop);
	if (r == 0 && run->err.code != ERR_NONE) {
		*err = run->err;
		r = -err_errno(run->err.code);
	}
	return r;
}

int run_check(const struct order *order, struct err *err)
{
	struct install install;
	struct order_checked checked;
	int r = install_find(&install, err);
	if (r == 0)
		r = order_check(&checked, order, &install, err);
	if (r == 0)
		order_done(&checked);
	return r;
}

int run_once(const struct run_request *req, struct run_result *out, struct err *err)
{
	static const struct step_listener deaf = {0};
	struct run run = {.req = req,
		.listener = req->listener ? req->listener : &deaf,
		.out = out,
		.out_fd = -1};
	*out = (struct run_result){0};
	int r = prepare(&run, err);
	if (r == 0)
		r = run_loop(&run, err);
	engine_stop(&run.engine);
	order_done(&run.order);
	fd_close(&run.out_fd);
	return r;
}
