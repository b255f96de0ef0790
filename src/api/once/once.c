/*
 * `retort run`: run one program, without a registry or a journal.
 *
 * The program gets an engine, a loop and a session of its own. on_opened() runs the program as the
 * session's only step. on_done() takes the record and copies files out, and session_close() ends
 * the box. When the session has been freed, on_emptied() lets the loop end. SIGINT and SIGTERM
 * interrupt the step.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/once/once.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "gateway/rule/rule.h"
#include "session/box/copy_out.h"
#include "session/port/port.h"
#include "session/session.h"
#include "session/start/engine.h"
#include "session/start/order_layer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct once {
	const struct once_request *req;
	const struct step_listener *listener;
	struct once_result *out;
	struct engine engine;
	struct layer_store *layers; /* or NULL */
	struct order_layer layer;
	struct order_checked order;
	int out_fd;
	uv_loop_t loop;
	uv_signal_t signals[2];
	struct session *session;
	struct port_list ports;
	bool is_interrupted;
	struct err err; /* first failure to start the program or to copy a file */
};

static int open_out_dir(struct once *once, struct err *err)
{
	const char *dir = once->req->out_dir;
	if (!dir)
		return 0;
	int made = mkdir(dir, 0777);
	if (made == 0 || errno == EEXIST)
		once->out_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (once->out_fd >= 0 && faccessat(once->out_fd, ".", W_OK, 0) == 0)
		return 0;
	int r = err_sys(err, ERR_ACCESS, errno, "--out %s", dir);
	return err_hint(err, "choose a directory that you may write to"), r;
}

/* Called when the session has been freed: let the loop end. */
static void on_emptied(struct engine *engine)
{
	struct once *once = engine->arg;
	engine->emptied = NULL;
	for (size_t i = 0; i < ARRAY_LEN(once->signals); i++)
		uv_close((uv_handle_t *)&once->signals[i], NULL);
	engine_stop(&once->engine);
}

static void end_session(struct once *once)
{
	(void)port_list_close(&once->ports, 0);
	session_close(once->session);
}

static struct box *box_of(void *arg)
{
	const struct once *once = arg;
	return once->session ? session_box(once->session) : NULL;
}

static int open_ports(struct once *once, struct err *err)
{
	const struct once_request *req = once->req;
	for (size_t i = 0; i < req->n_ports; i++) {
		const struct port_config config = {.engine = &once->engine,
			.box_port = req->ports[i].box_port,
			.place = &req->ports[i].place,
			.box = box_of,
			.arg = once};
		struct port *p;
		char address[PLACE_TEXT_BYTES];
		int r = port_open(&p, &config, err);
		if (r < 0)
			return r;
		port_list_add(&once->ports, p);
		place_write(port_place(p), address);
		if (req->published)
			req->published(once->listener->arg, port_number(p), address);
	}
	return 0;
}

static int run_step(struct once *once)
{
	const struct once_request *req = once->req;
	struct step_order *order = step_order_new(&(struct step_order){.code = req->order.code,
							  .code_bytes = req->order.code_bytes,
							  .filename = req->order.filename,
							  .argv = req->argv,
							  .preload = req->preload,
							  .stdin_fd = -1},
		&once->err);
	int r = order ? session_run(once->session, order, once->listener, &once->err) : -ENOMEM;
	step_order_let_go(order);
	return r;
}

static void on_opened(void *arg, const struct err *err)
{
	struct once *once = arg;
	if (err)
		once->err = *err;
	else if (once->is_interrupted)
		err_set(&once->err, ERR_INTERRUPTED, "interrupted before the program started");
	else if (run_step(once) == 0) {
		if (once->listener->started)
			once->listener->started(once->listener->arg, once->order.id);
		return;
	}
	end_session(once);
}

static void on_call(void *arg, struct tool_call *call)
{
	struct once *once = arg;
	const struct once_asker *asker = once->req->asker;
	if (call->answered && asker)
		asker->ask(asker->arg, &once->loop, call);
	else
		tool_call_deny(call); /* there are no tools */
}

static void on_cancel(void *arg, struct tool_call *call)
{
	struct once *once = arg;
	once->req->asker->cancel(once->req->asker->arg, call);
}

static void tell_tail(struct once *once, const struct record *record, int stream)
{
	const struct capture *c = &record->out[stream];
	cleanup_buf struct buf tail = BUF_INIT(c->limit_bytes);
	if (once->req->tail && c->total_bytes > c->head.bytes && capture_tail(c, &tail) == 0)
		once->req->tail(once->listener->arg, stream, capture_cut_bytes(c), buf_str(&tail),
			tail.bytes);
}

/* Copy the files that the record lists out of the box. If a file cannot be copied, continue with
 * the others, and report the first failure. */
static void copy_files(struct once *once, const struct record *record)
{
	struct copy_out copying = {.fd = session_workspace_fd(once->session),
		.out_fd = once->out_fd,
		.again_bytes_max = record->limits.value[LIMIT_disk_bytes]};
	for (size_t i = 0; i < record->n_paths; i++) {
		const char *path = record->paths[i];
		struct err err;
		if (path && copy_out_file(&copying, path, &err) < 0 && once->err.code == ERR_NONE)
			once->err = err;
	}
	copy_out_done(&copying);
}

