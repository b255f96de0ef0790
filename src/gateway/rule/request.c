/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/rule/request.h"

#include "base/ascii.h"
#include "base/attr.h"
#include "base/utf8.h"
#include "gateway/rule/rule.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char blanks[] = " \t", websocket[] = "WEBSOCKET";

/* ---- which requests fit ---- */

static bool is_printable(char c)
{
	return c > ' ' && c <= '~';
}

/* Returns: the byte that the escape at @at stands for; -1 if there is no escape. */
static int escaped(const char *at)
{
	int high = at[0] == '%' ? ascii_hex_value(at[1]) : -1;
	int low = high >= 0 ? ascii_hex_value(at[2]) : -1;
	return low < 0 ? -1 : high * 16 + low;
}

/* Returns: the length of the escapes at @at that are one character beyond ASCII; 0 if they are
 * none. So an overlong form of "/" is none. */
static size_t wide_bytes(const char *at)
{
	uint8_t bytes[UTF8_MAX_BYTES];
	int32_t character = -1;
	size_t n = 0;
	for (int byte; n < sizeof bytes && (byte = escaped(at + 3 * n)) >= 0x80; n++)
		bytes[n] = (uint8_t)byte;
	size_t used = utf8_decode(bytes, n, &character);
	return character < 0 ? 0 : 3 * used;
}

/* Returns: the length of the character of a path at @at; 0 if readers may take it for something
 * else. */
static size_t plain_bytes(const char *at)
{
	if (*at != '%')
		return is_printable(*at) && !strchr("#\\;", *at);
	int byte = escaped(at);
	if (byte >= 0x80)
		return wide_bytes(at);
	return byte < ' ' || byte == 0x7f || strchr("/\\.;%", byte) ? 0 : 3;
}

bool rule_target_is_plain(const char *target)
{
	const char *at = target, *end = target + strcspn(target, "?");
	if (*at != '/')
		return false;
	while (at < end) {
		const char *segment = ++at;
		while (at < end && *at != '/') {
			size_t bytes = plain_bytes(at);
			if (bytes == 0)
				return false;
			at += bytes;
		}
		size_t bytes = (size_t)(at - segment);
		bool is_dots =
			bytes == 1 || bytes == 2 ? strncmp(segment, "..", bytes) == 0 : false;
		if (is_dots || (bytes == 0 && at < end))
			return false;
	}
	return true;
}

/* Whether a path may end at @at, for some server, or a segment of it. */
static bool is_border(const char *at)
{
	int byte = escaped(at);
	return *at == '/' || byte == '?' || byte == '#';
}

/* The last "*" takes as little as it can: the first place where what follows it fits is as good as
 * a later one, up to the next border. */
static bool has_form(const char *path, size_t bytes, const char *pattern)
{
	const char *end = path + bytes, *star = NULL, *taken = NULL;
	while (path < end) {
		if (*pattern == '*') {
			star = ++pattern;
			taken = path;
			if (*star == '\0')
				return true;
		} else if (*pattern == *path) {
			pattern++;
			path++;
		} else {
			if (!star || is_border(taken))
				return false;
			path = ++taken;
			pattern = star;
		}
	}
	return pattern[*pattern == '*'] == '\0';
}

static bool fits_method(const char *method, const struct rule_request *request)
{
	bool is_for_websocket = strcmp(method, websocket) == 0;
	if (request->is_websocket || is_for_websocket)
		return request->is_websocket && is_for_websocket &&
			strcmp(request->method, "GET") == 0;
	if (strcmp(method, "*") == 0)
		return request->method[0] != '\0';
	return strcmp(method, request->method) == 0 ||
		(strcmp(method, "GET") == 0 && strcmp(request->method, "HEAD") == 0);
}

