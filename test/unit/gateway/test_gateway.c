/* The engine's side of the gateway: against the real process, and against one that lies. The test
 * is the lying process itself: started as "retort-gateway", it does what the first rule of a box
 * says. SPDX-License-Identifier: Apache-2.0 */
#include "gateway/gateway.h"

#include "base/fd.h"
#include "base/helper.h"
#include "t.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- the process that lies ---- */

static void say(const char *text)
{
	(void)fd_send_waiting(HELPER_FD, text, strlen(text), NULL, 0);
}

#define READY	    "{\"say\":\"ready\",\"box\":1}"
#define ROW(member) "{\"say\":\"row\",\"box\":1," member "}"
#define REST	    "\"verdict\":0,\"reason\":\"\",\"n\":1,\"in\":0,\"out\":0"

/* What it says after "ready", by the name in the rule. */
static const struct {
	const char *rule, *says;
} lies[] = {
	{"no-json", "]"},
	{"no-object", "[1]"},
	{"no-box", "{\"say\":\"row\"}"},
	{"no-word", "{\"say\":\"obey\",\"box\":1}"},
	{"ready-twice", READY},
	{"error-code", "{\"say\":\"ready\",\"box\":1,\"error\":{\"code\":-1}}"},
	{"report-unasked",
		"{\"say\":\"report\",\"box\":1,\"rows\":[],\"n_more\":0,\"is_last\":true}"},
	{"no-name", ROW("\"name\":\"<script>\",\"port\":1," REST)},
	{"long-name", ROW("\"name\":\"x.\\u0000y\",\"port\":1," REST)},
	{"no-port", ROW("\"name\":\"x\",\"port\":65536," REST)},
	{"no-verdict",
		ROW("\"name\":\"x\",\"port\":1,\"verdict\":3,\"reason\":\"a\",\"n\":1,\"in\":0,"
		    "\"out\":0")},
	{"no-reason",
		ROW("\"name\":\"x\",\"port\":1,\"verdict\":1,\"reason\":\"\",\"n\":1,\"in\":0,"
		    "\"out\":0")},
	{"odd-reason",
		ROW("\"name\":\"x\",\"port\":1,\"verdict\":1,\"reason\":\"\\u001b[2J\",\"n\":1,"
		    "\"in\":0,\"out\":0")},
	{"negative",
		ROW("\"name\":\"x\",\"port\":1,\"verdict\":0,\"reason\":\"\",\"n\":-1,\"in\":0,"
		    "\"out\":0")},
};

static void say_often(const char *text, int n)
{
	for (int i = 0; i < n; i++)
		say(text);
}

static void lie(const char *message)
{
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		char rule[40];
		snprintf(rule, sizeof rule, "\"%s.example:80\"", lies[i].rule);
		if (strstr(message, rule))
			say(lies[i].says);
	}
	if (strstr(message, "many-rows"))
		say_often(ROW("\"name\":\"x\",\"port\":1," REST), GATEWAY_ROWS_MAX + 1);
	if (strstr(message, "many-sockets"))
		say_often("{\"say\":\"want_socket\",\"box\":1}", 65);
	if (strstr(message, "other-box"))
		say("{\"say\":\"ready\",\"box\":77}");
	if (strstr(message, "dies"))
		_exit(1);
}

__attribute__((constructor)) static void be_the_gateway(void)
{
	static char message[1 << 16];
	ssize_t n;
	if (strcmp(program_invocation_name, "retort-gateway") != 0)
		return;
	while ((n = recv(HELPER_FD, message, sizeof message - 1, 0)) > 0) {
		message[n] = '\0';
		if (strstr(message, "early-death"))
			_exit(1);
		while (strstr(message, "deaf"))
			(void)pause();
		const char *box = strstr(message, "\"box\":");
		char ready[64];
		snprintf(ready, sizeof ready, "{\"say\":\"ready\",\"box\":%d}",
			box ? (int)strtol(box + 6, NULL, 10) : 0);
		if (strstr(message, "\"open\"")) {
			say(ready);
			lie(message);
		}
		if (strstr(message, "\"report\""))
			say("{\"say\":\"report\",\"box\":1,\"rows\":[],\"n_more\":3,\"is_last\":true}");
	}
	_exit(0);
}

/* ---- the engine ---- */

struct bench {
	uv_loop_t loop;
	struct gateway *gateway;
	struct gateway_box *box;
	int n_ready, n_lost, n_rows, n_reports, n_wanted;
	struct err ready, lost, report;
	struct gateway_row row, first;
	size_t n_reported;
	uint64_t n_more;
	bool is_stopped;
};

static void on_ready(void *arg, const struct err *err)
{
	struct bench *w = arg;
	w->n_ready++;
	w->ready = err ? *err : (struct err){0};
}

