/* Rules for HTTP requests: their text, what is wrong with it, and which requests fit.
 * SPDX-License-Identifier: Apache-2.0 */
#include "gateway/rule/rule.h"

#include "unit/gateway/parsed.h"
#include "t.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* Whether "METHOD TARGET" is allowed of @name, with "WS " before it for a WebSocket. */
static bool allows(const struct rules *r, const char *name, uint16_t port, const char *line)
{
	char method[64];
	struct rule_request request = {.is_websocket = strncmp(line, "WS ", 3) == 0};
	line += request.is_websocket ? 3 : 0;
	(void)snprintf(method, sizeof method, "%.*s", (int)strcspn(line, " "), line);
	request.method = method;
	request.target = line + strlen(method) + 1;
	return rules_allow_request(r, name, port, &request);
}

/* Whether the rule @text allows the request @line of api.example:443. */
static bool fits(const char *text, const char *line)
{
	struct rules r = PARSE(text);
	return allows(&r, "api.example", 443, line);
}

TEST(requests_as_they_are_written)
{
	static const struct {
		const char *text, *written, *host, *method, *path;
		enum rule_kind kind;
		uint16_t port;
		bool may_be_private;
	} rows[] = {
		{"GET api.example/", NULL, "api.example", "GET", "/", RULE_NAME, 0, false},
		{"GET API.Example.:0443/V1", "GET api.example:443/V1", "api.example", "GET", "/V1",
			RULE_NAME, 443, false},
		{"* *.Example/*", "* *.example/*", "example", "*", "/*", RULE_BELOW, 0, false},
		{"M-SEARCH any:1900/*", NULL, "", "M-SEARCH", "/*", RULE_ANY, 1900, false},
		{"GET \t  Any/v1/", "GET any/v1/", "", "GET", "/v1/", RULE_ANY, 0, false},
		{"!POST db.internal/v1/*/x*", NULL, "db.internal", "POST", "/v1/*/x*", RULE_NAME, 0,
			true},
		{"WEBSOCKET a/socket", NULL, "a", "WEBSOCKET", "/socket", RULE_NAME, 0, false},
		{"PUT a:1/x=127.0.0.1:80", NULL, "a", "PUT", "/x=127.0.0.1:80", RULE_NAME, 1,
			false},
		{"GET a/@scope/'p',(q)!$&+:~|<>^`{}[]", NULL, "a", "GET",
			"/@scope/'p',(q)!$&+:~|<>^`{}[]", RULE_NAME, 0, false},
		{"GET a/%20%C3%bc%3F%3d%2A", NULL, "a", "GET", "/%20%C3%bc%3F%3d%2A", RULE_NAME, 0,
			false},
		{"GET a/x:/y.z/...", NULL, "a", "GET", "/x:/y.z/...", RULE_NAME, 0, false},
		{"GET get/get", NULL, "get", "GET", "/get", RULE_NAME, 0, false},
	};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct err err = {0};
		struct rule r, again;
		char text[RULE_TEXT_BYTES], twice[RULE_TEXT_BYTES];
		if (!CHECK_INT(rule_parse(&r, rows[i].text, &err), 0)) {
			printf("# %s: %s\n", rows[i].text, err.msg);
			continue;
		}
		rule_write(&r, text);
		CHECK_STR(text, rows[i].written ? rows[i].written : rows[i].text);
		CHECK_STR(r.method, rows[i].method);
		CHECK_STR(r.host, rows[i].host);
		CHECK_STR(r.path, rows[i].path);
		CHECK_INT(r.kind, rows[i].kind);
		CHECK_INT(r.port, rows[i].port);
		CHECK(r.may_be_private == rows[i].may_be_private);
		CHECK(r.is_http && !r.is_mapped);
		CHECK_INT(rule_parse(&again, text, &err), 0);
		rule_write(&again, twice);
		CHECK_STR(twice, text);
	}
}

TEST(other_rules_have_no_method)
{
	struct rules r = PARSE("any", "*.any", "GET", "db:5432=127.0.0.1", "10.0.0.0/8", "!b");
	for (size_t i = 0; i < r.n; i++)
		CHECK(!r.v[i].is_http && !r.v[i].method[0] && !r.v[i].path[0]);
	CHECK_STR(parsed_text(&r.v[2]), "get");
}