static void on_done(void *arg, const struct record *record)
{
	struct once *once = arg;
	for (int i = 0; i < 2; i++)
		tell_tail(once, record, i);
	once->out->record = record_json(record);
	once->out->exit_status = record->exit_status;
	if (once->out_fd >= 0)
		copy_files(once, record);
	end_session(once);
}

static void on_signal(uv_signal_t *handle, int number attr_unused)
{
	struct once *once = handle->data;
	once->is_interrupted = true;
	session_interrupt(once->session);
}

static int watch_signals(struct once *once, struct err *err)
{
	static const int numbers[] = {SIGINT, SIGTERM};
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		once->signals[i].data = once;
		int r = uv_signal_init(&once->loop, &once->signals[i]);
		if (r == 0)
			r = uv_signal_start(&once->signals[i], on_signal, numbers[i]);
		if (r < 0)
			return err_sys(err, ERR_INTERNAL, -r, "watch signals");
	}
	return 0;
}

static int start(struct once *once, struct err *err)
{
	const struct session_config config = {.engine = &once->engine,
		.order = &once->order,
		.id = once->order.id,
		.is_once = true,
		.stdin_fd = once->req->stdin_fd};
	const struct session_events events = {.arg = once,
		.opened = on_opened,
		.call = on_call,
		.cancel = on_cancel,
		.done = on_done};
	int r = watch_signals(once, err);
	if (r == 0)
		r = engine_attach(&once->engine, &once->loop, err);
	if (r == 0)
		r = open_ports(once, err);
	if (r == 0)
		r = session_open(&once->session, &config, &events, err);
	if (r == 0 && once->req->order.secrets)
		session_set_secrets(once->session, once->req->order.secrets);
	return r;
}

/* Use the layer of the order's template, which is one of the operator's. */
static int find_layer(struct once *once, struct order *order, struct err *err)
{
	const char *dir = once->req->layers_dir;
	int r = dir ? layer_store_open(&once->layers, dir, err) : 0;
	if (r == 0)
		r = order_layer_find(&once->layer, order, once->layers, "", err);
	return r == 0 ? order_layer_use(&once->layer, order, once->layers, err) : r;
}

static int prepare(struct once *once, struct err *err)
{
	struct order order = once->req->order;
	int r = engine_start(&once->engine, err);
	if (r == 0)
		r = find_layer(once, &order, err);
	if (r == 0)
		r = order_check(
			&once->order, &order, &once->engine.install, once->engine.trust, err);
	if (r == 0)
		r = open_out_dir(once, err);
	if (r == 0 && (r = uv_loop_init(&once->loop)) < 0)
		r = err_sys(err, ERR_INTERNAL, -r, "event loop");
	return r;
}

static int run_loop(struct once *once, struct err *err)
{
	once->engine.emptied = on_emptied;
	once->engine.arg = once;
	int r = start(once, err);
	if (r < 0)
		(void)port_list_close(&once->ports, 0);
	if (r < 0 && once->engine.n_alive == 0)
		on_emptied(&once->engine);
	(void)uv_run(&once->loop, UV_RUN_DEFAULT);
	(void)uv_loop_close(&once->loop);
	if (r == 0 && once->err.code != ERR_NONE) {
		*err = once->err;
		r = -err_errno(once->err.code);
	}
	return r;
}

int once_check(const struct order *given, const char *layers_dir, struct err *err)
{
	struct order order = *given;
	struct layer_store *store = NULL;
	struct order_layer layer = ORDER_LAYER_INIT;
	struct install install;
	struct order_checked checked;
	int r = install_find(&install, err);
	if (r == 0 && layers_dir)
		r = layer_store_open(&store, layers_dir, err);
	if (r == 0)
		r = order_layer_find(&layer, &order, store, "", err);
	if (r == 0)
		r = order_check(&checked, &order, &install, NULL, err);
	if (r == 0)
		order_done(&checked);
	order_layer_done(&layer);
	layer_store_close(store);
	return r;
}

int once_check_net(const char *const *texts, size_t n, struct err *err)
{
	struct rules *rules = xnew(struct rules);
	int r = rules_parse(rules, texts, n, err);
	free(rules);
	return r;
}

int once_run(const struct once_request *req, struct once_result *out, struct err *err)
{
	static const struct step_listener deaf = {0};
	struct once once = {.req = req,
		.listener = req->listener ? req->listener : &deaf,
		.out = out,
		.layer = ORDER_LAYER_INIT,
		.out_fd = -1};
	*out = (struct once_result){0};
	int r = prepare(&once, err);
	if (r == 0)
		r = run_loop(&once, err);
	engine_stop(&once.engine);
	order_done(&once.order);
	order_layer_done(&once.layer);
	layer_store_close(once.layers);
	fd_close(&once.out_fd);
	return r;
}
