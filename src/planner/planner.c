/*
 * Run a plan in a planner process: the engine's side.
 *
 * A plan from a front end processes untrusted data in a large interpreter. So it is checked and run
 * in its own process (process/main.c), which has dropped all privileges and has only one channel.
 * This file starts the process, sends the request, makes the calls that the process requests, and
 * finally ends the process.
 *
 * The process is not trusted: messages are validated, only tools whose names occur in the plan may
 * be called, and a result is reduced to known fields. The time of the process is limited; the
 * duration of calls is not counted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "planner/planner.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/helper/helper.h"
#include "base/install.h"
#include "planner/plan.h"
#include "planner/plan_tools.h"
#include "planner/planner_frame.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Limits of a planner process. TIME_MS does not include the duration of calls. In addition, the
 * kernel limits the CPU time of the process (process/lock.c). */
enum { TIME_MS = 300000, CALLS_MAX = 100000, ANSWER_MAX_BYTES = 16 << 20, SEND_S = 30 };

struct planner {
	const struct planner_job *job;
	pid_t pid;
	int fd;
	int64_t left_ms;
	uint32_t n_calls;
};

/* ---- starting and ending the planner process ---- */

static int spawn(struct planner *p, int theirs, struct err *err)
{
	struct install in;
	char memory[24], name[] = "retort-planner";
	char *argv[] = {name, memory, NULL};
	int r = install_find(&in, err);
	if (r < 0)
		return r;
	snprintf(memory, sizeof memory, "%llu", (unsigned long long)p->job->memory_bytes);
	r = helper_start(&p->pid, in.planner, argv, theirs, err);
	return r < 0 ? err_wrap(err, "plan") : 0;
}

static int open_channel(struct planner *p, struct err *err)
{
	int pair[2];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_sys(err, ERR_IO, errno, "plan: cannot make a channel");
	/* If the process does not read its channel, the engine must not block for ever. */
	const struct timeval send = {.tv_sec = SEND_S};
	(void)setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &send, sizeof send);
	int r = spawn(p, pair[1], err);
	(void)close(pair[1]);
	p->fd = pair[0];
	return r;
}