TEST(the_longest_request_rule_comes_back)
{
	char text[1024], method[RULE_METHOD_BYTES + 1], host[RULE_HOST_BYTES];
	char path[RULE_PATH_BYTES + 1], again[RULE_TEXT_BYTES];
	struct err err = {0};
	struct rule r;
	memset(method, 'M', sizeof method);
	memset(host, 'a', sizeof host);
	memset(path, 'p', sizeof path);
	for (size_t i = 63; i < sizeof host; i += 64)
		host[i] = '.';
	host[sizeof host - 1] = '\0';
	path[0] = '/';
	(void)snprintf(text, sizeof text, "!%.23s *.%s:65535%.255s", method, host, path);
	CHECK_INT(rule_parse(&r, text, &err), 0);
	rule_write(&r, again);
	CHECK_STR(again, text);
	(void)snprintf(text, sizeof text, "%.24s a/%.9s", method, path + 1);
	CHECK(rule_parse(&r, text, &err) < 0);
	CHECK_HAS(err.msg, "method is too long");
	CHECK_HAS(err.hint, "every method");
	(void)snprintf(text, sizeof text, "GET a%.256s", path);
	CHECK(rule_parse(&r, text, &err) < 0);
	CHECK_HAS(err.msg, "path is too long");
	CHECK_HAS(err.hint, "at most 255");
	(void)snprintf(text, sizeof text, "GET %sb/x", host);
	CHECK(rule_parse(&r, text, &err) < 0);
	CHECK_HAS(err.msg, "name is too long");
	(void)snprintf(text, sizeof text, "GET %s.%s.%s/x", host, host, host);
	CHECK(rule_parse(&r, text, &err) < 0);
	CHECK_HAS(err.msg, "name is too long");
}

