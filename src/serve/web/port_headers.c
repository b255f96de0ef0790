/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/web/port_headers.h"

#include "base/attr.h"
#include "net/message.h"

#include <string.h>
#include <strings.h>

/* Where a header is dropped. */
enum {
	IN_REQUEST = 1,
	IN_ANSWER = 2,
	IN_BOTH = IN_REQUEST | IN_ANSWER,
	IN_PATH = 4, /* in answers, if the port has no host of its own */
};

static const struct {
	const char *name;
	int where;
} dropped[] = {
	{"Expect", IN_REQUEST},
	{CREDENTIAL_HEADER_NAME, IN_REQUEST},
	{"X-Forwarded-Prefix", IN_REQUEST}, /* set anew */
	/* of the whole host, not of one port */
	{"Alt-Svc", IN_ANSWER},
	{"Strict-Transport-Security", IN_ANSWER},
	{"Public-Key-Pins", IN_ANSWER},
	{"NEL", IN_ANSWER},
	{"Report-To", IN_ANSWER},
	{"Reporting-Endpoints", IN_ANSWER},
	{"Expect-CT", IN_ANSWER},
	{"Accept-CH", IN_ANSWER},
	{"Critical-CH", IN_ANSWER},
	{"Origin-Agent-Cluster", IN_ANSWER},
	{"Use-As-Dictionary", IN_ANSWER},
	{"Clear-Site-Data", IN_PATH},
	{"Service-Worker-Allowed", IN_PATH},
};

static bool is_dropped(const struct port_view *view, const char *name, int where)
{
	for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
		if ((dropped[i].where & where) && strcasecmp(dropped[i].name, name) == 0)
			return true;
	return message_is_hop(name, view->connection);
}

/* Append the elements of @list, except those that contain @word. */
static void add_without(struct buf *out, const char *list, const char *word)
{
	for (const char *at = list; *at; at += strspn(at, " \t,")) {
		size_t n = strcspn(at, " \t,");
		if (n > 0 && !memmem(at, n, word, strlen(word)))
			buf_addf(out, "%s%.*s", out->bytes > 0 ? ", " : "", (int)n, at);
		at += n;
	}
}

bool port_request_header(
	const struct port_view *view, const char *name, const char *value, struct buf *out)
{
	buf_clear(out);
	if (is_dropped(view, name, IN_REQUEST) ||
		(strcasecmp(name, "Authorization") == 0 &&
			view->credential == CREDENTIAL_AUTHORIZATION) ||
		(strcasecmp(name, "Upgrade") == 0 && !view->is_upgrade))
		return false;
	if (strcasecmp(name, "Sec-WebSocket-Protocol") == 0) {
		add_without(out, value, "base64url.bearer.retort.");
		return out->bytes > 0 && buf_error(out) == 0;
	}
	return buf_add(out, value) == 0;
}

/* A cookie: its name and value, and those of its attributes that do not widen where it is sent. */
static void add_cookie(const struct port_view *view, struct buf *out, const char *value)
{
	for (const char *at = value; *at;) {
		bool is_first = at == value;
		at += is_first ? 0 : strspn(at, " \t");
		size_t n = strcspn(at, ";");
		bool is_path = strncasecmp(at, "Path", 4) == 0 && strchr("=; \t", at[4]);
		bool is_domain = strncasecmp(at, "Domain", 6) == 0 && strchr("=; \t", at[6]);
		if (is_first || (!is_domain && !(is_path && *view->prefix)))
			buf_addf(out, "%s%.*s", is_first ? "" : "; ", (int)n, at);
		at += n;
		at += *at == ';';
	}
	if (*view->prefix)
		buf_addf(out, "; Path=%s/", view->prefix);
}

/* A redirection to a path of this host: the program does not know below which path it is served. */
static void add_location(const struct port_view *view, struct buf *out, const char *value)
{
	static const char *const schemes[] = {"http://", "https://"};
	size_t bytes = strlen(view->host);
	const char *path = value;
	for (size_t i = 0; i < ARRAY_LEN(schemes); i++) {
		size_t n = strlen(schemes[i]);
		if (strncasecmp(value, schemes[i], n) == 0 &&
			strncasecmp(value + n, view->host, bytes) == 0 && value[n + bytes] == '/')
			path = value + n + bytes;
	}
	bool is_path = path[0] == '/' && path[1] != '/';
	buf_addf(out, "%s%s", is_path ? view->prefix : "", is_path ? path : value);
}

bool port_answer_header(
	const struct port_view *view, const char *name, const char *value, struct buf *out)
{
	bool is_path = *view->prefix != '\0';
	buf_clear(out);
	if (is_dropped(view, name, IN_ANSWER | (is_path ? IN_PATH : 0)) ||
		(strcasecmp(name, "Upgrade") == 0 && !view->is_upgrade))
		return false;
	if (strcasecmp(name, "Set-Cookie") == 0)
		add_cookie(view, out, value);
	else if (strcasecmp(name, "Location") == 0)
		add_location(view, out, value);
	else
		buf_add(out, value);
	return buf_error(out) == 0;
}