/* Set @err to a description of how the process ended. */
static void say_end(const struct planner *p, int status, struct err *err)
{
	int sig = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	if (sig == SIGXCPU)
		(void)err_set(err, ERR_LIMIT, "plan: the plan used more CPU time than a plan may");
	else if (sig)
		(void)err_set(err, ERR_GONE,
			"plan: the process of the plan was ended by signal %d (%s)", sig,
			sigdescr_np(sig) ? sigdescr_np(sig) : "?");
	else
		(void)err_set(err, ERR_GONE, "plan: the process of the plan ended with status %d",
			WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	if (p->n_calls > 0)
		(void)err_hint(err, "%u tool call%s had been made: find out what they did",
			p->n_calls, p->n_calls == 1 ? "" : "s");
	else
		(void)err_hint(err, "no tool had been called");
}

/* Kill the process if it is still running. Returns: its status from waitpid(). */
static int end_process(struct planner *p)
{
	int status = 0;
	if (p->pid <= 0)
		return 0;
	(void)kill(p->pid, SIGKILL);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	p->pid = 0;
	return status;
}

/* ---- receiving frames from the planner process ---- */

/* Read exactly @bytes from the channel. Returns: 0; -EPIPE if the channel is closed; -ETIME if the
 * time of the process is used up. */
static int read_some(struct planner *p, void *out, size_t bytes)
{
	for (size_t n = 0; n < bytes;) {
		struct pollfd poll_fd = {.fd = p->fd, .events = POLLIN};
		int64_t since = clock_now_ms();
		int ready = poll(&poll_fd, 1, (int)MAX(p->left_ms, 0));
		p->left_ms -= clock_now_ms() - since;
		if (ready < 0 && errno == EINTR)
			continue;
		if (ready <= 0)
			return ready == 0 ? -ETIME : -EPIPE;
		ssize_t r = recv(p->fd, (char *)out + n, bytes - n, MSG_DONTWAIT);
		if (r < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (r <= 0)
			return -EPIPE;
		n += (size_t)r;
	}
	return 0;
}

/* Receive a frame. Returns: 0; -EPIPE; -ETIME; -EPROTO if the frame is malformed; -ENOMEM. */
static int receive(struct planner *p, struct planner_head *head, json_t **body)
{
	int r = read_some(p, head, sizeof *head);
	if (r == 0 && !planner_head_is_valid(head, PLANNER_GIVES_BYTES))
		return -EPROTO;
	char *text = r == 0 ? malloc(head->bytes) : NULL;
	if (r == 0 && !text)
		return -ENOMEM;
	r = r ? r : read_some(p, text, head->bytes);
	*body = r == 0 ? planner_body(text, head->bytes) : NULL;
	free(text);
	return r ? r : *body ? 0 : -EPROTO;
}

/* ---- making the calls that the planner process requests ---- */

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Return whether the plan contains the name of the tool. Untrusted data may have taken over the
 * planner process, so the process may call no other tools. */
static bool is_named(const char *plan, const char *tool)
{
	const char *dot = strrchr(tool, '.'), *word = dot ? dot + 1 : tool;
	size_t n = strlen(word);
	for (const char *at = plan; (at = strstr(at, word)); at++)
		if ((at == plan || !is_word(at[-1])) && !is_word(at[n]))
			return true;
	return false;
}

static const struct tool *wanted(const struct planner *p, const json_t *body)
{
	const struct tool_provider *of = plan_tools_provider(p->job->calls);
	const char *name = json_string_value(json_object_get(body, "tool"));
	const char *text = json_string_value(json_object_get(body, "arguments"));
	const struct tool *tool = name ? tool_find(of->tools, name) : NULL;
	json_t *arguments = text ? planner_body(text, strlen(text)) : NULL;
	bool is_good = tool && arguments && is_named(p->job->plan, name);
	const char *param;
	json_t *value;
	json_object_foreach(arguments, param, value)
	{
		is_good = is_good && tool_param(tool, param) >= 0;
	}
	json_decref(arguments);
	return is_good ? tool : NULL;
}

/* Make a call that the process requests. Returns: enum tool_outcome; negative errno with @err set;
 * -EPROTO without @err set if the request is not allowed. */
static int make_call(
	struct planner *p, uint32_t kind, const json_t *body, struct buf *out, struct err *err)
{
	const struct tool_question q = {json_string_value(json_object_get(body, "question")),
		json_string_value(json_object_get(body, "data")),
		json_string_value(json_object_get(body, "schema")),
		json_string_value(json_object_get(body, "wrong"))};
	const struct tool_provider *of = plan_tools_provider(p->job->calls);
	if (kind == PLANNER_ASK)
		return q.question && q.data && q.schema ? of->ask(of->ctx, &q, out, err) : -EPROTO;
	const struct tool *tool = wanted(p, body);
	if (!tool)
		return -EPROTO;
	p->n_calls++;
	return of->call(
		of->ctx, tool, json_string_value(json_object_get(body, "arguments")), out, err);
}

static int answer(struct planner *p, uint32_t kind, const json_t *body, struct err *err)
{
	cleanup_buf struct buf out = BUF_INIT(ANSWER_MAX_BYTES);
	struct err why = {0};
	bool is_allowed = p->job->is_run && p->job->calls && p->n_calls < CALLS_MAX;
	int rc = is_allowed ? make_call(p, kind, body, &out, &why) : -EPROTO;
	if (rc < 0 && why.code == ERR_NONE)
		return err_set(err, ERR_PROTOCOL,
			"plan: the process of the plan made a forbidden request");
	json_t *said = json_pack(
		"{s:i, s:o}", "outcome", rc, "text", planner_text(buf_str(&out), out.bytes));
	if (said && why.code != ERR_NONE)
		(void)planner_put_error(said, &why);
	if (said && kind == PLANNER_ASK && plan_tools_has_model(p->job->calls))
		(void)json_object_set_new(said, "tokens", plan_tools_tokens(p->job->calls));
	return planner_send(p->fd, PLANNER_ANSWER, said, PLANNER_TAKES_BYTES);
}

/* ---- sending the request, and answering frames until the result arrives ---- */

static int ask_for(struct planner *p)
{
	const struct planner_job *j = p->job;
	json_t *body = json_pack("{s:b, s:s, s:s, s:s*, s:s*, s:s*, s:I, s:I, s:b, s:b, s:O*}",
		"is_run", j->is_run, "plan", j->plan, "tools", j->tools, "policy", j->policy,
		"request", j->request, "tools_name", j->tools_name, "fuel", (json_int_t)j->fuel,
		"memory_bytes", (json_int_t)j->memory_bytes, "has_calls", j->calls != NULL,
		"has_model", j->calls && plan_tools_has_model(j->calls), "approve", j->approve);
	return planner_send(p->fd, PLANNER_REQUEST, body, PLANNER_TAKES_BYTES);
}

json_t *planner_result(const json_t *said, bool is_run)
{
	static const struct {
		const char *name;
		json_type type;
		bool is_run_only;
	} fields[] = {{"diagnostics", JSON_ARRAY, false}, {"more", JSON_INTEGER, false},
		{"denied", JSON_INTEGER, false}, {"asked", JSON_INTEGER, false},
		{"depends", JSON_INTEGER, false}, {"calls", JSON_ARRAY, false},
		{"stdout", JSON_STRING, true}, {"truncated", JSON_TRUE, true},
		{"tokens", JSON_OBJECT, true}};
	const json_t *status = json_object_get(said, "status");
	json_int_t n = json_integer_value(status);
	if (!json_is_integer(status) || n < PLAN_OK || n > PLAN_DENIED)
		return NULL;
	json_t *out = json_pack("{s:I, s:[]}", "status", n, "diagnostics");
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		json_t *value = json_object_get(said, fields[i].name);
		if (value && json_typeof(value) == fields[i].type &&
			(is_run || !fields[i].is_run_only))
			(void)json_object_set(out, fields[i].name, value);
	}
	return out;
}

/* Send the request, and make calls until the result arrives. Returns: 0 with *result; negative
 * errno. Some errors leave @err unset: planner_perform() then sets it. */
static int converse(struct planner *p, json_t **result, struct err *err)
{
	int r = ask_for(p);
	while (r == 0 && !*result) {
		struct planner_head head = {0};
		json_t *body = NULL;
		r = receive(p, &head, &body);
		if (r == 0 && head.kind == PLANNER_DONE) {
			if (planner_get_error(body, err))
				r = -err_errno(err->code);
			else if (!(*result = planner_result(body, p->job->is_run)))
				r = -EPROTO;
		} else if (r == 0) {
			bool is_call = head.kind == PLANNER_CALL || head.kind == PLANNER_ASK;
			r = is_call ? answer(p, head.kind, body, err) : -EPROTO;
		}
		json_decref(body);
	}
	return r;
}

int planner_perform(const struct planner_job *job, json_t **result, struct err *err)
{
	struct planner p = {.job = job, .fd = -1, .left_ms = TIME_MS};
	*result = NULL;
	int r = open_channel(&p, err);
	if (r == 0) {
		plan_stop_channel(job->stop, p.fd);
		if (job->calls)
			plan_tools_watch(job->calls, p.fd);
		r = converse(&p, result, err);
		if (job->calls)
			plan_tools_unwatch(job->calls);
		plan_stop_channel(job->stop, -1);
	}
	bool is_gone = r == -EPIPE || r == -ECONNRESET;
	int status = end_process(&p);
	fd_close(&p.fd);
	if (r < 0 && plan_stop_is_set(job->stop))
		return err_set(err, ERR_INTERRUPTED, "plan: the plan was cancelled");
	if (r < 0 && err->code != ERR_NONE)
		return r;
	if (is_gone)
		say_end(&p, status, err);
	else if (r == -ETIME)
		(void)err_set(err, ERR_LIMIT, "plan: the plan took more than %d s", TIME_MS / 1000);
	else if (r == -ENOMEM)
		(void)err_set(err, ERR_NO_MEMORY, "plan: no memory for the messages of the plan");
	else if (r < 0)
		(void)err_set(err, ERR_PROTOCOL,
			"plan: the process of the plan sent a malformed message");
	return r < 0 ? -err_errno(err->code) : 0;
}
