/* The checks that decide, before the body of a request is read, whether the request is accepted.
 * SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/inside.h"

#include "base/num.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- reading the headers of a request ---- */

enum { FIELD_BYTES = 8 << 10 };

/* One header of the request. `n` is the number of its occurrences, `value` the last value without
 * surrounding blanks. A value that is too long counts as two occurrences: so it is refused, because
 * every check refuses a header that occurs twice. Source: RFC 9110, 5.5. */
struct field {
	const char *name;
	unsigned n;
	char value[FIELD_BYTES];
};

static enum MHD_Result on_header(
	void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	struct field *f = arg;
	(void)kind;
	if (strcasecmp(name, f->name) != 0)
		return MHD_YES;
	f->n++;
	value = value ? value + strspn(value, " \t") : "";
	size_t bytes = strlen(value);
	while (bytes > 0 && strchr(" \t", value[bytes - 1]))
		bytes--;
	if (bytes >= sizeof f->value)
		f->n++;
	else
		snprintf(f->value, sizeof f->value, "%.*s", (int)bytes, value);
	return MHD_YES;
}

static unsigned find(const struct http_exchange *x, const char *name, struct field *f)
{
	f->name = name;
	f->n = 0;
	f->value[0] = '\0';
	(void)x->server->lib.get_connection_values(
		x->connection->mhd, MHD_HEADER_KIND, on_header, f);
	return f->n;
}

static bool has_site_port(const struct http_route *r, uint16_t port)
{
	for (size_t i = 0; i < r->n_site_ports; i++)
		if (r->site_ports[i] == port)
			return true;
	return false;
}

/* Return whether the port of the site is one of a route, and not one of the session. */
static bool is_own_port(const struct http_exchange *x)
{
	const struct http_config *config = &x->server->config;
	for (size_t i = 0; i < config->n_routes; i++)
		if (has_site_port(&config->routes[i], x->site.port))
			return true;
	return false;
}

/* Return whether the path of the request, or its host, is that of the route. */
static bool is_for(const struct http_route *r, const struct http_exchange *x)
{
	size_t bytes = strlen(r->path);
	if (x->site.port != 0 && !is_own_port(x))
		return r->is_for_sites;
	if (x->site.port != 0 && !has_site_port(r, x->site.port))
		return false;
	if (strcmp(r->path, "*") == 0)
		return true;
	return r->path[bytes - 1] == '/' && bytes > 1 ? strncmp(r->path, x->path, bytes) == 0
						      : strcmp(r->path, x->path) == 0;
}

/* Add the response header Allow, with the methods that the requested path supports. */
static void allow(struct http_exchange *x)
{
	char list[128] = "";
	size_t at = 0;
	for (size_t i = 0; i < x->server->config.n_routes && at < sizeof list; i++) {
		const struct http_route *r = &x->server->config.routes[i];
		if (!is_for(r, x) || !r->method)
			continue;
		at += (size_t)snprintf(list + at, sizeof list - at, "%s%s%s", at ? ", " : "",
			r->method, strcmp(r->method, "GET") == 0 ? ", HEAD" : "");
	}
	(void)http_set_header(x, "Allow", list);
}

/* Clear the flag @arg if @name has characters that header names must not have. Another program,
 * such as a proxy, might read such a name as a different header. */
