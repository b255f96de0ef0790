/* The operation behind `retort run`: run one program in a box of its own.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/once/publish.h"
#include "base/err.h"
#include "session/start/order.h"
#include "session/step/step_order.h"
#include "session/tool_call.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

/* Asks whether the program may connect to a host, see CONNECT_NAME. @ask answers the call now or
 * later, from @loop; @cancel: the answer is not needed any more. */
struct once_asker {
	void *arg;
	void (*ask)(void *arg, uv_loop_t *loop, struct tool_call *call);
	void (*cancel)(void *arg, struct tool_call *call);
};

/* A program to run. All pointers are borrowed. */
struct once_request {
	struct order order;	 /* the box, the program and its limits */
	const char *const *argv; /* NULL-terminated; argv[0] is the program's name */
	const char *preload;	 /* names of the modules to import first, such as "a,b"; or NULL */
	int stdin_fd;		 /* descriptor of the standard input, or -1 */
	const char *layers_dir;	 /* state directory that has the order's template, or NULL */
	const char *out_dir;	 /* directory to which new and changed files are copied, or NULL */
	const struct publish *ports; /* ports of the box that are opened on the host */
	size_t n_ports;
	const struct once_asker *asker;	      /* NULL: nobody is asked */
	const struct step_listener *listener; /* or NULL */
	/* Called for each of `ports` when it is open, before the program starts. @address: where on
	 * the host. May be NULL. @arg: `arg` of the listener. */
	void (*published)(void *arg, uint16_t box_port, const char *address);
	/* Called at the end for each stream that was too long to be passed to the listener
	 * completely. May be NULL. @arg: `arg` of the listener. @data: the end of the stream.
	 * @cut_bytes: number of bytes that are lost: they come after what the listener got, and
	 * before @data. */
	void (*tail)(void *arg, int stream, uint64_t cut_bytes, const char *data, size_t bytes);
};

struct once_result {
	json_t *record;	 /* record of the step (docs/use/run.md). Owns: the caller decrefs */
	int exit_status; /* exit status of `retort run` */
};

/* Check that the host could make a box for @order, without making one. @layers_dir: as in struct
 * once_request. Errors: those of order_check() and order_layer_find(). */
int once_check(const struct order *order, const char *layers_dir, struct err *err);

/* Check network rules. Errors: those of rules_parse(). */
int once_check_net(const char *const *rules, size_t n, struct err *err);

/*
 * Run the program. SIGINT or SIGTERM interrupts the step; a second signal stops it at once.
 *
 * Blocks:  until the box has ended and everything is freed.
 * Returns: 0 if the program was started, even if it failed. Negative errno if it could not be
 * started, or if files could not be copied out afterwards. Whenever the program was started, @out
 * has the record.
 * Errors: ERR_USAGE, ERR_NOT_FOUND, ERR_RUNTIME, ERR_BOX, ERR_NO_SPACE, ERR_INTERRUPTED.
 */
int once_run(const struct once_request *req, struct once_result *out, struct err *err);