static const struct {
	const char *text, *problem, *hint;
} errors[] = {
	/* a path without a method */
	{"api.example/v1/*", "needs a method", "--net 'GET api.example/v1/*'"},
	{"api.example:443/v1", "needs a method", "--net 'GET api.example:443/v1'"},
	{"!api.example/v1", "needs a method", "--net '!GET api.example/v1'"},
	{"api.example/", "needs a method", "--net 'GET api.example/*'"},
	{"api.example/?q=1", "needs a method", "--net 'GET api.example/*'"},
	{"api.example?q/", "needs a method", "--net 'GET api.example/*'"},
	{"api.example/v1?q=1", "needs a method", "--net 'GET api.example/v1'"},
	{"api.example/x=y", "needs a method", "--net 'GET api.example/x=y'"},
	{"api.example/@scope/x", "needs a method", "--net 'GET api.example/@scope/x'"},
	{"*.example/v1", "needs a method", "--net 'GET *.example/v1'"},
	{"/v1", "needs a method", "--net 'GET api.example/v1'"},
	/* a method without a path */
	{"GET api.example", "a method needs a path", "--net 'GET api.example/*'"},
	{"!GET api.example:80", "a method needs a path", "--net '!GET api.example:80/*'"},
	{"* api.example", "a method needs a path", "--net '* api.example/*'"},
	{"GET a POST b", "a method needs a path", "--net 'GET a/*'"},
	{"GET ", "names no host", "--net 'GET api.example/v1'"},
	{"GET /v1", "names no host", "--net 'GET api.example/v1'"},
	{"GET //api.example/v1", "names no host", "--net 'GET api.example/v1'"},
	{"GET :80/v1", "names no host", "--net"},
	/* what is no method */
	{"get api.example/v1", "in capitals", "--net 'GET api.example/v1'"},
	{"Post api.example", "in capitals", "--net 'POST api.example/*'"},
	{"!get api.example/v1?x", "in capitals", "--net '!GET api.example/v1'"},
	{"websocket api.example:1/v1", "in capitals", "--net 'WEBSOCKET api.example:1/v1'"},
	{"G3T api.example/v1", "\"G3T\" is no method", "--net 'GET api.example/v1'"},
	{"fetch api.example/v1", "\"fetch\" is no method", "in capitals"},
	{"-GET api.example/v1", "\"-GET\" is no method", "in capitals"},
	{"GET,POST api.example/v1", "comma", "one rule each"},
	{"** api.example/v1", "space", "one rule each"},
	{"! GET api.example/v1", "space", "one rule each"},
	{" GET api.example/v1", "space", "one rule each"},
	{"GET\napi.example/v1", "space", "one rule each"},
	{"GET !api.example/v1", "stands before the method", "--net '!GET api.example/v1'"},
	{"GET !api.example", "stands before the method", "--net '!GET api.example/*'"},
	/* a URL */
	{"GET https://api.example/v1", "not a URL", "--net 'GET api.example:443/v1'"},
	{"GET http://api.example/v1", "not a URL", "--net 'GET api.example:80/v1'"},
	{"GET https://me:pw@api.example:8443/v1?x#y", "not a URL",
		"--net 'GET api.example:8443/v1'"},
	{"!GET wss://api.example", "not a URL", "--net '!GET api.example:443/*'"},
	{"GET ws://api.example?x", "not a URL", "--net 'GET api.example:80/*'"},
	{"GET https://", "not a URL", "--net 'GET api.example:443/v1'"},
	{"GET ://", "not a URL", "--net 'GET api.example:443/v1'"},
	{"get https://api.example/v1", "in capitals", "--net"},
	{"https://api.example/v1", "not a URL", "--net api.example:443"},
	/* more than a host and a path */
	{"GET api.example/v1?x=*", "queries", "--net 'GET api.example/v1'"},
	{"GET api.example/v1#x", "queries", "--net 'GET api.example/v1'"},
	{"GET api.example?x=/y", "queries", "--net 'GET api.example/*'"},
	{"GET api.example:443=127.0.0.1:8443/v1", "rule of its own",
		"--net api.example:443=127.0.0.1:8443 --net 'GET api.example:443/v1'"},
	{"GET api.example:443=127.0.0.1:8443", "rule of its own", "GET api.example:443/v1"},
	{"GET api.example/v1 POST api.example/v2", "space", "one rule each"},
	{"GET api.example/v1 ", "space", "%20"},
	{"GET api.example/v1\tx", "space", "%20"},
	{"GET a.example b.example/v1", "space", "one rule each"},
	{"GET a.example,b.example/v1", "comma", "one rule each"},
	{"a.example b.example", "space", "--net api.example:443 --net db:5432"},
	{"- b.example", "space", "one rule each"},
	/* what no path has, and what servers read differently */
	{"GET a/b\xc3\xbc"
	 "cher",
		"letter", "%c3%bc"},
	{"GET a/\"x\"", "letter", "%c3%bc"},
	{"GET a/\x1b[m", "letter", "%c3%bc"},
	{"GET a/\x7f", "letter", "%c3%bc"},
	{"GET a/**", "\"**\" has no meaning", "at the end any text"},
	{"GET a/**/x", "\"**\" has no meaning", "at the end any text"},
	{"GET a//", "two ways", "leave out"},
	{"GET a/v1//x", "two ways", "leave out"},
	{"GET a/http://b/x", "two ways", "leave out"},
	{"GET a/v1/../x", "two ways", "leave out"},
	{"GET a/./x", "two ways", "leave out"},
	{"GET a/..", "two ways", "leave out"},
	{"GET a/v1;x", "two ways", "leave out"},
	{"GET a/v1\\x", "two ways", "leave out"},
	{"GET a/%2e%2E/x", "two ways", "leave out"},
	{"GET a/%2fx", "two ways", "leave out"},
	{"GET a/%5c", "two ways", "leave out"},
	{"GET a/%25", "two ways", "leave out"},
	{"GET a/%3b", "two ways", "leave out"},
	{"GET a/%0a", "two ways", "leave out"},
	{"GET a/%", "two ways", "leave out"},
	{"GET a/%2*", "two ways", "leave out"},
	{"GET a/%c3*", "two ways", "leave out"},
	/* hosts */
	{"GET 192.0.2.1/v1", "not for addresses", "--net api:80=192.0.2.1:80"},
	{"GET 192.0.2.1:8443/v1", "not for addresses", "--net api:8443=192.0.2.1:8443"},
	{"!GET 10.0.0.0/8", "not for addresses", "--net api:80=10.0.0.0:80"},
	{"GET 10.0.0.0/8:443/v1", "not for addresses", "give the address a name"},
	{"GET 127.0.0.1:8080/v1", "sandbox itself", "give the host's service a name"},
	{"GET [::1]:80/v1", "IPv6", "name the host"},
	{"GET localhost/v1", "sandbox itself", "another name"},
	{"GET none/v1", "\"none\" is no rule", "--net none"},
	{"GET */v1", "before a name", "--net any"},
	{"GET a.*.b/v1", "whole names", "*.api.example"},
	{"GET me@api.example/v1", "no user", "--net"},
	{"GET api.example:0/v1", "\"0\" is no port", "1 to 65535"},
	{"GET api.example:/v1", "\"\" is no port", "1 to 65535"},
	{"GET api.example:1:2/v1", "more than one port", "one port"},
	{"GET a..b/v1", "no name", "api.example"},
	{"GET b\xc3\xbc"
	 "cher.example/v1",
		"not ASCII", "xn--"},
};

