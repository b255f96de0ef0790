/* What the HTTP server reads of outsiders' texts: Host, Origin, Accept, addresses, tokens; and what
 * it writes. SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/address.h"
#include "serve/http/host.h"
#include "serve/http/log.h"
#include "serve/http/sse.h"
#include "serve/http/credential.h"
#include "serve/http/token.h"
#include "t.h"

#include <fcntl.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const names[] = {"engine.example"};
static const char *const origins[] = {"https://console.example"};
static const struct host_rules rules = {names, 1, origins, 1};

TEST(hosts)
{
	static const struct {
		const char *host;
		bool is_allowed;
	} rows[] = {
		{"localhost", true},
		{"localhost:8765", true},
		{"LocalHost", true},
		{"localhost.", true},
		{"a.localhost", true},
		{"127.0.0.1", true},
		{"127.9.9.9:1", true},
		{"10.0.0.1:80", true},
		{"[::1]", true},
		{"[::1]:80", true},
		{"[fe80::1]", true},
		{"engine.example", true},
		{"ENGINE.example:99999", true},
		{"", false},
		{":", false},
		{":80", false},
		{".localhost", false},
		{"localhost:", false},
		{"localhost:8o", false},
		{"localhost:123456", false},
		{"localhost:80:80", false},
		{"[::1", false},
		{"[]", false},
		{"[::1]x", false},
		{"[::1]:", false},
		{"[localhost]", false},
		{"[127.0.0.1]", false},
		{"::1", false},
		{"evil.example", false},
		{"evil.example:80", false},
		{"localhost.evil.example", false},
		{"127.0.0.1.evil.example", false},
		{"0x7f.1", false},
		{"127.1", false},
		{"evil@localhost", false},
		{"localhost/", false},
		{" localhost", false},
		{"localhost,evil.example", false},
		{"evil.example .localhost", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK(host_is_allowed(&rules, rows[i].host) == rows[i].is_allowed))
			printf("# \"%s\"\n", rows[i].host);
}

TEST(names_below_a_domain)
{
	static const char *const domains[] = {"*.e2b.test", ".boxes.example"};
	static const struct host_rules wild = {domains, 2, NULL, 0};
	static const struct {
		const char *host;
		bool is_allowed;
		unsigned port; /* of its site */
	} rows[] = {
		{"api.e2b.test", true, 0},
		{"API.E2B.test.:443", true, 0},
		{"sandbox.boxes.example:8765", true, 0},
		{"49983-abc.e2b.test", true, 49983},
		{"8000-abc.boxes.example:1", true, 8000},
		{"e2b.test", false, 0},
		{".e2b.test", false, 0},
		{"*.e2b.test", false, 0},
		{"a.b.e2b.test", false, 0},
		{"8000-abc.x.e2b.test", false, 0},
		{"evile2b.test", false, 0},
		{"api.e2b.test.evil.example", false, 0},
		{"api.test", false, 0},
		{"a@b.e2b.test", false, 0},
		{"evil.example/.e2b.test", false, 0},
		{"[api.e2b.test]", false, 0},
	};
	struct host_site site;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		bool is_site = host_read_site(&wild, rows[i].host, &site);
		if (!CHECK_INT(host_is_allowed(&wild, rows[i].host), rows[i].is_allowed) ||
			!CHECK_INT(is_site, rows[i].port > 0) ||
			!CHECK_INT(site.port, rows[i].port))
			printf("# \"%s\"\n", rows[i].host);
	}
}

TEST(domains_that_will_not_do)
{
	static const char *const bad[] = {"*", ".", "*.", "*.test", ".com", "*.com.", "**.e2b.test",
		"*e2b.test", "*.*.e2b.test", "a.*.test", "..e2b.test", "*.e2b.test/",
		"*.e2b.test:80"};
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		const struct host_rules one = {&bad[i], 1, NULL, 0};
		if (!CHECK(host_rules_check(&one, &err) < 0 && err.code == ERR_USAGE))
			printf("# \"%s\"\n", bad[i]);
	}
	static const char *const good[] = {"*.e2b.test", ".e2b.test", "engine.example", "engine"};
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		const struct host_rules one = {&good[i], 1, NULL, 0};
		CHECK_INT(host_rules_check(&one, &err), 0);
	}
}

