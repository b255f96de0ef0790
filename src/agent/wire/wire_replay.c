/* A recording that is the model. SPDX-License-Identifier: Apache-2.0 */
#include "agent/wire/inside.h"
#include "agent/wire/question.h"

#include "base/fd.h"
#include "base/num.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int read_file(const char *file, char **out, size_t *bytes, struct err *err)
{
	struct stat st;
	cleanup_fd int fd = fd_open_regular(file);
	if (fd == -EINVAL)
		return err_set(err, ERR_USAGE, "the recording %s: not a regular file", file);
	if (fd < 0 || fstat(fd, &st) < 0) {
		int sys = fd < 0 ? -fd : errno;
		return err_sys(err, sys == ENOENT ? ERR_NOT_FOUND : ERR_ACCESS, sys,
			"the recording %s", file);
	}
	if (st.st_size > RECORDING_BYTES_MAX)
		return err_set(err, ERR_LIMIT, "the recording %s: over %s", file,
			num_format_bytes(RECORDING_BYTES_MAX).text);
	char *text = malloc((size_t)st.st_size + 1);
	ssize_t n = text ? fd_read_all(fd, text, (size_t)st.st_size) : -ENOMEM;
	if (n < 0) {
		free(text);
		return err_sys(err, ERR_IO, (int)-n, "the recording %s", file);
	}
	*out = text;
	*bytes = (size_t)n;
	return 0;
}

int replay_open(struct wire *w, struct err *err)
{
	char *text = NULL;
	size_t bytes = 0;
	int r = read_file(w->model.base, &text, &bytes, err);
	if (r == 0)
		r = recorded_parse(&w->recording, text, bytes, err);
	free(text);
	return r;
}

/* All texts, and where those of the last message begin. */
static int prepare(struct wire_call *c, const struct wire_request *q, struct err *err)
{
	c->body = question_text(q, 0);
	c->own = question_text(q, q->n_messages > 0 ? q->n_messages - 1 : 0);
	c->body_bytes = c->body ? strlen(c->body) : 0;
	return c->body && c->own ? 0 : err_set(err, ERR_NO_MEMORY, "no memory to ask a model");
}

static void start(struct wire_call *c)
{
	struct failure why;
	int r = recorded_answer(&c->wire->recording, c->body, c->own, &c->reduction, &why);
	call_over(c, r < 0 ? &why : NULL);
}

static void stop(struct wire_call *c)
{
	(void)c;
}

static void release(struct wire_call *c)
{
	free(c->own);
}

const struct wire_kind wire_replay = {
	.prepare = prepare, .start = start, .stop = stop, .release = release};