TEST(errors_say_what_and_what_to_do)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		struct err err = {0};
		struct rule r = {.port = 7};
		bool is_ok = CHECK(rule_parse(&r, errors[i].text, &err) < 0) &&
			CHECK_INT(err.code, ERR_USAGE) && CHECK_INT(r.port, 7) &&
			CHECK_HAS(err.msg, "network rule \"") &&
			CHECK_HAS(err.msg, errors[i].problem) &&
			CHECK_HAS(err.hint, errors[i].hint);
		if (!is_ok)
			printf("# %s\n", errors[i].text);
	}
}

/* A rule that a hint shows is one. */
TEST(hints_are_rules)
{
	for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
		struct err err = {0}, other = {0};
		struct rule r;
		CHECK(rule_parse(&r, errors[i].text, &err) < 0);
		char *from = strchr(err.hint, '\''), *to = from ? strchr(from + 1, '\'') : NULL;
		if (!to || strncmp(err.hint, "--net '", 7) != 0 || strstr(err.msg, "capitals"))
			continue;
		*to = '\0';
		if (!CHECK_INT(rule_parse(&r, from + 1, &other), 0))
			printf("# %s: %s\n", from + 1, other.msg);
		CHECK(r.is_http);
	}
}

TEST(methods)
{
	static const char *const right[] = {"GET", "M-SEARCH", "X--", "*", "WEBSOCKET"};
	static const char *const wrong[] = {"", "get", "Get", "-GET", "-", "**", "G*", "G3T", "G_T",
		"GET ", " GET", "GET/", "GÉT"};
	for (size_t i = 0; i < ARRAY_LEN(right); i++)
		CHECK(rule_is_method(right[i], strlen(right[i])));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
		if (!CHECK(!rule_is_method(wrong[i], strlen(wrong[i]))))
			printf("# \"%s\"\n", wrong[i]);
	CHECK(rule_is_method("GET /", 3) && !rule_is_method("GET", 0));
}

TEST(targets_that_are_plain)
{
	static const char *const plain[] = {"/", "/v1", "/v1/", "/v1/users", "/?", "/v1?../..//%",
		"/v1?a;b\\c%2e", "/...", "/.git", "/a.", "/..a", "/a..", "/%20", "/%7e%41",
		"/%3f%23", "/%c3%bc", "/%E2%82%AC/%F0%9F%98%80", "/%C3%BCx", "/a%20b/c", "/*",
		"/v1/*/x*", "/@a/'b',(c)!$&+=:~|<>^`{}[]\""};
	static const char *const odd[] = {"", "*", "v1", "?/v1", "http://api.example/v1/", "//",
		"//v1", "/v1//x", "/v1//", "/.", "/./", "/..", "/../", "/v1/..", "/v1/.",
		"/v1/../admin", "/v1/./x", "/..?x", "/v1/%2e%2e/admin", "/v1/%2E./admin",
		"/v1/..%2fadmin", "/v1/..%5Cadmin", "/%2Fadmin", "/a%2f", "/v1/%252e%252e/admin",
		"/v1/%25", "/v1;x/", "/v1/;", "/v1/..;/admin", "/v1/%3bx", "/%3B", "\\", "/\\",
		"/v1\\..\\admin", "/a%2ejson", "/%", "/%2", "/a%", "/%zz", "/%2z", "/%u002f", "/%?",
		"/%2?e", "/%00", "/a%0d%0aX:", "/%1f", "/%7f", "/a b", "/\t", "/\x01", "/\x7f",
		"/v1#x", "/\xc3\xbc", "/%c0%af", "/%C0%AE%c0%ae/", "/%c1%9c", "/%e0%80%af",
		"/%f0%80%80%af", "/%ed%a0%80", "/%f4%90%80%80", "/%ff", "/%80", "/%c3", "/%c3%",
		"/%c3/%bc", "/%c3x", "/%e2%82", "/%e2%82%2f"};
	for (size_t i = 0; i < ARRAY_LEN(plain); i++)
		if (!CHECK(rule_target_is_plain(plain[i])))
			printf("# %s\n", plain[i]);
	for (size_t i = 0; i < ARRAY_LEN(odd); i++)
		if (!CHECK(!rule_target_is_plain(odd[i])))
			printf("# %s\n", odd[i]);
}