static enum MHD_Result on_name(
	void *arg, enum MHD_ValueKind kind, const char *name, const char *value)
{
	bool *is_well = arg;
	(void)kind;
	(void)value;
	for (const char *at = name; *at; at++)
		if (*at <= ' ' || *at >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", *at))
			*is_well = false;
	return MHD_YES;
}

/* ---- checking a request ---- */

/* Refuse a request if two programs, such as a proxy and this server, could disagree about where
 * it ends. An attacker could then hide a second request in its body (request smuggling). Source:
 * RFC 9112, 5.1, 6.1 to 6.3. */
static int check_shape(struct http_exchange *x, struct err *err)
{
	struct field length, coding;
	bool is_well = true;
	(void)x->server->lib.get_connection_values(
		x->connection->mhd, MHD_HEADER_KIND, on_name, &is_well);
	unsigned n_lengths = find(x, "Content-Length", &length);
	unsigned n_codings = find(x, "Transfer-Encoding", &coding);
	if (!is_well)
		(void)err_set(err, ERR_USAGE, "a header with an invalid name");
	else if (n_lengths + n_codings > 1)
		(void)err_set(err, ERR_USAGE, "more than one length of the body");
	else if (n_codings == 1 && strcasecmp(coding.value, "chunked") != 0)
		(void)err_set(err, ERR_USAGE, "transfer coding \"%.40s\"", coding.value);
	else
		return 0;
	return 400;
}

static int check_room(struct http_exchange *x, struct err *err)
{
	if (x->server->is_draining) {
		(void)err_set(err, ERR_BUSY, "the engine is being stopped");
		return 503;
	}
	if (!x->connection->is_surplus)
		return 0;
	http_count(x->server, METRICS_FULL, 1);
	(void)http_set_header(x, "Retry-After", "1");
	err_fail(err, ERR_LIMIT,
		"close connections that are not needed; retort serve --connections N allows more",
		"too many connections");
	return 503;
}

static int check_host(struct http_exchange *x, struct err *err)
{
	struct field host;
	unsigned n = find(x, "Host", &host);
	if (n == 1 && host_is_allowed(&x->server->config.hosts, host.value)) {
		(void)host_read_site(&x->server->config.hosts, host.value, &x->site);
		return 0;
	}
	if (n != 1) {
		err_fail(err, ERR_USAGE, "send one Host header, such as Host: 127.0.0.1",
			n == 0 ? "no Host header"
			       : "more than one Host header, or one that is too long");
		return 400;
	}
	err_fail(err, ERR_DENIED, "use the address, or start retort serve with --allow-host NAME",
		"host \"%.100s\" is not served here", host.value);
	return 403;
}

static int check_origin(struct http_exchange *x, struct err *err)
{
	static const char exposed[] = "Mcp-Session-Id, WWW-Authenticate";
	struct field origin, host, upgrade;
	const struct host_rules *rules = &x->server->config.hosts;
	unsigned n = find(x, "Origin", &origin);
	if (n == 1 && origin_is_named(rules, origin.value)) {
		(void)http_set_header(x, "Access-Control-Allow-Origin", origin.value);
		(void)http_set_header(x, "Vary", "Origin");
		(void)http_set_header(x, "Access-Control-Expose-Headers", exposed);
	}
	/* A browser asks nobody before it opens a WebSocket, and lets the page read what comes. So
	 * pages of other origins on this host, such as those of a port of a box, may not. */
	bool is_near = n == 1 && find(x, "Upgrade", &upgrade) == 0
		? origin_is_allowed(rules, origin.value)
		: n == 1 && origin_is_named(rules, origin.value);
	if (n == 0 || is_near ||
		(n == 1 && find(x, "Host", &host) == 1 &&
			origin_is_host(origin.value, host.value, x->server->tls != NULL)))
		return 0;
	err_fail(err, ERR_DENIED, "retort serve --allow-origin ORIGIN allows them",
		"pages of \"%.100s\" may not call", origin.value);
	return 403;
}

/* Respond to a CORS preflight request, with which a browser asks what a page of another site may
 * send. */
static int answer_options(struct http_exchange *x)
{
	allow(x);
	(void)http_set_header(x, "Access-Control-Allow-Methods", "GET, POST, DELETE");
	(void)http_set_header(x, "Access-Control-Allow-Headers",
		"Authorization, Content-Type, Accept, Last-Event-ID, MCP-Protocol-Version, "
		"Mcp-Session-Id, Mcp-Method, Mcp-Name");
	(void)http_set_header(x, "Access-Control-Max-Age", "600");
	http_answer(x, 204, NULL, "", 0);
	return 204;
}

static int check_route(struct http_exchange *x, struct err *err)
{
	const char *method = strcmp(x->method, "HEAD") == 0 ? "GET" : x->method;
	struct field origin;
	char paths[ERR_HINT_BYTES] = "";
	size_t at = 0;
	bool is_known = false, is_ours = false;
	for (size_t i = 0; i < x->server->config.n_routes; i++) {
		const struct http_route *r = &x->server->config.routes[i];
		/* A front answers what no path of ours is. */
		bool is_here = is_for(r, x) && !(is_ours && strcmp(r->path, "*") == 0);
		is_ours = is_ours || (is_here && !r->key_header);
		bool is_any = !r->method && strcmp(method, "CONNECT") != 0;
		if (is_here && (is_any || (r->method && strcmp(r->method, method) == 0))) {
			x->route = r;
			return 0;
		}
		is_known = is_known || is_here;
		if (at < sizeof paths)
			at += (size_t)snprintf(paths + at, sizeof paths - at, "%s%s%s%s",
				at ? ", " : "there is ", r->method ? r->method : "",
				r->method ? " " : "", r->path);
	}
	if (!is_known) {
		(void)err_set(err, ERR_NOT_FOUND, "nothing is served at \"%.100s\"", x->path);
		(void)err_hint(err, "%s", paths);
		return 404;
	}
	if (strcmp(method, "OPTIONS") == 0 && find(x, "Origin", &origin) == 1 &&
		origin_is_named(&x->server->config.hosts, origin.value))
		return answer_options(x);
	allow(x);
	(void)err_set(err, ERR_USAGE, "method %.20s is not allowed for %.100s", x->method, x->path);
	return 405;
}

/* Take the whole value of the header @name as the token, if it is one word. */
static bool take_word(struct http_exchange *x, const char *name, char out[CREDENTIAL_BYTES])
{
	struct field given;
	if (find(x, name, &given) != 1 || !credential_read_word(given.value, out))
		return false;
	x->credential = CREDENTIAL_HEADER;
	return true;
}

/* Take the token from a cookie, if the page that has sent the request knows the other cookie. */
static bool take_cookie(struct http_exchange *x, const char *name, char out[CREDENTIAL_BYTES])
{
	struct field cookies, echo;
	char expected[CREDENTIAL_BYTES];
	if (find(x, "Cookie", &cookies) != 1 || find(x, "X-XSRFToken", &echo) != 1 ||
		!credential_read_cookie(cookies.value, "_xsrf", expected) ||
		strcmp(expected, echo.value) != 0 ||
		!credential_read_cookie(cookies.value, name, out))
		return false;
	x->credential = CREDENTIAL_COOKIE;
	return true;
}

/* Find the token in those ways that only routes with `key_query` and `key_cookie` have. */
static bool find_key(struct http_exchange *x, char out[CREDENTIAL_BYTES])
{
	const struct http_route *route = x->route;
	const char *value = route->key_query ? http_query(x, route->key_query) : NULL;
	struct field given;
	if (value && credential_read_word(value, out))
		x->credential = CREDENTIAL_QUERY;
	else if (route->key_query && find(x, "Authorization", &given) == 1 &&
		credential_read_scheme(given.value, "token", out))
		x->credential = CREDENTIAL_AUTHORIZATION;
	else
		return route->key_cookie && take_cookie(x, route->key_cookie, out);
	return true;
}

/* Find the token of the request, in those ways that its route allows. Returns: whether it has one.
 * x->credential says where. */
static bool find_token(struct http_exchange *x, char out[CREDENTIAL_BYTES])
{
	struct field given;
	bool is_any = x->route->is_for_browsers;
	const char *key = x->route->key_header;
	if (find_key(x, out) || (key && take_word(x, key, out)) ||
		(is_any && take_word(x, CREDENTIAL_HEADER_NAME, out)))
		return true;
	if (find(x, "Authorization", &given) == 1 &&
		credential_read_authorization(given.value, is_any || key, out))
		x->credential = CREDENTIAL_AUTHORIZATION;
	else if (is_any && find(x, "Sec-WebSocket-Protocol", &given) == 1 &&
		credential_read_protocols(given.value, out))
		x->credential = CREDENTIAL_PROTOCOL;
	else if (key)
		return take_word(x, "Authorization", out);
	return x->credential != CREDENTIAL_MISSING;
}

bool http_has_token(const struct http_exchange *x, const char *authorization)
{
	char value[FIELD_BYTES], token[CREDENTIAL_BYTES];
	const struct token_list *tokens = x->server ? x->server->config.tokens : NULL;
	if (strlen(authorization) >= sizeof value)
		return true;
	/* Tabs are blanks, and some clients send several values. */
	snprintf(value, sizeof value, "%.*s", (int)strcspn(authorization, ","), authorization);
	for (char *c = value; *c; c++)
		*c = (char)(*c == '\t' ? ' ' : *c);
	for (size_t n = strlen(value); n > 0 && value[n - 1] == ' '; n--)
		value[n - 1] = '\0';
	/* Routes with `key_header` also take the whole value. */
	return tokens &&
		((credential_read_authorization(value, true, token) && token_find(tokens, token)) ||
			(credential_read_word(value, token) && token_find(tokens, token)));
}

bool http_has_tokens(const struct http_exchange *x)
{
	return http_tokens(x) != NULL;
}

const struct token_list *http_tokens(const struct http_exchange *x)
{
	return x->server ? x->server->config.tokens : NULL;
}

static void ask_for_token(struct http_exchange *x, bool is_wrong)
{
	(void)http_set_header(x, "WWW-Authenticate",
		is_wrong ? "Bearer realm=\"retort\", error=\"invalid_token\""
			 : "Bearer realm=\"retort\"");
	/* A browser asks its user for a name and a password. */
	if (x->route->is_for_browsers)
		(void)http_set_header(
			x, "WWW-Authenticate", "Basic realm=\"retort: the password is a token\"");
}

/* Ask the fronts whether a request to a site may go there without a token of this engine. */
static bool opens_site(struct http_exchange *x)
{
	const struct http_config *config = &x->server->config;
	const struct operation_context *context = NULL;
	if (x->site.port == 0 || !x->route->is_for_sites)
		return false;
	for (size_t i = 0; i < config->n_routes; i++) {
		const struct http_route *r = &config->routes[i];
		if (r->opens_site && r->opens_site(r->arg, x, &context) && context) {
			x->context = context;
			return true;
		}
	}
	return false;
}

static int check_token(struct http_exchange *x, struct err *err)
{
	char token[CREDENTIAL_BYTES];
	struct field given;
	const struct http_config *config = &x->server->config;
	bool is_open =
		x->route->is_open || (x->route->is_open_socket && find(x, "Upgrade", &given) > 0);
	x->context = config->context;
	/* That proves nothing about the client, which may need no secret. */
	if (opens_site(x) || !config->tokens || is_open)
		return 0;
	const struct operation_context *found =
		find_token(x, token) ? token_find(config->tokens, token) : NULL;
	bool is_wrong = x->credential != CREDENTIAL_MISSING || find(x, "Authorization", &given) > 0;
	if (found) {
		x->context = found;
		x->has_token = x->connection->is_proven = true;
		return 0;
	}
	http_count(x->server, METRICS_UNAUTHORIZED, 1);
	ask_for_token(x, is_wrong);
	err_fail(err, ERR_AUTH,
		x->route->is_for_browsers ? "send \"Authorization: Bearer TOKEN\", Basic with the "
					    "token as password, or \"X-Retort-Token: TOKEN\""
			: x->route->key_header
			? "send \"Authorization: Bearer TOKEN\", Basic with the "
			  "token as password, or \"X-Api-Key: TOKEN\""
			: "send the header \"Authorization: Bearer TOKEN\"",
		is_wrong ? "the token is not one of this engine's" : "no token");
	return 401;
}

/* Refuse what a page of another site has a browser fetch from a port, such as an image: it has no
 * Origin. Links may lead there. A page below a path has no origin of its own, so that its own
 * images look the same; only hosts of ports are protected. Source: Fetch Metadata, W3C. */
static int check_fetch(struct http_exchange *x, struct err *err)
{
	struct field site, mode, origin;
	if (x->site.port == 0 || find(x, "Sec-Fetch-Site", &site) == 0 ||
		strcmp(site.value, "same-origin") == 0 || strcmp(site.value, "none") == 0)
		return 0;
	bool is_link = find(x, "Sec-Fetch-Mode", &mode) == 1 && strcmp(mode.value, "navigate") == 0;
	if (is_link ||
		(find(x, "Origin", &origin) == 1 &&
			origin_is_named(&x->server->config.hosts, origin.value)))
		return 0;
	err_fail(err, ERR_DENIED, "retort serve --allow-origin ORIGIN allows them",
		"pages of other sites may not use what a port has");
	return 403;
}

static int check_type(struct http_exchange *x, struct err *err)
{
	struct field given;
	const char *value = given.value, *type = x->route->type;
	if (!type)
		return 0;
	unsigned n = find(x, "Content-Type", &given);
	size_t bytes = strlen(type);
	if (n == 1 && strncasecmp(value, type, bytes) == 0 &&
		(value[bytes] == '\0' || strchr(" \t;", value[bytes])))
		return 0;
	(void)err_set(err, ERR_USAGE, n ? "content type \"%.100s\"" : "no content type%.0s",
		n ? value : "");
	(void)err_hint(err, "send %s", type);
	return 415;
}

static int check_length(struct http_exchange *x, struct err *err)
{
	struct field length;
	uint64_t bytes = 0;
	struct err inner;
	unsigned n = find(x, "Content-Length", &length);
	if (n == 1 && num_parse_count(length.value, NUM_ANY, &bytes, &inner) < 0)
		bytes = UINT64_MAX;
	if (bytes <= x->route->body_max_bytes) {
		x->body.max_bytes = x->route->body_max_bytes;
		return 0;
	}
	err_fail(err, ERR_LIMIT, "send files in parts, or put them into a volume",
		"a body of over %s", num_format_bytes(x->route->body_max_bytes).text);
	return 413;
}

int http_check(struct http_exchange *x)
{
	/* Each check returns 0 if the request passes, or the HTTP status of the response; @err then
	 * has the reason. */
	static int (*const checks[])(struct http_exchange * x, struct err * err) = {check_shape,
		check_room, check_host, check_origin, check_route, check_fetch, check_token,
		check_type, check_length};
	struct err err = {0};
	for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
		int status = checks[i](x, &err);
		if (status == 0)
			continue;
		if (!x->response)
			http_refuse(x, (unsigned)status, &err);
		return -1;
	}
	return 0;
}
