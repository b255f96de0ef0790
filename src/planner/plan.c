/*
 * Run a plan for `retort plan run`, and read files for all subcommands of `retort plan`.
 *
 * This file runs plans without tools; plan_run.c runs plans with tools. plan_case.c prepares both.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/plan.h"

#include "planner/plan_case.h"
#include "planner/plan_run.h"

#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPORT_MAX_BYTES = 1 << 20, READ_BYTES = 1 << 16 };

static int cannot_open(const char *path, int sys, struct err *err)
{
	enum err_code code = sys == ENOENT || sys == ENOTDIR ? ERR_NOT_FOUND
		: sys == EACCES				     ? ERR_ACCESS
							     : ERR_IO;
	(void)err_sys(err, code, sys, "plan: %.180s", path);
	return err_hint(err, "name a file, or - for standard input");
}

static int read_all(int fd, const char *path, struct buf *out, struct err *err)
{
	for (;;) {
		char *at = buf_reserve(out, READ_BYTES);
		if (!at)
			return err_set(err, ERR_LIMIT, "plan: %.180s: larger than %d bytes", path,
				LEX_SOURCE_MAX_BYTES);
		ssize_t n = read(fd, at, READ_BYTES);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EISDIR) {
			(void)err_set(err, ERR_USAGE, "plan: %.180s: is a directory", path);
			return err_hint(err, "name a file, or - for standard input");
		}
		if (n < 0)
			return err_sys(err, ERR_IO, errno, "plan: %.180s", path);
		if (n == 0)
			return 0;
		buf_grown(out, (size_t)n);
	}
}

int plan_read(const char *path, struct buf *out, struct err *err)
{
	cleanup_fd int fd = strcmp(path, "-") == 0 ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
						   : open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? cannot_open(path, errno, err) : read_all(fd, path, out, err);
}

int plan_read_regular(const char *path, struct buf *out, struct err *err)
{
	cleanup_fd int fd = fd_open_regular(path);
	if (fd == -EINVAL)
		return err_set(err, ERR_USAGE, "plan: %.180s: not a regular file", path);
	return fd < 0 ? cannot_open(path, -fd, err) : read_all(fd, path, out, err);
}

int plan_take(const char *what, bool is_text, struct buf *out, struct err *err)
{
	if (!is_text)
		return plan_read(what, out, err);
	int r = buf_add(out, what);
	return r < 0 ? err_set(err, ERR_LIMIT, "plan: the text has %zu bytes, which is too long",
			       strlen(what))
		     : 0;
}

/* Append the stack trace of a failure that happened inside functions. */
static int report_trace(const struct program *p, struct buf *report)
{
	int r = 0;
	for (size_t i = 0; i < p->vm.n_trace && p->vm.n_trace > 1 && r == 0; i++) {
		uint32_t line, column;
		source_place(&p->src, p->vm.trace[i].at, &line, &column);
		r = buf_addf(
			report, "  in %.80s at line %u\n", p->vm.trace[i].function.str->data, line);
	}
	return r;
}

/* Run a plan without tools. Its flows need no check, because it calls no tools. */
static int perform(struct plan_case *c, const struct plan_request *req, struct err *err)
{
	struct vm_host host = {.ctx = req->arg, .print = req->print};
	struct val result;
	int r = case_read(c, req, err);
	if (r == 0)
		r = case_load(c, err);
	if (r != 0)
		return r;
	return program_run(&c->p, &host, &result) == VM_DONE ? PLAN_OK : PLAN_FAILED;
}

int plan_perform(const struct plan_request *req, struct buf *report, struct err *err)
{
	*report = BUF_INIT(REPORT_MAX_BYTES);
	if (case_has_flows(req))
		return plan_run(req, report, err);
	struct plan_case *c = calloc(1, sizeof *c);
	if (!c)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for the plan");
	int status = perform(c, req, err), r = 0;
	if (status >= 0)
		r = case_report(c, report, req->is_json);
	if (status >= 0 && r == 0 && !req->is_json)
		r = report_trace(&c->p, report);
	case_done(c);
	free(c);
	return r < 0 ? err_set(err, ERR_NO_MEMORY, "plan: no memory for the report") : status;
}
