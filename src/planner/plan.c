/* SPDX-License-Identifier: Apache-2.0 */
#include "planner/plan.h"

#include "planner/plan_run.h"

#include "base/fd.h"
#include "plan/program/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
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
	return r < 0 ? err_set(err, ERR_LIMIT, "plan: a text of %zu bytes", strlen(what)) : 0;
}

/* Without tools, a name that nothing has may be meant for one. */
void plan_hint_tools(struct diags *all, const struct source *src, bool is_text)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->item[i].code == P_UNDEFINED && !all->item[i].hint[0] &&
			all->item[i].end < src->bytes && strchr(".(", src->text[all->item[i].end]))
			snprintf(all->item[i].hint, DIAG_HINT_BYTES, "%s",
				is_text ? "if it is a tool: `tools` says which there are"
					: "if it is a tool: --tools FILE says which there are");
}

static int report_all(const struct program *p, bool is_json, struct buf *report)
{
	int r = 0;
	if (r == 0)
		r = diags_report(report, &p->src, &p->diags, is_json);
	/* Where it was called from, when that is more than one place. */
	for (size_t i = 0; i < p->vm.n_trace && p->vm.n_trace > 1 && r == 0 && !is_json; i++) {
		uint32_t line, column;
		source_place(&p->src, p->vm.trace[i].at, &line, &column);
		r = buf_addf(
			report, "  in %.80s at line %u\n", p->vm.trace[i].function.str->data, line);
	}
	return r;
}

static int perform(
	struct program *p, const struct plan_request *req, const struct source *src, bool runs)
{
	struct dialect dialect =
		req->dialect == PLAN_DIALECT_STARLARK ? DIALECT_STARLARK : DIALECT_PLAN;
	struct heap_limits limits = PROGRAM_LIMITS;
	struct vm_host host = {.ctx = req->arg, .print = req->print};
	uint64_t seed[2] = {0};
	struct val result;
	/* Without randomness at start-up, which Linux has not since 3.17, hashes are only
	 * guessable. */
	(void)!getrandom(seed, sizeof seed, GRND_NONBLOCK);
	dialect.while_loops |= req->has_while;
	dialect.recursion |= req->has_recursion;
	if (req->fuel > 0)
		limits.fuel = req->fuel;
	if (req->memory_bytes > 0)
		limits.bytes = (size_t)req->memory_bytes;
	if (program_load(p, src, &dialect, &limits, seed) < 0) {
		plan_hint_tools(&p->diags, &p->src, req->is_text);
		return PLAN_INVALID;
	}
	if (!runs)
		return PLAN_OK;
	return program_run(p, &host, &result) == VM_DONE ? PLAN_OK : PLAN_FAILED;
}

int plan_perform(const struct plan_request *req, bool runs, struct buf *report, struct err *err)
{
	*report = BUF_INIT(REPORT_MAX_BYTES);
	if (runs &&
		(req->tools_path || req->policy_path || req->record_path || req->resume_path ||
			req->model))
		return plan_run(req, report, err);
	cleanup_buf struct buf text = BUF_INIT(LEX_SOURCE_MAX_BYTES + READ_BYTES + 1);
	int r = plan_read(req->path, &text, err);
	if (r < 0)
		return r;
	struct program *p = calloc(1, sizeof *p);
	if (!p)
		return err_set(err, ERR_NO_MEMORY, "plan: no memory for it");
	struct source src = {.name = strcmp(req->path, "-") == 0 ? "<stdin>" : req->path,
		.text = buf_str(&text),
		.bytes = text.bytes};
	int status = perform(p, req, &src, runs);
	r = report_all(p, req->is_json, report);
	program_done(p);
	free(p);
	return r < 0 ? err_set(err, ERR_NO_MEMORY, "plan: no memory for the report") : status;
}