TEST(a_host_may_be_long)
{
	char host[2000];
	memset(host, 'a', sizeof host - 1);
	host[sizeof host - 1] = '\0';
	CHECK(!host_is_allowed(&rules, host));
	memcpy(host + 500, ".localhost", sizeof ".localhost");
	CHECK(!host_is_allowed(&rules, host));
}

TEST(pages_of_which_sites)
{
	static const struct {
		const char *origin;
		bool is_allowed;
	} rows[] = {
		{"http://localhost", true},
		{"http://localhost:3000", true},
		{"HTTPS://127.0.0.1:1", true},
		{"http://[::1]:5", true},
		{"http://a.localhost", true},
		{"http://8000-a.localhost", false},
		{"http://8000-a.localhost:8765", false},
		{"http://8000-a.b.localhost", true},
		{"https://console.example", true},
		{"null", false},
		{"", false},
		{"http://", false},
		{"http://10.0.0.1", false},
		{"http://console.example", false},
		{"https://console.example:444", false},
		{"https://console.example.evil.example", false},
		{"http://localhost@evil", false},
		{"http://localhost/", false},
		{"file://localhost", false},
		{"localhost", false},
		{"http://[::1", false},
		{"http://localhost http://evil.example", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK(origin_is_allowed(&rules, rows[i].origin) == rows[i].is_allowed))
			printf("# \"%s\"\n", rows[i].origin);
	CHECK(origin_is_named(&rules, "https://console.example"));
	CHECK(!origin_is_named(&rules, "http://localhost"));
}

TEST(sites)
{
	static const struct {
		const char *host;
		unsigned port; /* 0: no site */
		const char *session;
	} rows[] = {
		{"8000-demo.localhost", 8000, "demo"},
		{"8000-demo.localhost:8765", 8000, "demo"},
		{"8000-demo.LOCALHOST.", 8000, "demo"},
		{"1-s-abc.engine.example:1", 1, "s-abc"},
		{"65535-a_b.localhost", 65535, "a_b"},
		{"0-demo.localhost", 0, ""},
		{"65536-demo.localhost", 0, ""},
		{"-demo.localhost", 0, ""},
		{"8000-.localhost", 0, ""},
		{"8000.localhost", 0, ""},
		{"x-demo.localhost", 0, ""},
		{"+80-demo.localhost", 0, ""},
		{"8000-demo.x.localhost", 0, ""},
		{"8000-demo.evil.example", 0, ""},
		{"8000-demo", 0, ""},
		{"8000-demo.", 0, ""},
		{"8000.x-demo.localhost", 0, ""},
		{"8000-demo.localhost:x", 0, ""},
		{"8000-de/mo.localhost", 0, ""},
		{"8000-demo.localhost.evil", 0, ""},
		{"[8000-demo.localhost]", 0, ""},
		{"127.0.0.1", 0, ""},
		{"localhost", 0, ""},
		{"", 0, ""},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct host_site site = {.port = 9, .session = "before"};
		if (!CHECK_INT(host_read_site(&rules, rows[i].host, &site), rows[i].port > 0) ||
			!CHECK_INT(site.port, rows[i].port) ||
			!CHECK_STR(site.session, rows[i].session))
			printf("# \"%s\"\n", rows[i].host);
		if (rows[i].port)
			CHECK(host_is_allowed(&rules, rows[i].host));
	}
}

TEST(a_site_has_a_maximum)
{
	char host[256];
	struct host_site site;
	for (int n = HOST_SESSION_BYTES - 2; n < HOST_SESSION_BYTES + 2; n++) {
		snprintf(host, sizeof host, "1-%0*d.localhost", n, 5);
		CHECK_INT(host_read_site(&rules, host, &site), n < HOST_SESSION_BYTES);
	}
}

TEST(pages_of_this_very_server)
{
	static const struct {
		const char *origin, *host;
		bool is_same;
	} rows[] = {
		{"http://127.0.0.1:8765", "127.0.0.1:8765", true},
		{"https://engine.example", "Engine.example", true},
		{"http://8000-a.localhost:1", "8000-a.localhost:1", true},
		{"http://127.0.0.1:8766", "127.0.0.1:8765", false},
		{"http://8000-a.localhost:1", "localhost:1", false},
		{"http://8000-a.localhost:1", "8000-b.localhost:1", false},
		{"http://127.0.0.1", "127.0.0.1:8765", false},
		{"null", "null", false},
		{"127.0.0.1:8765", "127.0.0.1:8765", false},
		{"", "", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK_INT(
			    origin_is_host(rows[i].origin, rows[i].host, false), rows[i].is_same))
			printf("# \"%s\" \"%s\"\n", rows[i].origin, rows[i].host);
	/* Only a server without TLS may be that of a page of http. */
	CHECK(origin_is_host("https://engine.example", "engine.example", true));
	CHECK(!origin_is_host("http://engine.example", "engine.example", true));
	CHECK(!origin_is_host("HTTP://engine.example", "engine.example", true));
}

TEST(what_accepts_events)
{
	static const struct {
		const char *accept;
		bool is_accepted;
	} rows[] = {
		{"text/event-stream", true},
		{"TEXT/Event-Stream", true},
		{"application/json, text/event-stream", true},
		{"text/event-stream;q=0.5", true},
		{"text/event-stream ; charset=utf-8", true},
		{"a/b,,text/event-stream,", true},
		{NULL, false},
		{"", false},
		{"*/*", false},
		{"text/*", false},
		{"text/event-streams", false},
		{"text/event-stream;q=0", false},
		{"text/event-stream; q=0.000", false},
		{"text/event-stream;a=b;q=0", false},
		{"application/json", false},
		{"xtext/event-stream", false},
		{",,,", false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK(sse_is_accepted(rows[i].accept) == rows[i].is_accepted))
			printf("# \"%s\"\n", rows[i].accept ? rows[i].accept : "NULL");
}

TEST(events_as_lines)
{
	cleanup_buf struct buf out = BUF_INIT(64), small = BUF_INIT(20);
	CHECK_INT(sse_put(&out, "a", "x\ny", 3), 0);
	CHECK_STR(buf_str(&out), "event: a\ndata: x\ndata: y\n\n");
	buf_clear(&out);
	CHECK_INT(sse_put(&out, NULL, "", 0), 0);
	CHECK_STR(buf_str(&out), "data: \n\n");
	CHECK_INT(buf_add(&small, "before"), 0);
	CHECK(sse_put(&small, "a", "too long for it", 15) < 0);
	CHECK_STR(buf_str(&small), "before");
}

TEST(addresses)
{
	static const struct {
		const char *text, *as; /* NULL: it is none */
		bool is_loopback;
	} rows[] = {
		{"127.0.0.1:8765", "127.0.0.1:8765", true},
		{"8765", "127.0.0.1:8765", true},
		{"localhost:1", "127.0.0.1:1", true},
		{"[::1]:0", "[::1]:0", true},
		{":80", "0.0.0.0:80", false},
		{"[::]:65535", "[::]:65535", false},
		{"10.1.2.3:4", "10.1.2.3:4", false},
		{"127.255.0.1:4", "127.255.0.1:4", true},
		{"[::ffff:127.0.0.1]:4", "[::ffff:127.0.0.1]:4", false},
		{"", NULL, false},
		{":", NULL, false},
		{"x:1", NULL, false},
		{"::1:80", NULL, false},
		{"[::1]", NULL, false},
		{"[]:1", NULL, false},
		{"127.0.0.1:65536", NULL, false},
		{"127.0.0.1:+1", NULL, false},
		{"127.0.0.1: 1", NULL, false},
		{"127.0.0.1", NULL, false},
		{"99999999999999999999999", NULL, false},
		{"[127.0.0.1]:1", NULL, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct address a;
		struct err err = {0};
		int r = address_parse(rows[i].text, &a, &err);
		if (!CHECK((r == 0) == (rows[i].as != NULL)))
			printf("# \"%s\"\n", rows[i].text);
		if (r < 0) {
			CHECK_INT(err.code, ERR_USAGE);
			CHECK(err.hint[0]);
		} else if (rows[i].as) {
			const struct address_text text = address_format(&a);
			CHECK_STR(text.text, rows[i].as);
			CHECK(address_is_loopback(&a) == rows[i].is_loopback);
		}
	}
}

TEST(hosts_are_the_same_whatever_the_port)
{
	struct address a, b, c, d;
	struct err err;
	CHECK_INT(address_parse("127.0.0.1:1", &a, &err), 0);
	CHECK_INT(address_parse("127.0.0.1:2", &b, &err), 0);
	CHECK_INT(address_parse("127.0.0.2:1", &c, &err), 0);
	CHECK_INT(address_parse("[::1]:1", &d, &err), 0);
	CHECK(address_is_same_host(&a, &b));
	CHECK(!address_is_same_host(&a, &c));
	CHECK(!address_is_same_host(&a, &d));
}

#define ANN "ann 0123456789abcdef"

TEST(a_file_of_tokens)
{
	struct token_row *rows;
	size_t n;
	struct err err;
	const char *text =
		"# who may call\n\n" ANN "\n\tbob\tabcdefABCDEF-._~+/== sessions=3 steps=2"
		" memory=1g rate=60/min paths=yes metrics=no # a comment\r\n";
	CHECK_INT(token_parse("t", text, &rows, &n, &err), 0);
	CHECK_INT(n, 2);
	CHECK_STR(rows[0].name, "ann");
	CHECK_INT(rows[0].limits.n_sessions, 0);
	CHECK(!rows[0].limits.may_name_host_paths);
	CHECK_STR(rows[1].name, "bob");
	CHECK_INT(rows[1].limits.n_sessions, 3);
	CHECK_INT(rows[1].limits.n_steps, 2);
	CHECK_INT(rows[1].limits.memory_bytes, 1 << 30);
	CHECK_INT(rows[1].limits.steps_per_minute, 60);
	CHECK(rows[1].limits.may_name_host_paths);
	CHECK(!rows[1].limits.may_see_metrics);
	CHECK(memcmp(rows[0].hash, rows[1].hash, TOKEN_HASH_BYTES) != 0);
	free(rows);
}

TEST(files_of_tokens_that_are_none)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", "no token in t"},
		{"#\n\n", "no token in t"},
		{"ann", "t:1: a name without"},
		{"ann # 0123456789abcdef", "t:1: a name without"},
		{"a/n 0123456789abcdef", "t:1: invalid name"},
		{"ann 0123456789abcde", "t:1: a token that is too short"},
		{"ann 0123456789abcd\xc3\xa9", "t:1: a token with invalid char"},
		{"ann =0123456789abcdef", "t:1: a token with invalid char"},
		{ANN "\n" ANN "x", "t:2: a name that an earlier line has"},
		{ANN "\nbob 0123456789abcdef", "t:2: a token that an earlier line has"},
		{ANN " sessions", "t:1: unknown setting"},
		{ANN " x=1", "t:1: unknown setting"},
		{ANN " sessions=0", "t:1: invalid value of a setting"},
		{ANN " sessions=x", "t:1: invalid value of a setting"},
		{ANN " memory=", "t:1: invalid value of a setting"},
		{ANN " rate=5/s", "t:1: invalid value of a setting"},
		{ANN " rate=/min", "t:1: invalid value of a setting"},
		{ANN " paths=1", "t:1: invalid value of a setting"},
		{ANN " steps=1 steps=1", "t:1: a setting given"},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct token_row *out = NULL;
		size_t n;
		struct err err = {0};
		if (!CHECK(token_parse("t", rows[i].text, &out, &n, &err) < 0))
			printf("# %s\n", rows[i].text);
		CHECK_HAS(err.msg, rows[i].message);
		CHECK(err.hint[0] && !strstr(err.msg, "0123456789") &&
			!strstr(err.hint, "0123456789"));
		free(out);
	}
}

/* Find the caller by the header Authorization. */
static const struct operation_context *find(const struct token_list *list, const char *value)
{
	char token[CREDENTIAL_BYTES];
	return credential_read_authorization(value, false, token) ? token_find(list, token) : NULL;
}

static const char *caller(const struct token_list *list, const char *value)
{
	const struct operation_context *context = find(list, value);
	return context ? principal_name(context->principal) : "";
}

TEST(who_calls)
{
	char path[] = "/tmp/retort-test-XXXXXX";
	int fd = mkstemp(path);
	static const char text[] = ANN "\nbob fedcba9876543210\n",
			  later[] = "bob 0000000000000000\n";
	const struct operation_context base = {.version = "1"};
	struct token_list *list;
	struct err err;
	CHECK_INT(write(fd, text, sizeof text - 1), sizeof text - 1);
	CHECK_INT(token_list_open(&list, path, &base, &err), 0);
	CHECK_STR(caller(list, "Bearer 0123456789abcdef"), "ann");
	CHECK_STR(caller(list, "bearer   fedcba9876543210"), "bob");
	const struct operation_context *ann = find(list, "Bearer 0123456789abcdef");
	CHECK(ann && strcmp(ann->version, "1") == 0);
	static const char *const wrong[] = {"", "Bearer", "Bearer ", "0123456789abcdef",
		"Basic 0123456789abcdef", "Bearer 0123456789abcdeF", "Bearer 0123456789abcdef0",
		"Bearer 0123456789abcde", "Bearer ann 0123456789abcdef"};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		CHECK(!find(list, wrong[i]));
	/* Who stays is the same; who is gone may not call; what cannot be read changes nothing. */
	const struct operation_context *bob = find(list, "Bearer fedcba9876543210");
	CHECK_INT(ftruncate(fd, 0), 0);
	CHECK(token_list_reload(list, &err) < 0);
	CHECK(find(list, "Bearer fedcba9876543210") == bob);
	CHECK_INT(pwrite(fd, later, sizeof later - 1, 0), sizeof later - 1);
	CHECK_INT(token_list_reload(list, &err), 0);
	CHECK(find(list, "Bearer 0000000000000000") == bob);
	CHECK(!find(list, "Bearer fedcba9876543210"));
	CHECK(!find(list, "Bearer 0123456789abcdef"));
	token_list_close(list);
	CHECK_INT(fchmod(fd, 0640), 0);
	CHECK(token_list_open(&list, path, &base, &err) < 0);
	CHECK_INT(err.code, ERR_ACCESS);
	CHECK(list == NULL);
	(void)close(fd);
	(void)unlink(path);
}

TEST(a_line_of_the_log)
{
	int fds[2];
	char text[2048];
	CHECK_INT(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	struct http_log log = {.kind = HTTP_LOG_TEXT, .fd = fds[1]};
	const struct http_log_line line = {.caller = "ann",
		.method = "G\nT",
		.path = "/\x1b[2J x",
		.status = 200,
		.ms = 3,
		.bytes_in = 1,
		.bytes_out = 2};
	http_log_write(&log, &line);
	ssize_t n = read(fds[0], text, sizeof text - 1);
	text[MAX(n, 0)] = '\0';
	CHECK_HAS(text, "Z ann G?T /?[2J?x - 200 3ms 1>2\n");
	log.kind = HTTP_LOG_JSON;
	http_log_write(&log, &line);
	n = read(fds[0], text, sizeof text - 1);
	text[MAX(n, 0)] = '\0';
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	CHECK_STR(json_string_value(json_object_get(json, "method")), "G\nT");
	CHECK_INT(json_integer_value(json_object_get(json, "bytes_out")), 2);
	json_decref(json);
	/* A pipe that is full loses lines, and says so later. */
	for (int i = 0; i < 2000; i++)
		http_log_write(&log, &line);
	CHECK(log.n_lost > 0);
	while (read(fds[0], text, sizeof text) > 0)
		continue;
	http_log_write(&log, &line);
	n = read(fds[0], text, sizeof text - 1);
	text[MAX(n, 0)] = '\0';
	CHECK_HAS(text, "{\"lost\":");
	CHECK_INT(log.n_lost, 0);
	(void)close(fds[0]);
	(void)close(fds[1]);
	http_log_write(NULL, &line);
}
