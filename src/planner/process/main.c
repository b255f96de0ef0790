/*
 * The planner process: check or run one plan from a front end, so that a crash or an exploit
 * affects only this plan. The engine starts the process with one channel.
 *
 * The process first gives up everything but the channel, memory and time (lock.h). Only after that
 * does it read a request. It checks and runs the plan as the command line does, but with another
 * implementation of the tools (tools.c). Its last message is the result, which the engine does not
 * trust (planner.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "planner/plan_check.h"
#include "planner/process/lock.h"
#include "planner/process/tools.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { PRINTED_BYTES = 1 << 20, NICE = 5 };

struct work {
	json_t *request;
	struct buf printed, report;
	bool is_cut;
};

static const char *text_of(const struct work *w, const char *name)
{
	return json_string_value(json_object_get(w->request, name));
}

static int print(void *arg, const char *text, size_t bytes)
{
	struct work *w = arg;
	if (w->is_cut || buf_try(&w->printed, text, bytes) == 0)
		return 0;
	/* Only the start of the output fits. Cut it at the boundary of a character. */
	size_t left = utf8_cut(text, bytes, PRINTED_BYTES - w->printed.bytes);
	(void)buf_append(&w->printed, text, left);
	w->is_cut = true;
	return 0;
}

static bool may_call(void *arg, const char *tool)
{
	const struct work *w = arg;
	const json_t *names = json_object_get(w->request, "approve"), *one;
	size_t i;
	json_array_foreach(names, i, one)
	{
		if (json_is_string(one) && strcmp(json_string_value(one), tool) == 0)
			return true;
	}
	return false;
}

static uint64_t count_of(const struct work *w, const char *name)
{
	return (uint64_t)json_integer_value(json_object_get(w->request, name));
}

/* Check or run the plan. Returns: enum plan_status; negative errno. */
static int perform(struct work *w, struct err *err)
{
	const struct plan_request req = {.path = text_of(w, "plan"),
		.policy_path = text_of(w, "policy"),
		.tools_path = text_of(w, "tools"),
		.request = text_of(w, "request"),
		.tools_name = text_of(w, "tools_name"),
		.fuel = count_of(w, "fuel"),
		.memory_bytes = count_of(w, "memory_bytes"),
		.arg = w,
		.print = print,
		.is_json = true,
		.is_text = true,
		.may_call = may_call};
	if (!req.path || !req.tools_path)
		return err_set(err, ERR_INTERNAL, "plan: the request has no plan, or no tools");
	return json_is_true(json_object_get(w->request, "is_run"))
		? plan_perform(&req, &w->report, err)
		: plan_check(&req, &w->report, err);
}

static json_t *result_of(const struct work *w, int status, const struct err *err)
{
	json_t *out = json_object();
	if (status < 0) {
		(void)planner_put_error(out, err);
		return out;
	}
	json_t *report = json_loadb(buf_str(&w->report), w->report.bytes, JSON_ALLOW_NUL, NULL);
	(void)json_object_update(out, report);
	json_decref(report);
	(void)json_object_set_new(out, "status", json_integer(status));
	(void)json_object_set_new(
		out, "stdout", planner_text(buf_str(&w->printed), w->printed.bytes));
	if (w->is_cut)
		(void)json_object_set_new(out, "truncated", json_true());
	return out;
}

/* Give up privileges before the request is read. Also make this process the first one that the
 * kernel kills when memory runs out. */
static int give_up(uint64_t memory_bytes)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0) {
		(void)!write(fd, "1000", 4);
		(void)close(fd);
	}
	(void)setpriority(PRIO_PROCESS, 0, NICE);
	if (close_range(PLANNER_FD + 1, ~0U, 0) < 0 || chdir("/") < 0 ||
		prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		return -errno;
	int r = planner_limit(memory_bytes);
	return r ? r : planner_lock();
}

int main(int argc, char **argv)
{
	struct work w = {.printed = BUF_INIT(PRINTED_BYTES)};
	struct err err = {0};
	char *end;
	uint64_t memory_bytes = argc == 2 ? strtoull(argv[1], &end, 10) : 0;
	if (give_up(memory_bytes) < 0)
		return 125;
	w.request = planner_receive(PLANNER_REQUEST);
	if (!w.request)
		return 1;
	const struct planner_engine engine = {
		.has_calls = json_is_true(json_object_get(w.request, "has_calls")),
		.has_model = json_is_true(json_object_get(w.request, "has_model"))};
	planner_engine_set(&engine);
	int status = perform(&w, &err);
	/* The kernel frees the memory of the process. */
	_exit(planner_send(PLANNER_FD, PLANNER_DONE, result_of(&w, status, &err),
		      PLANNER_GIVES_BYTES) < 0);
}