TEST(every_escape_is_plain_or_not)
{
	for (int byte = 0; byte < 0x100; byte++) {
		char low[8], high[8];
		(void)snprintf(low, sizeof low, "/%%%02x", byte);
		(void)snprintf(high, sizeof high, "/%%%02X", byte);
		bool is_odd = byte < ' ' || byte >= 0x7f || strchr("/\\.;%", byte) != NULL;
		CHECK(rule_target_is_plain(low) == !is_odd);
		CHECK(rule_target_is_plain(high) == !is_odd);
	}
}

static const struct {
	const char *rule, *request;
	bool fits;
} matches[] = {
	/* methods */
	{"GET api.example/v1", "GET /v1", true},
	{"GET api.example/v1", "HEAD /v1", true},
	{"GET api.example/v1", "get /v1", false},
	{"GET api.example/v1", "Get /v1", false},
	{"GET api.example/v1", "POST /v1", false},
	{"GET api.example/v1", "GETX /v1", false},
	{"GET api.example/v1", "GE /v1", false},
	{"GET api.example/v1", " /v1", false},
	{"HEAD api.example/v1", "HEAD /v1", true},
	{"HEAD api.example/v1", "GET /v1", false},
	{"POST api.example/v1", "HEAD /v1", false},
	{"* api.example/v1", "GET /v1", true},
	{"* api.example/v1", "DELETE /v1", true},
	{"* api.example/v1", "brew /v1", true},
	{"* api.example/v1", " /v1", false},
	{"* api.example/*", "OPTIONS *", false},
	{"* api.example/*", "CONNECT api.example:443", false},
	/* WebSockets */
	{"WEBSOCKET api.example/v1", "WS GET /v1", true},
	{"WEBSOCKET api.example/v1", "WS HEAD /v1", false},
	{"WEBSOCKET api.example/v1", "WS POST /v1", false},
	{"WEBSOCKET api.example/v1", "WS WEBSOCKET /v1", false},
	{"WEBSOCKET api.example/v1", "GET /v1", false},
	{"WEBSOCKET api.example/v1", "WEBSOCKET /v1", false},
	{"WEBSOCKET api.example/v1", "WS GET /v2", false},
	{"GET api.example/v1", "WS GET /v1", false},
	{"* api.example/v1", "WS GET /v1", false},
	{"* api.example/*", "WS GET /v1", false},
	/* paths */
	{"GET api.example/", "GET /", true},
	{"GET api.example/", "GET /?q", true},
	{"GET api.example/", "GET /x", false},
	{"GET api.example/v1", "GET /v1?a=/../..&b=;", true},
	{"GET api.example/v1", "GET /v1?", true},
	{"GET api.example/v1", "GET /v1/", false},
	{"GET api.example/v1", "GET /v11", false},
	{"GET api.example/v1", "GET /v", false},
	{"GET api.example/v1", "GET /V1", false},
	{"GET api.example/v1", "GET /%761", false},
	{"GET api.example/v1", "GET /v1%3f", false},
	{"GET api.example/%c3%bc", "GET /%c3%bc", true},
	{"GET api.example/%c3%bc", "GET /%C3%BC", false},
	{"GET api.example/v1=x", "GET /v1=x", true},
	/* "*" at the end */
	{"GET api.example/*", "GET /", true},
	{"GET api.example/*", "GET /a/b/c?d", true},
	{"GET api.example/v1*", "GET /v1", true},
	{"GET api.example/v1*", "GET /v1?x", true},
	{"GET api.example/v1*", "GET /v12/x", true},
	{"GET api.example/v1*", "GET /v", false},
	{"GET api.example/v1/*", "GET /v1/", true},
	{"GET api.example/v1/*", "GET /v1", false},
	{"GET api.example/v1/*", "GET /v1?/", false},
	{"GET api.example/v1/*", "GET /v1/a/b", true},
	{"GET api.example/v1/*", "GET /v1/C%23", true},
	{"GET api.example/v1/*", "GET /v2?/v1/x", false},
	/* "*" elsewhere */
	{"GET api.example/v1/*/x", "GET /v1/a/x", true},
	{"GET api.example/v1/*/x", "GET /v1/a/b/x", false},
	{"GET api.example/v1/*/x", "GET /v1/a%20b/x", true},
	{"GET api.example/v1/*/x", "GET /v1/a%3fb/x", false},
	{"GET api.example/v1/*/x", "GET /v1/a%3Fb/x", false},
	{"GET api.example/v1/*/x", "GET /v1/%23/x", false},
	{"GET api.example/v1/*%3f/x", "GET /v1/a%3f/x", true},
	{"GET api.example/v1/*/x", "GET /v1/*/x", true},
	{"GET api.example/v1/*/x", "GET /v1//x", false},
	{"GET api.example/v1/*/x", "GET /v1/a/xx", false},
	{"GET api.example/v1/*/x", "GET /v1/a/x/", false},
	{"GET api.example/v1/*x", "GET /v1/x", true},
	{"GET api.example/v1/*x", "GET /v1/xax", true},
	{"GET api.example/v1/*x", "GET /v1/xa", false},
	{"GET api.example/v1/*x", "GET /v1/a/x", false},
	{"GET api.example/*/*/x*", "GET /a/b/x/y/z", true},
	{"GET api.example/*/*/x*", "GET /a/x/y/z", false},
	{"GET api.example/*.git/info*", "GET /a.git.git/info/refs", true},
	{"GET api.example/*.git/info*", "GET /a/b.git/info/refs", false},
	{"GET api.example/*a*b/c*", "GET /xaxaxb/c", true},
	{"GET api.example/*a*b/c*", "GET /xaxbx/c", false},
	/* what servers read in two ways */
	{"GET api.example/v1/*", "GET /v1/../admin", false},
	{"GET api.example/v1/*", "GET /v1/%2e%2e/admin", false},
	{"GET api.example/v1/*", "GET /v1/..%2fadmin", false},
	{"GET api.example/v1/*", "GET /v1/%252e%252e/admin", false},
	{"GET api.example/v1/*", "GET /v1/..;/admin", false},
	{"GET api.example/v1*", "GET /v1;x/", false},
	{"GET api.example/v1*", "GET /v1\\..\\admin", false},
	{"GET api.example/v1/*", "GET //v1/x", false},
	{"GET api.example/v1/*", "GET /v1//", false},
	{"GET api.example/v1/*", "GET /v1/%c0%ae%c0%ae/admin", false},
	{"GET api.example/v1", "GET ///v1", false},
	{"GET api.example/v1", "GET /./v1", false},
	/* what only a rule for all paths allows */
	{"GET api.example/*", "GET /v1/../admin", true},
	{"GET api.example/*", "GET //v1;x\\%2f%", true},
	{"POST api.example/*", "GET //v1", false},
	/* what is no target */
	{"GET api.example/*", "GET http://api.example/v1/", false},
	{"GET api.example/*", "GET *", false},
	{"GET api.example/*", "GET ", false},
	{"GET api.example/*", "GET ?/", false},
	{"GET api.example/*", "GET \\", false},
	{"GET api.example/*", "GET api.example/v1", false},
	{"GET api.example/*", "GET /v1#x", false},
	{"GET api.example/*", "GET /v1?a b", false},
	{"GET api.example/*", "GET /v1 HTTP/1.1", false},
	{"GET api.example/*", "GET /v1\r\nHost: x", false},
	{"GET api.example/*", "GET /\x7f", false},
	{"GET api.example/*", "GET /?\xc3\xbc", false},
};

