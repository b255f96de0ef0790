/* A kernel of Jupyter over a session: takes messages, calls operations, gives messages. It knows no
 * sockets. SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "api/operation/operation.h"
#include "serve/jupyter/connection_file.h"
#include "serve/jupyter/message.h"

#include <stdbool.h>
#include <uv.h>

struct kernel;

struct kernel_config {
	const struct operation_context *context;
	uv_loop_t *loop;
	json_t *create;	     /* parameters of session.create; the kernel takes a reference */
	const char *runtime; /* language of the cells */
	const char *version; /* of retort */
	void *arg;
	/* Send a message. @to: where it goes; NULL on JUPYTER_IOPUB. @topic: on JUPYTER_IOPUB, by
	 * which clients may subscribe. @parts: header, parent header, metadata, content; NULL: {}.
	 * All is borrowed. */
	void (*send)(void *arg, enum jupyter_channel channel, const struct jupyter_route *to,
		const char *topic, const json_t *const parts[SIGNED_PARTS]);
	/* The client has asked the kernel to end. */
	void (*over)(void *arg);
	/* The session was made, or @err says why not; the first cell then tries again. May be
	 * NULL. */
	void (*made)(void *arg, const struct err *err);
	/* After kernel_stop(): nothing is under way any more, so kernel_free() may be called, even
	 * from here. May be NULL. */
	void (*stopped)(void *arg);
};

/* Open a kernel, and begin to make its session. Owns: the caller calls kernel_stop(), lets the loop
 * run until the operations have ended (service_close()), and calls kernel_free(). */
struct kernel *kernel_new(const struct kernel_config *config);
/* kernel_stop(): send nothing any more. `stopped` follows from the loop. */
void kernel_stop(struct kernel *kernel);
void kernel_free(struct kernel *kernel);

/* Take a message of JUPYTER_SHELL, JUPYTER_CONTROL or JUPYTER_STDIN. Owns: takes what @m points to,
 * which is empty afterwards. */
void kernel_receive(struct kernel *kernel, enum jupyter_channel channel, struct jupyter_message *m);

/* Return whether a request is under way or waits. */
bool kernel_is_busy(const struct kernel *kernel);
/* Return whether many requests wait, so that no more should be read from JUPYTER_SHELL now. */
bool kernel_is_full(const struct kernel *kernel);

/* Interrupt what runs. A second interrupt stops it at once. */
void kernel_interrupt(struct kernel *kernel);
