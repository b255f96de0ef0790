/* SPDX-License-Identifier: Apache-2.0 */
#include "session/step/step_order.h"

#include "base/fd.h"
#include "session/box/stdin_queue.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NO_MEMORY, "no memory for a step");
}

struct step_order *step_order_new(const struct step_order *like, struct err *err)
{
	/* The order, its code and its file name are in one allocation. */
	size_t name_bytes = like->filename ? strlen(like->filename) + 1 : 0;
	struct step_order *order = malloc(sizeof *order + like->code_bytes + 1 + name_bytes);
	if (!order) {
		int fd = like->stdin_fd;
		fd_close(&fd);
		stdin_queue_close(like->stdin_queue);
		json_decref(like->args);
		json_decref(like->setting);
		json_decref(like->inputs);
		(void)no_memory(err);
		return NULL;
	}
	char *code = (char *)(order + 1), *filename = code + like->code_bytes + 1;
	*order = *like;
	if (like->code_bytes > 0)
		memcpy(code, like->code, like->code_bytes);
	code[like->code_bytes] = '\0';
	if (like->filename)
		memcpy(filename, like->filename, name_bytes);
	order->n_refs = 1;
	order->code = code;
	order->filename = like->filename ? filename : NULL;
	return order;
}

struct step_order *step_order_hold(struct step_order *order)
{
	order->n_refs++;
	return order;
}

void step_order_let_go(struct step_order *order)
{
	if (!order || --order->n_refs > 0)
		return;
	fd_close(&order->stdin_fd);
	stdin_queue_close(order->stdin_queue);
	json_decref(order->args);
	json_decref(order->setting);
	json_decref(order->inputs);
	free(order);
}

/* ---- a step's stdin, and the inputs that the step's record stores ---- */

int step_memory_file(const char *text, size_t bytes)
{
	const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
	cleanup_fd int fd = memfd_create("retort-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || fd_write_all(fd, text, bytes) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return -1;
	/* Seal the file. A box that gets it could otherwise enlarge it, and no limit covers its
	 * memory. */
	if (fcntl(fd, F_ADD_SEALS, seals) < 0)
		return -1;
	return fd_take(&fd);
}

static int note(struct step_order *order, const char *name, json_t *value, struct err *err)
{
	if (!order->inputs)
		order->inputs = json_object();
	return json_object_set_new(order->inputs, name, value) < 0 ? no_memory(err) : 0;
}

int step_order_read_text(struct step_order *order, const char *text, size_t bytes, struct err *err)
{
	fd_close(&order->stdin_fd);
	order->stdin_fd = step_memory_file(text, bytes);
	order->stdin_bytes = bytes;
	return order->stdin_fd < 0 ? no_memory(err)
				   : note(order, "stdin", json_stringn(text, bytes), err);
}

int step_order_note_inputs(struct step_order *order, struct err *err)
{
	int r = 0;
	if (!order->inputs && !(order->inputs = json_object()))
		return no_memory(err);
	if (order->filename)
		r = note(order, "filename", json_string(order->filename), err);
	if (r == 0 && order->timeout_ms)
		r = note(order, "timeout_ms", json_integer((json_int_t)order->timeout_ms), err);
	if (r == 0 && order->is_script)
		r = note(order, "script", order->args ? json_incref(order->args) : json_array(),
			err);
	if (r == 0 && order->setting && json_object_update(order->inputs, order->setting) < 0)
		r = no_memory(err);
	return r;
}

void step_order_note_written(struct step_order *order)
{
	size_t bytes;
	const char *text = order->stdin_queue ? stdin_queue_text(order->stdin_queue, &bytes) : NULL;
	if (text && order->inputs)
		(void)json_object_set_new(order->inputs, "stdin", json_stringn(text, bytes));
}