TEST(requests_that_fit)
{
	for (size_t i = 0; i < ARRAY_LEN(matches); i++)
		if (!CHECK(fits(matches[i].rule, matches[i].request) == matches[i].fits))
			printf("# %s: %s\n", matches[i].rule, matches[i].request);
}

/* The same by definition: each "*" tries all that it may stand for. */
static bool fits_slowly(const char *pattern, const char *path)
{
	if (*pattern == '\0')
		return *path == '\0';
	if (*pattern != '*')
		return *pattern == *path && fits_slowly(pattern + 1, path + 1);
	if (pattern[1] == '\0')
		return true;
	for (;; path++) {
		if (fits_slowly(pattern + 1, path))
			return true;
		if (*path == '\0' || *path == '/' || strncmp(path, "%3f", 3) == 0)
			return false;
	}
}

/* The @number-th text of @letters. Returns: false when it would be longer than @out. */
static bool make_text(char out[20], size_t max, const char *const letters[4], unsigned number)
{
	size_t n = 1, units = 0;
	out[0] = '/';
	for (; number > 0; number = (number - 1) / 4, units++) {
		const char *letter = letters[(number - 1) % 4];
		if (units == max)
			return false;
		memcpy(out + n, letter, strlen(letter));
		n += strlen(letter);
	}
	out[n] = '\0';
	return true;
}