bool rule_request_fits(const struct rule *r, const struct rule_request *request)
{
	const char *target = request->target;
	if (!fits_method(r->method, request) || *target != '/')
		return false;
	for (const char *at = target; *at; at++)
		if (!is_printable(*at) || *at == '#')
			return false;
	if (strcmp(r->path, "/*") == 0)
		return true;
	return rule_target_is_plain(target) && has_form(target, strcspn(target, "?"), r->path);
}

/* ---- the text of a rule ---- */

static int bad(struct err *err, const char *problem, const char *hint)
{
	return err_fail(err, ERR_USAGE, hint, "%s", problem);
}

/* METHOD HOST[:PORT]/PATH, within a text. */
struct parts {
	const char *method, *authority, *path; /* path: at its "/", or at the end */
	size_t method_bytes, authority_bytes;
	const char *before; /* "!" or "" */
};

static struct parts split(const char *text)
{
	struct parts p = {.method = text, .method_bytes = strcspn(text, blanks), .before = ""};
	p.authority = text + p.method_bytes;
	p.authority += strspn(p.authority, blanks);
	p.authority_bytes = strcspn(p.authority, "/");
	p.path = p.authority + p.authority_bytes;
	return p;
}

/* Fail, and show the rule that is meant. */
static int meant(struct err *err, const char *problem, const struct parts *p)
{
	char method[RULE_METHOD_BYTES] = "";
	size_t authority = strcspn(p->authority, " \t/?#");
	bool is_cut = p->authority[authority] == '?' || p->authority[authority] == '#';
	size_t path = is_cut ? 0 : strcspn(p->path, " \t?#");
	for (size_t i = 0; i < MIN(p->method_bytes, sizeof method - 1); i++)
		method[i] =
			(char)(ascii_is_letter(p->method[i]) ? p->method[i] & ~0x20 : p->method[i]);
	(void)bad(err, problem, "");
	return err_hint(err, "--net '%s%s %.*s%.*s'", p->before, method, (int)authority,
		p->authority, path > 0 ? (int)path : 2, path > 0 ? p->path : "/*");
}

/* Whether it is one of the usual ones, in any case. */
static bool is_known_method(const char *text, size_t bytes)
{
	static const char *const known[] = {
		"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", websocket};
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strlen(known[i]) == bytes && strncasecmp(known[i], text, bytes) == 0)
			return true;
	return false;
}

static bool is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

bool rule_is_method(const char *text, size_t bytes)
{
	if (bytes == 1 && *text == '*')
		return true;
	for (size_t i = 0; i < bytes; i++)
		if (!is_capital(text[i]) && (i == 0 || text[i] != '-'))
			return false;
	return bytes > 0;
}

bool rule_request_is(const char *text)
{
	struct parts p = split(text);
	if (p.authority == text + p.method_bytes)
		return false;
	if (rule_is_method(text, p.method_bytes) || is_known_method(text, p.method_bytes))
		return true;
	for (size_t i = 0; i < p.method_bytes; i++)
		if (!ascii_is_name((unsigned char)text[i]) && text[i] != '-')
			return false;
	return p.method_bytes > 0 && *p.path == '/';
}

static int check_method(const struct parts *p, struct err *err)
{
	if (!rule_is_method(p->method, p->method_bytes)) {
		if (is_known_method(p->method, p->method_bytes))
			return meant(err, "a method is in capitals", p);
		return err_fail(err, ERR_USAGE,
			"one rule each; a method is in capitals, or \"*\": "
			"--net 'GET api.example/v1'",
			"\"%.*s\" is no method", (int)MIN(p->method_bytes, 40), p->method);
	}
	if (p->method_bytes >= RULE_METHOD_BYTES)
		return bad(err, "the method is too long", "\"*\" stands for every method");
	return 0;
}