static void on_want_socket(void *arg)
{
	struct bench *w = arg;
	w->n_wanted++;
	gateway_box_socket(w->box, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static void on_want_nothing(void *arg)
{
	((struct bench *)arg)->n_wanted++;
}

static void on_row(void *arg, const struct gateway_row *row)
{
	struct bench *w = arg;
	w->n_rows++;
	w->row = *row;
}

static void on_lost(void *arg, const struct err *err)
{
	struct bench *w = arg;
	w->n_lost++;
	w->lost = *err;
}

static void on_report(
	void *arg, const struct gateway_row *rows, size_t n, uint64_t n_more, const struct err *err)
{
	struct bench *w = arg;
	w->n_reports++;
	w->report = err ? *err : (struct err){0};
	w->n_reported = n;
	w->n_more = n_more;
	if (n > 0)
		w->first = rows[0];
}

static void on_stopped(void *arg)
{
	((struct bench *)arg)->is_stopped = true;
}

static const struct secrets no_secrets = {.n = 0};

static void open_box(struct bench *w, const char *rule, struct gateway_sockets *sockets)
{
	struct rules rules;
	struct err err = {0};
	struct gateway_sockets no_sockets = {.resolver = -1};
	const struct gateway_events events = {.ready = on_ready,
		.want_socket = sockets ? on_want_socket : on_want_nothing,
		.row = on_row,
		.lost = on_lost,
		.arg = w};
	const struct gateway_rights rights = {.rules = &rules, .secrets = &no_secrets};
	CHECK_INT(rules_parse(&rules, &rule, 1, &err), 0);
	w->box = gateway_box_open(w->gateway, &rights, sockets ? sockets : &no_sockets, &events);
	CHECK_INT(w->n_ready, 0); /* it comes from the loop */
}

static void begin(struct bench *w, const char *program)
{
	*w = (struct bench){0};
	CHECK_INT(uv_loop_init(&w->loop), 0);
	w->gateway = gateway_new(&w->loop, program);
}

static void begin_lying(struct bench *w, const char *rule)
{
	begin(w, "/proc/self/exe");
	open_box(w, rule, NULL);
}

static void run_until(struct bench *w, const int *n, int is)
{
	while (*n < is)
		(void)uv_run(&w->loop, UV_RUN_ONCE);
}

static void end(struct bench *w)
{
	gateway_box_close(w->box);
	gateway_stop(w->gateway, on_stopped, w);
	while (!w->is_stopped)
		(void)uv_run(&w->loop, UV_RUN_ONCE);
	(void)uv_run(&w->loop, UV_RUN_DEFAULT);
	CHECK_INT(uv_loop_close(&w->loop), 0);
}

TEST(what_may_not_come_ends_the_gateway)
{
	for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
		struct bench w;
		char rule[64];
		snprintf(rule, sizeof rule, "%s.example:80", lies[i].rule);
		begin_lying(&w, rule);
		run_until(&w, &w.n_lost, 1);
		CHECK_INT(w.n_ready, 1);
		CHECK_INT(w.ready.code, ERR_NONE);
		if (!CHECK_INT(w.lost.code, ERR_PROTOCOL))
			t_check_str(rule, "", __FILE__, __LINE__, "the rule");
		CHECK_INT(w.n_rows, 0);
		end(&w);
	}
}

TEST(more_rows_or_sockets_than_may_be)
{
	struct bench w;
	begin_lying(&w, "many-rows.example");
	run_until(&w, &w.n_lost, 1);
	CHECK_INT(w.n_rows, GATEWAY_ROWS_MAX);
	CHECK_INT(w.lost.code, ERR_PROTOCOL);
	end(&w);
	begin_lying(&w, "many-sockets.example");
	run_until(&w, &w.n_lost, 1);
	CHECK_INT(w.n_wanted, 64);
	CHECK_INT(w.lost.code, ERR_PROTOCOL);
	end(&w);
}

TEST(box_that_is_unknown_is_ignored)
{
	struct bench w;
	begin_lying(&w, "other-box.example");
	run_until(&w, &w.n_ready, 1);
	gateway_box_report(w.box, on_report, &w);
	run_until(&w, &w.n_reports, 1);
	CHECK_INT(w.report.code, ERR_NONE);
	CHECK_INT(w.n_more, 3);
	CHECK_INT(w.n_lost, 0);
	end(&w);
}

TEST(death_and_a_new_gateway)
{
	struct bench w;
	begin_lying(&w, "dies.example");
	run_until(&w, &w.n_lost, 1);
	CHECK_INT(w.n_ready, 1);
	CHECK_INT(w.lost.code, ERR_GONE);
	gateway_box_report(w.box, on_report, &w);
	run_until(&w, &w.n_reports, 1);
	CHECK_INT(w.report.code, ERR_GONE);
	gateway_box_close(w.box);
	w.n_ready = 0;
	open_box(&w, "other-box.example", NULL);
	run_until(&w, &w.n_ready, 1);
	CHECK_INT(w.ready.code, ERR_NONE);
	end(&w);
}

TEST(death_before_it_is_ready)
{
	struct bench w;
	begin_lying(&w, "early-death.example");
	gateway_box_report(w.box, on_report, &w);
	run_until(&w, &w.n_reports, 1);
	CHECK_INT(w.n_ready, 1);
	CHECK_INT(w.ready.code, ERR_GONE);
	CHECK_INT(w.report.code, ERR_GONE);
	CHECK_INT(w.n_lost, 0);
	end(&w);
}

/* Nothing waits for a gateway that does not answer. */
TEST(report_that_does_not_come)
{
	struct bench w;
	struct rules rules;
	struct err err = {0};
	const char *rule = "one.example";
	const struct gateway_rights rights = {.rules = &rules, .secrets = &no_secrets};
	CHECK_INT(rules_parse(&rules, &rule, 1, &err), 0);
	begin_lying(&w, "deaf.example");
	gateway_box_report(w.box, on_report, &w);
	run_until(&w, &w.n_reports, 1);
	CHECK_INT(w.report.code, ERR_GONE);
	CHECK_HAS(w.report.msg, "no report within");
	CHECK_INT(w.n_lost, 0);
	/* What it does not take is kept up to a bound. */
	for (int i = 0; i < 20000 && w.n_ready == 0; i++) {
		struct gateway_sockets no_sockets = {.resolver = -1};
		gateway_box_rules(w.box, &rights, &no_sockets);
		(void)uv_run(&w.loop, UV_RUN_NOWAIT);
	}
	CHECK_INT(w.n_ready, 1);
	CHECK_INT(w.ready.code, ERR_GONE);
	end(&w);
}

TEST(program_that_is_not_there)
{
	struct bench w;
	begin(&w, "/nonexistent/retort-gateway");
	open_box(&w, "one.example", NULL);
	run_until(&w, &w.n_ready, 1);
	CHECK_INT(w.ready.code, ERR_BOX);
	CHECK_HAS(w.ready.msg, "/nonexistent/retort-gateway");
	CHECK_HAS(w.ready.hint, "install retort again");
	end(&w);
}

/* ---- the real process ---- */

static bool find_program(char out[4200])
{
	char self[4096];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
	self[n > 0 ? n : 0] = '\0';
	char *slash = strrchr(self, '/');
	if (!slash)
		return false;
	*slash = '\0';
	snprintf(out, 4200, "%s/../src/retort-gateway", self);
	return access(out, X_OK) == 0;
}

/* A socket of the resolver, and one that asks it for the address of "db". */
static int make_resolver(int *asks)
{
	static const char query[] = "\0\7\1\0\0\1\0\0\0\0\0\0\2db\0\0\1\0\1";
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof at;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_INT(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
	CHECK_INT(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
	*asks = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_INT(connect(*asks, (struct sockaddr *)&at, sizeof at), 0);
	CHECK_INT(send(*asks, query, sizeof query - 1, 0), (int)sizeof query - 1);
	return fd;
}

static pid_t find_child(void)
{
	char path[64], text[32] = "";
	snprintf(path, sizeof path, "/proc/self/task/%d/children", (int)getpid());
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 && read(fd, text, sizeof text - 1) > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
}

TEST(real_process)
{
	struct bench w;
	char program[4200];
	if (!find_program(program)) {
		t_skip("retort-gateway is not beside the tests");
		return;
	}
	cleanup_fd int asks = -1;
	begin(&w, program);
	struct gateway_sockets sockets = {.resolver = make_resolver(&asks)};
	open_box(&w, "db:5432=127.0.0.1", &sockets);
	CHECK_INT(sockets.resolver, -1);
	run_until(&w, &w.n_rows, 1);
	CHECK_INT(w.n_ready, 1);
	CHECK_STR(w.row.name, "db");
	gateway_box_report(w.box, on_report, &w);
	run_until(&w, &w.n_reports, 1);
	CHECK_INT(w.report.code, ERR_NONE);
	CHECK_INT(w.n_wanted, 1); /* its port is one that programs can have */
	CHECK(w.n_reported >= 1);
	CHECK_STR(w.first.name, "db");
	pid_t pid = find_child();
	if (pid > 0) {
		CHECK_INT(kill(pid, SIGKILL), 0);
		run_until(&w, &w.n_lost, 1);
		CHECK_INT(w.lost.code, ERR_GONE);
	}
	end(&w);
}