TEST(paths_fit_as_defined)
{
	static const char *const in_rules[4] = {"*", "a", "/", "b"};
	static const char *const in_targets[4] = {"a", "/", "b", "%3f"};
	char pattern[20], target[20];
	int n_fit = 0;
	for (unsigned i = 0; make_text(pattern, 5, in_rules, i); i++) {
		struct rule r = {.kind = RULE_ANY, .is_http = true, .method = "GET"};
		if (strstr(pattern, "**") || !rule_target_is_plain(pattern))
			continue;
		(void)snprintf(r.path, sizeof r.path, "%s", pattern);
		for (unsigned j = 0; make_text(target, 5, in_targets, j); j++) {
			bool is_plain = rule_target_is_plain(target);
			bool expected = strcmp(pattern, "/*") == 0 ||
				(is_plain && fits_slowly(pattern, target));
			struct rule_request request = {.method = "GET", .target = target};
			n_fit += expected;
			if (!CHECK(rule_request_fits(&r, &request) == expected))
				printf("# %s: %s\n", pattern, target);
		}
	}
	CHECK(n_fit > 1000);
}

TEST(many_stars_are_no_work)
{
	static char target[65536];
	char text[RULE_TEXT_BYTES] = "GET api.example/";
	struct timespec from, to;
	for (size_t i = strlen(text); i < 266; i += 2)
		memcpy(text + i, "*a", 3);
	memset(target, 'a', sizeof target - 1);
	memcpy(target, "GET /", 5);
	struct rules r = PARSE(text);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	CHECK(allows(&r, "api.example", 443, target));
	target[sizeof target - 2] = 'b';
	CHECK(!allows(&r, "api.example", 443, target));
	memcpy(text + strlen(text), "b*", 3);
	r = PARSE(text);
	target[sizeof target - 2] = 'a';
	CHECK(!allows(&r, "api.example", 443, target));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	CHECK(to.tv_sec - from.tv_sec <= 1);
}

TEST(names_that_requests_alone_are_allowed_of)
{
	struct rules r = PARSE("any", "any:22", "GET api.example/v1", "POST api.example:8080/*",
		"*.example", "* *.b.example/*", "x.b.example", "GET *.c.example:80/*",
		"*.d.c.example:80", "db:1=127.0.0.1:2", "GET db:1/x", "GET 0any:443/");
	static const struct {
		const char *name;
		uint16_t port;
		bool is_http;
	} rows[] = {
		{"api.example", 443, true},
		{"api.example", 80, true},
		{"api.example", 8080, true},
		{"api.example", 22, false}, /* any:22 */
		{"api.example", 21, false},
		{"b.example", 443, false},
		{"a.b.example", 443, true},
		{"c.a.b.example", 443, true},
		{"x.b.example", 443, false},
		{"y.x.b.example", 443, true},
		{"e.c.example", 80, true},
		{"e.c.example", 443, false}, /* *.example */
		{"e.d.c.example", 80, false},
		{"other.test", 443, false},
		{"db", 1, true},
		{"db", 2, false},
		{"0any", 443, true},
		{"0any", 80, false},
		{"", 443, false},
	};
	CHECK(rules_have_http(&r));
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (!CHECK(rules_are_http(&r, rows[i].name, rows[i].port) == rows[i].is_http))
			printf("# %s:%u\n", rows[i].name, rows[i].port);
	r = PARSE("any", "10.0.0.0/8");
	CHECK(!rules_have_http(&r) && !rules_are_http(&r, "a", 443));
	r = PARSE("GET a.example/*");
	CHECK(!rules_are_http(&r, "b.example", 443) && !rules_are_http(&r, "a.example", 22));
	CHECK(!allows(&r, "b.example", 443, "GET /x"));
	CHECK(!allows(&r, "a.example", 22, "GET /x"));
	r = PARSE("GET any/*", "any");
	CHECK(rules_are_http(&r, "b.example", 443));
}