const char *rule_url_authority(char out[RULE_AUTHORITY_BYTES], const char *url)
{
	bool is_clear = strncasecmp(url, "http:", 5) == 0 || strncasecmp(url, "ws:", 3) == 0;
	const char *host = strstr(url, "://") + 3;
	const char *end = host + strcspn(host, "/?#");
	const char *user = memchr(host, '@', (size_t)(end - host));
	host = user ? user + 1 : host;
	size_t bytes = (size_t)(end - host);
	if (bytes == 0 || bytes >= RULE_HOST_BYTES)
		return NULL;
	(void)snprintf(out, RULE_AUTHORITY_BYTES, "%.*s%s", (int)bytes, host,
		memchr(host, ':', bytes) ? ""
			: is_clear	 ? ":80"
					 : ":443");
	return end;
}

/* A URL: its scheme was taken for HOST:. */
static int bad_url(const struct parts *p, struct err *err)
{
	static const char problem[] = "a rule names a host and a path, not a URL";
	struct parts right = *p;
	char authority[RULE_AUTHORITY_BYTES];
	right.path = rule_url_authority(authority, p->authority);
	if (!right.path)
		return bad(err, problem, "--net 'GET api.example:443/v1'");
	right.authority = authority;
	right.authority_bytes = strlen(authority);
	return meant(err, problem, &right);
}

static int check_authority(const struct parts *p, struct err *err)
{
	struct parts right = *p;
	const char *mapped = memchr(p->authority, '=', p->authority_bytes);
	if (p->authority_bytes == 0)
		return bad(err, "it names no host", "--net 'GET api.example/v1'");
	if (p->authority[0] == '!') {
		right.before = "!";
		right.authority++;
		right.authority_bytes--;
		return meant(err, "\"!\" stands before the method", &right);
	}
	if (p->authority[p->authority_bytes - 1] == ':' && p->path[0] == '/' && p->path[1] == '/')
		return bad_url(p, err);
	if (strpbrk(p->authority, "?#"))
		return meant(
			err, "a path ends before \"?\" and \"#\": queries are not compared", p);
	if (mapped)
		return bad(err, "where a name leads is a rule of its own",
			"--net api.example:443=127.0.0.1:8443 --net 'GET api.example:443/v1'");
	if (*p->path == '\0')
		return meant(err, "a method needs a path", p);
	if (p->authority_bytes >= RULE_AUTHORITY_BYTES)
		return bad(err, "the name is too long", "a name has at most 253 letters");
	return 0;
}

static int check_path(const struct parts *p, struct err *err)
{
	const char *path = p->path;
	if (strpbrk(path, blanks))
		return bad(err, "the path has a space",
			"one rule each; or, if it is a part of the path: %20");
	for (const char *at = path; *at; at++)
		if (!is_printable(*at) || *at == '"')
			return bad(err, "no path of a request has such a letter",
				"write it as programs send it: %c3%bc");
	if (strstr(path, "**"))
		return bad(err, "\"**\" has no meaning",
			"\"*\" is any text without \"/\", and at the end any text");
	if (strlen(path) >= RULE_PATH_BYTES)
		return bad(err, "the path is too long",
			"it has at most 255 letters; \"*\" at the end stands for any text");
	if (!rule_target_is_plain(path))
		return bad(err, "servers may read this path in two ways",
			"leave out \"//\", \"/./\", \"/../\", \"\\\", \";\", and escapes of these "
			"and of \"%\"");
	return 0;
}

int rule_request_read(
	struct rule *r, char authority[RULE_AUTHORITY_BYTES], const char *text, struct err *err)
{
	struct parts p = split(text);
	p.before = r->may_be_private ? "!" : "";
	int n = check_method(&p, err);
	if (n == 0)
		n = check_authority(&p, err);
	if (n == 0)
		n = check_path(&p, err);
	if (n < 0)
		return n;
	memcpy(r->method, p.method, p.method_bytes);
	r->method[p.method_bytes] = '\0';
	memcpy(authority, p.authority, p.authority_bytes);
	authority[p.authority_bytes] = '\0';
	memcpy(r->path, p.path, strlen(p.path) + 1);
	return 0;
}
