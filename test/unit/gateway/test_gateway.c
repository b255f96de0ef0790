/* The engine's side of the gateway: against the real process, and against one that lies. The test
 * is the lying process itself: started as "retort-gateway", it does what the first rule of a box
 * says. SPDX-License-Identifier: Apache-2.0 */
#include "gateway/gateway.h"

#include "base/alloc.h"
#include "base/fd.h"
#include "base/helper/helper.h"
#include "gateway/channel.h"
#include "gateway/frame.h"
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
	{"asks-address", "{\"say\":\"ask\",\"box\":1,\"name\":\"10.0.0.1\",\"port\":80}"},
	{"asks-escape", "{\"say\":\"ask\",\"box\":1,\"name\":\"\\u001b[2J\",\"port\":80}"},
	{"asks-no-port", "{\"say\":\"ask\",\"box\":1,\"name\":\"x\",\"port\":0}"},
	{"asks-large-port", "{\"say\":\"ask\",\"box\":1,\"name\":\"x\",\"port\":65536}"},
	{"asks-nothing", "{\"say\":\"ask\",\"box\":1}"},
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

/* Begin a message, and do not end it. */
static void say_packets(int n)
{
	static char packet[CHANNEL_PACKET_BYTES];
	memset(packet, ' ', sizeof packet);
	for (int i = 0; i < n; i++)
		(void)fd_send_waiting(HELPER_FD, packet, sizeof packet, NULL, 0);
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
	if (strstr(message, "many-questions"))
		say_often("{\"say\":\"ask\",\"box\":1,\"name\":\"X.\",\"port\":80}",
			2 * GATEWAY_ASKED_MAX + 1);
	if (strstr(message, "endless"))
		say_packets(CHANNEL_BYTES / CHANNEL_PACKET_BYTES + 1);
	if (strstr(message, "other-box"))
		say("{\"say\":\"ready\",\"box\":77}");
	if (strstr(message, "tells-key"))
		say(strstr(message, "\"key\":") ? ROW("\"name\":\"key\",\"port\":1," REST)
						: ROW("\"name\":\"no-key\",\"port\":1," REST));
	if (strstr(message, "dies"))
		_exit(1);
}

/* Say how many bytes the values of the secrets have, and how many rules there are. */
static void tell_size(const char *text)
{
	char row[200];
	size_t i, bytes = 0;
	json_t *message = json_loads(text, 0, NULL), *one;
	json_array_foreach(json_object_get(message, "secrets"), i, one) bytes +=
		json_string_length(json_object_get(one, "value"));
	(void)snprintf(row, sizeof row,
		ROW("\"name\":\"x\",\"port\":%zu,\"verdict\":0,\"reason\":\"\",\"n\":1,\"in\":%zu,"
		    "\"out\":%zu"),
		json_array_size(json_object_get(message, "rules")), bytes, strlen(text));
	json_decref(message);
	say(row);
}

/* Receive a message, which may come in several packets. Returns: 0 at the end. */
static ssize_t hear(char message[CHANNEL_BYTES])
{
	ssize_t all = 0, n;
	do {
		n = recv(HELPER_FD, message + all, CHANNEL_PACKET_BYTES, 0);
		all += n;
	} while (n == CHANNEL_PACKET_BYTES);
	message[all > 0 ? all : 0] = '\0';
	return n <= 0 ? 0 : all;
}