TEST(the_rules_of_the_best_level_allow)
{
	struct rules r = PARSE("GET any/*", "* *.example/all/*", "GET api.example/v1",
		"!POST api.example:443/v1", "PUT api.example:8080/*", "plain.example");
	CHECK(allows(&r, "api.example", 443, "GET /v1"));
	CHECK(allows(&r, "api.example", 443, "HEAD /v1"));
	CHECK(allows(&r, "api.example", 443, "POST /v1"));
	CHECK(!allows(&r, "api.example", 80, "POST /v1"));
	CHECK(!allows(&r, "api.example", 443, "PUT /v1"));
	CHECK(allows(&r, "api.example", 8080, "PUT /v1"));
	CHECK(!allows(&r, "api.example", 443, "GET /all/x"));
	CHECK(!allows(&r, "api.example", 443, "GET /"));
	CHECK(allows(&r, "b.example", 443, "DELETE /all/x"));
	CHECK(!allows(&r, "b.example", 443, "GET /x"));
	CHECK(allows(&r, "example", 443, "GET /x"));
	CHECK(!allows(&r, "example", 443, "POST /x"));
	CHECK(!allows(&r, "plain.example", 443, "GET /x"));
	CHECK(!allows(&r, "example", 22, "GET /x"));
	CHECK(!allows(&r, "", 443, "GET /x"));
}

TEST(requests_take_part_in_the_ranking)
{
	struct rules r = PARSE("any", "GET a:443/x", "a:443=10.0.0.1:8443", "GET b/x", "!b",
		"!GET c/x", "c", "GET d/1", "d", "e:22", "GET e/1");
	CHECK_STR(parsed_text(rules_for_port(&r, "a", 443)), "a:443=10.0.0.1:8443");
	CHECK(rules_are_http(&r, "a", 443));
	CHECK(allows(&r, "a", 443, "GET /x"));
	CHECK_STR(parsed_text(rules_for_port(&r, "b", 80)), "!b");
	CHECK(rules_are_http(&r, "b", 80));
	CHECK_STR(parsed_text(rules_for_port(&r, "c", 80)), "!GET c/x");
	CHECK_STR(parsed_text(rules_for_port(&r, "d", 80)), "GET d/1");
	CHECK_STR(parsed_text(rules_for_name(&r, "e")), "e:22");
	CHECK_STR(parsed_text(rules_for_port(&r, "e", 443)), "GET e/1");
	CHECK(!rules_are_http(&r, "e", 22));
	CHECK(!rules_for_address(&r, 0, 443));
	r = PARSE("!any", "GET *.a/x", "*.b", "!GET any/x");
	CHECK_STR(parsed_text(rules_for_port(&r, "x.a", 443)), "GET *.a/x");
	CHECK_STR(parsed_text(rules_for_port(&r, "x.b", 443)), "*.b");
}

TEST(doubles_are_dropped)
{
	struct rules r = PARSE("GET a/x", "GET  A./x", "GET a/X", "POST a/x", "GET a:80/x",
		"!GET a/x", "a", "GET a/x*", "GET\ta/x", "a.");
	CHECK_INT(r.n, 7);
	CHECK_STR(parsed_text(&r.v[0]), "GET a/x");
	CHECK_STR(parsed_text(&r.v[6]), "GET a/x*");
}

TEST(ports_of_requests)
{
	uint16_t ports[2 * RULES_MAX];
	struct rules r = PARSE("GET a:8080/x", "GET b/x", "POST a:8080/y");
	CHECK_INT(rules_ports(&r, ports), 3);
	CHECK_INT(ports[0], 8080);
	CHECK_INT(ports[1], 80);
	CHECK_INT(ports[2], 443);
}