__attribute__((constructor)) static void be_the_gateway(void)
{
	static char message[CHANNEL_BYTES];
	if (strcmp(program_invocation_name, "retort-gateway") != 0)
		return;
	while (hear(message) > 0) {
		if (strstr(message, "early-death"))
			_exit(1);
		while (strstr(message, "deaf"))
			(void)pause();
		const char *box = strstr(message, "\"box\":");
		char ready[64];
		snprintf(ready, sizeof ready, "{\"say\":\"ready\",\"box\":%d}",
			box ? (int)strtol(box + 6, NULL, 10) : 0);
		if (strstr(message, "\"open\"") || strstr(message, "\"do\":\"rules\"")) {
			say(ready);
			lie(message);
		}
		if (strstr(message, "largest"))
			tell_size(message);
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
	int n_ready, n_lost, n_rows, n_reports, n_wanted, n_asked;
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

static void on_ask(void *arg, const char *name, uint16_t port)
{
	struct bench *w = arg;
	CHECK_STR(name, "x");
	CHECK_INT(port, 80);
	gateway_box_answer(w->box, name, port, "no");
	w->n_asked++;
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
		.ask = on_ask,
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

/* The same, for what is due from the loop without an event, at which UV_RUN_ONCE may wait. */
static void turn_until(struct bench *w, const int *n, int is)
{
	while (*n < is)
		(void)uv_run(&w->loop, UV_RUN_NOWAIT);
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

TEST(more_rows_sockets_or_questions_than_may_be)
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
	begin_lying(&w, "many-questions.example");
	run_until(&w, &w.n_lost, 1);
	CHECK_INT(w.n_asked, 2 * GATEWAY_ASKED_MAX);
	CHECK_INT(w.lost.code, ERR_PROTOCOL);
	end(&w);
}

TEST(message_without_end)
{
	struct bench w;
	begin_lying(&w, "endless.example");
	run_until(&w, &w.n_lost, 1);
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

/* ---- long messages ---- */

static void fill(struct secret *s, char byte, size_t bytes)
{
	char *value = xcalloc(bytes + 1, 1);
	memset(value, byte, bytes);
	secret_set_value(s, value);
	free(value);
}

/* As many secrets as a box may have, with the longest names, and values of @bytes. */
static void fill_secrets(struct secrets *out, char byte, size_t bytes)
{
	*out = (struct secrets){.n = SECRETS_MAX};
	for (size_t i = 0; i < SECRETS_MAX; i++) {
		struct secret *s = &out->v[i];
		memset(s->name, 'A', sizeof s->name - 1);
		memset(s->host, 'h', sizeof s->host - 1);
		memset(s->placeholder, 'p', sizeof s->placeholder - 1);
		s->port = UINT16_MAX;
		s->places = SECRET_IN_QUERY | SECRET_IN_BODY;
		fill(s, byte, bytes);
	}
}

/* As many rules as a box may have, each of them as long as one may be. */
static void fill_rules(struct rules *out)
{
	struct err err = {0};
	char text[RULE_TEXT_BYTES], path[RULE_PATH_BYTES] = "/";
	memset(path + 1, 'a', sizeof path - 2);
	out->n = 0;
	while (out->n < RULES_MAX) {
		(void)snprintf(text, sizeof text, "* %062zu.%063d.%063d.largest:65535%s", out->n, 0,
			0, path);
		if (!CHECK_INT(rule_parse(&out->v[out->n], text, &err), 0))
			return;
		out->n++;
	}
}

/* An authority whose texts are as long as they may be. */
static void fill_authority(struct authority *a)
{
	memset(a, '\n', sizeof *a);
	a->certificate[sizeof a->certificate - 1] = a->key[sizeof a->key - 1] = '\0';
}

static void set_rights(struct bench *w, const struct rules *rules, const struct secrets *secrets)
{
	struct gateway_sockets no_sockets = {.resolver = -1};
	struct authority *authority = xnew(struct authority);
	const struct gateway_rights rights = {
		.rules = rules, .secrets = secrets, .authority = authority};
	fill_authority(authority);
	w->n_ready = 0;
	gateway_box_rules(w->box, &rights, &no_sockets);
	CHECK_INT(w->n_ready, 0); /* it comes from the loop */
	turn_until(w, &w->n_ready, 1);
	free(authority);
}

/* Give the box rights of which the process tells the size. Returns: the bytes of the message. */
static size_t tell(struct bench *w, const struct rules *rules, const struct secrets *secrets)
{
	w->n_rows = 0;
	set_rights(w, rules, secrets);
	CHECK_INT(w->ready.code, ERR_NONE);
	run_until(w, &w->n_rows, 1);
	return w->row.bytes_out;
}

TEST(largest_message_arrives)
{
	struct bench w;
	struct rules *rules = xnew(struct rules);
	struct secrets secrets;
	fill_rules(rules);
	fill_secrets(&secrets, '"', SECRET_VALUE_MAX);
	begin_lying(&w, "one.example");
	run_until(&w, &w.n_ready, 1);
	size_t bytes = tell(&w, rules, &secrets);
	CHECK(bytes > 4 * CHANNEL_PACKET_BYTES && bytes <= FRAME_BYTES);
	CHECK_INT(w.row.port, RULES_MAX);
	CHECK_INT(w.row.bytes_in, SECRETS_MAX * SECRET_VALUE_MAX);
	secrets_done(&secrets);
	free(rules);
	end(&w);
}

TEST(messages_about_as_long_as_packets)
{
	struct bench w;
	struct rules rules;
	struct err err = {0};
	struct secrets secrets = {.n = 1};
	const char *rule = "largest.example";
	CHECK_INT(rules_parse(&rules, &rule, 1, &err), 0);
	begin_lying(&w, "one.example");
	run_until(&w, &w.n_ready, 1);
	fill(&secrets.v[0], 'x', 8);
	const size_t rest = tell(&w, &rules, &secrets) - 8;
	for (size_t packets = 1; packets < 3; packets++)
		for (size_t more = 0; more < 3; more++) {
			size_t bytes = packets * CHANNEL_PACKET_BYTES + more - 1;
			fill(&secrets.v[0], 'x', bytes - rest);
			/* a blank is behind one that would end with a full packet */
			CHECK_INT(tell(&w, &rules, &secrets), bytes + (more == 1));
			CHECK_INT(w.row.bytes_in, bytes - rest);
		}
	secrets_done(&secrets);
	end(&w);
}

/* No box has values like these. */
TEST(message_that_is_too_long_fails_its_box)
{
	struct bench w, other = {0};
	struct rules rules;
	struct err err = {0};
	struct secrets secrets;
	struct gateway_sockets no_sockets = {.resolver = -1};
	const char *rule = "one.example";
	const struct gateway_rights rights = {.rules = &rules, .secrets = &secrets};
	const struct gateway_rights short_rights = {.rules = &rules, .secrets = &no_secrets};
	const struct gateway_events events = {.ready = on_ready, .lost = on_lost, .arg = &other};
	CHECK_INT(rules_parse(&rules, &rule, 1, &err), 0);
	fill_secrets(&secrets, '\1', SECRET_VALUE_MAX);
	begin_lying(&w, rule);
	run_until(&w, &w.n_ready, 1);
	other.box = gateway_box_open(w.gateway, &rights, &no_sockets, &events);
	for (int i = 0; i < 2; i++) {
		turn_until(&w, &other.n_ready, i + 1);
		CHECK_INT(other.ready.code, ERR_LIMIT);
		CHECK_HAS(other.ready.msg, "more than 512 KiB");
		CHECK_HAS(other.ready.hint, "fewer secrets");
		gateway_box_rules(other.box, &short_rights, &no_sockets); /* it is not served */
	}
	gateway_box_close(other.box);
	/* A box that has rules keeps them, and a report that is due comes. */
	gateway_box_report(w.box, on_report, &w);
	set_rights(&w, &rules, &secrets);
	CHECK_INT(w.ready.code, ERR_LIMIT);
	run_until(&w, &w.n_reports, 1);
	CHECK_INT(w.report.code, ERR_NONE);
	set_rights(&w, &rules, &no_secrets);
	CHECK_INT(w.ready.code, ERR_NONE);
	CHECK_INT(w.n_lost + other.n_lost, 0);
	secrets_done(&secrets);
	end(&w);
}

TEST(key_goes_with_rules_for_requests_only)
{
	static const char *const cases[][2] = {
		{"tells-key.example", "no-key"}, {"GET tells-key.example/", "key"}};
	struct bench w;
	begin_lying(&w, "one.example");
	run_until(&w, &w.n_ready, 1);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rules rules;
		struct err err = {0};
		CHECK_INT(rules_parse(&rules, &cases[i][0], 1, &err), 0);
		w.n_rows = 0;
		set_rights(&w, &rules, &no_secrets);
		run_until(&w, &w.n_rows, 1);
		CHECK_STR(w.row.name, cases[i][1]);
	}
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
