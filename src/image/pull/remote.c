/*
 * Requests to a registry.
 *
 * A request goes through these stages, some of them several times: it is sent; the registry answers
 * with the part, or sends it on to another server (status 3xx), or asks for a login (401). For a
 * login, a token is got once for all requests that wait for it. The login is never sent to another
 * server than the one that it is for: not to that of a redirection, and only over TLS, but for
 * registries of this host.
 *
 * Source: OCI distribution specification; distribution, "Token Authentication Specification".
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "image/pull/remote.h"

#include "base/alloc.h"
#include "base/base64.h"
#include "base/json.h"
#include "base/num.h"
#include "image/pull/challenge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	CONNECT_MS = 30000,
	IDLE_MS = 30000,
	REDIRECTIONS_MAX = 6,
	SAID_BYTES = 4096,
	TOKEN_BYTES = 1 << 20,
	AUTH_BYTES = 64 << 10,
	PART_BYTES = 200,
	WAIT_MAX_S = 60,
};

static const char hub[] = "docker.io";
static const char accepted[] =
	"application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, "
	"application/vnd.docker.distribution.manifest.list.v2+json, "
	"application/vnd.docker.distribution.manifest.v2+json";

struct remote {
	struct remote_config config;
	struct net *net;
	bool is_local, is_plain; /* is_plain: without TLS */
	bool is_known;		 /* it has answered so */
	char host[IMAGE_HOST_BYTES];
	char *authorization;	/* the value of the header, or NULL */
	unsigned n_logins;	/* how many there have been */
	bool is_logging_in;	/* requests wait for it */
	struct net_call *token; /* the request for it, or NULL */
	struct buf token_text;
	struct remote_get *gets;
};

struct remote_get {
	struct remote_get *next;
	struct remote *remote;
	struct remote_order order;
	char part[PART_BYTES]; /* "manifests/latest" */
	struct net_call *call; /* NULL: it waits for the login */
	char url[NET_URL_BYTES];
	char location[NET_URL_BYTES];
	char challenge[4 * CHALLENGE_VALUE_BYTES];
	unsigned n_redirections, n_logins; /* of the remote, when it was sent */
	bool is_foreign;		   /* sent to another server than the registry */
	bool is_elsewhere;		   /* the answer begins with another byte */
	bool is_refused;		   /* a login was refused */
	int status;
	uint64_t wait_ms;
	struct buf said; /* the beginning of an error */
};

static void send_get(struct remote_get *g);

/* ---- the end of a request ---- */

static void drop(struct remote_get *g)
{
	struct remote_get **at = &g->remote->gets;
	while (*at != g)
		at = &(*at)->next;
	*at = g->next;
	if (g->call)
		net_cancel(g->call);
	buf_done(&g->said);
	free(g);
}

void remote_cancel(struct remote_get *g)
{
	drop(g);
}

void remote_go_on(struct remote_get *g)
{
	if (g->call)
		net_go_on(g->call);
}

static void finish(struct remote_get *g, bool is_cut, const struct err *err)
{
	struct remote_order order = g->order;
	uint64_t wait_ms = g->wait_ms;
	drop(g);
	order.done(order.arg, is_cut, wait_ms, err);
}

/* Return what the registry says of an error; "" if that cannot be read. */
static const char *said(const struct remote_get *g, json_t **root)
{
	*root = json_loadb(buf_str(&g->said), g->said.bytes, 0, NULL);
	const json_t *errors = json_object_get(*root, "errors");
	return json_get_text(json_array_get(errors, 0), "message");
}

static void finish_status(struct remote_get *g)
{
	const struct image_ref *image = g->remote->config.image;
	const char *host = g->remote->config.at->host;
	cleanup_json json_t *root = NULL;
	char name[IMAGE_NAME_BYTES];
	const char *why = said(g, &root);
	struct err err;
	bool is_busy = g->status == 429 || g->status >= 500;
	image_ref_name(image, name);
	if (g->status == 404 && g->order.kind == REMOTE_MANIFEST)
		(void)err_set(&err, ERR_NOT_FOUND, "no image %.150s at %.80s",
			image_ref_short(name), host);
	else if (g->status == 429)
		(void)err_set(&err, ERR_QUOTA, "%.100s: too many requests%s%.80s", host,
			why[0] ? ": " : "", why);
	else
		(void)err_set(&err, ERR_UNREACHABLE, "%.100s: status %d%s%.100s",
			g->is_foreign ? "the server of the layers" : host, g->status,
			why[0] ? ": " : "", why);
	finish(g, is_busy, &err);
}

static void set_denied(const struct remote *r, const char *why, struct err *err)
{
	const char *host = r->config.at->host;
	char name[IMAGE_NAME_BYTES];
	image_ref_name(r->config.image, name);
	(void)err_set(err, ERR_AUTH, "%.100s: %s", image_ref_short(name), why);
	(void)err_hint(err, "log in: docker login%s%.100s, or: podman login %.60s",
		strcmp(host, hub) == 0 ? "" : " ", strcmp(host, hub) == 0 ? "" : host, host);
}

static void finish_denied(struct remote_get *g)
{
	struct err err;
	set_denied(g->remote,
		g->remote->config.login.secret
			? "the registry refuses the login, or there is no such image"
			: "it needs a login, or there is no such image",
		&err);
	finish(g, false, &err);
}

/* ---- the login ---- */

static void set_authorization(struct remote *r, char *value)
{
	if (r->authorization)
		explicit_bzero(r->authorization, strlen(r->authorization));
	free(r->authorization);
	r->authorization = value;
	r->n_logins++;
}

/* Return "Basic …", or NULL. Owns: the caller frees. */
static char *basic(const struct remote *r)
{
	const char *user = r->config.login.user, *secret = r->config.login.secret;
	cleanup_wipe_buf struct buf plain = BUF_INIT(AUTH_BYTES), out = BUF_INIT(2 * AUTH_BYTES);
	if (!user || !user[0] || !secret || buf_addf(&plain, "%s:%s", user, secret) < 0)
		return NULL;
	if (buf_add(&out, "Basic ") < 0 || base64_write(&out, buf_str(&plain), plain.bytes) < 0)
		return NULL;
	return buf_take(&out);
}

/* All who wait for the login go on; or they end with @err. */
static void end_login(struct remote *r, const struct err *err)
{
	r->is_logging_in = false;
	buf_wipe(&r->token_text);
	for (struct remote_get *g = r->gets, *next; g; g = next) {
		next = g->next;
		if (g->call)
			continue;
		if (err) {
			finish(g, false, err);
			next = r->gets; /* the callback may have ended others */
		} else {
			send_get(g);
		}
	}
}

static int on_token_data(void *arg, const char *data, size_t bytes)
{
	struct remote *r = arg;
	return buf_append(&r->token_text, data, bytes);
}

static void on_token(void *arg, const struct net_result *result)
{
	struct remote *r = arg;
	struct err err;
	r->token = NULL;
	cleanup_json json_t *root = result->end == NET_ANSWER && result->status == 200
		? json_loadb(buf_str(&r->token_text), r->token_text.bytes, 0, NULL)
		: NULL;
	const char *token = json_get_text(root, "token");
	if (!token[0])
		token = json_get_text(root, "access_token");
	cleanup_wipe_buf struct buf value = BUF_INIT(AUTH_BYTES);
	if (result->end != NET_ANSWER) {
		end_login(r, &result->err);
	} else if (result->status == 401 || result->status == 403) {
		set_denied(r, "the registry refuses the login", &err);
		end_login(r, &err);
	} else if (!token[0] || strpbrk(token, "\r\n") ||
		buf_addf(&value, "Bearer %s", token) < 0) {
		(void)err_set(&err, ERR_UNREACHABLE,
			"%.100s: the server of tokens gave none (status %d)", r->config.at->host,
			result->status);
		end_login(r, &err);
	} else {
		set_authorization(r, buf_take(&value));
		end_login(r, NULL);
	}
}

static void add_form(struct buf *out, const char *name, const char *value)
{
	(void)buf_addf(out, "%s%s=", out->bytes ? "&" : "", name);
	for (; *value; value++)
		(void)buf_addf(out, "%%%02X", (unsigned char)*value);
}

/* Ask for a token. With an identity token, the request is a POST. */
static int ask_token(struct remote *r, const struct challenge *c, struct err *err)
{
	char url[NET_URL_BYTES];
	cleanup_wipe_buf struct buf form = BUF_INIT(AUTH_BYTES * 3);
	const char *user = r->config.login.user;
	bool is_identity = user && !user[0] && r->config.login.secret;
	int bad = challenge_url(c, r->config.at->path, r->is_local, url, sizeof url, err);
	if (bad < 0)
		return bad;
	char *login = basic(r);
	const struct net_header headers[] = {{"Accept", "application/json"},
		{"Content-Type", "application/x-www-form-urlencoded"},
		{"Authorization", login ? login : ""}};
	if (is_identity) {
		url[strcspn(url, "?")] = '\0';
		add_form(&form, "grant_type", "refresh_token");
		add_form(&form, "service", c->service);
		add_form(&form, "scope", c->scope);
		add_form(&form, "client_id", "retort");
		add_form(&form, "refresh_token", r->config.login.secret);
	}
	r->token_text = BUF_INIT(TOKEN_BYTES);
	const struct net_request request = {.url = url,
		.is_direct = challenge_is_here(url),
		.headers = headers,
		.n_headers = is_identity ? 2
			: login		 ? 3
					 : 1,
		.body = is_identity ? buf_str(&form) : NULL,
		.body_bytes = form.bytes,
		.answer_max_bytes = TOKEN_BYTES,
		.connect_ms = CONNECT_MS,
		.idle_ms = IDLE_MS,
		.arg = r,
		.on_data = on_token_data,
		.on_done = on_token};
	bad = net_start(r->net, &request, &r->token, err);
	if (login)
		explicit_bzero(login, strlen(login));
	free(login);
	return bad;
}

/* The registry asks @g for a login. */
static void log_in(struct remote_get *g)
{
	struct remote *r = g->remote;
	struct challenge challenge;
	struct err err;
	if (g->n_logins < r->n_logins) { /* there was one meanwhile */
		send_get(g);
		return;
	}
	if (r->is_logging_in)
		return;
	if (g->is_refused) {
		finish_denied(g);
		return;
	}
	g->is_refused = true;
	if (challenge_read(&challenge, g->challenge, &err) < 0) {
		finish(g, false, &err);
		return;
	}
	char *login = challenge.is_bearer ? NULL : basic(r);
	if (login) {
		set_authorization(r, login);
		send_get(g);
	} else if (!challenge.is_bearer) {
		finish_denied(g);
	} else if (ask_token(r, &challenge, &err) < 0) {
		finish(g, false, &err);
	} else {
		r->is_logging_in = true;
	}
}

/* ---- redirections ---- */

/* Return the length of "https://HOST:PORT" of a URL; 0 if it is none. */
static size_t origin_bytes(const char *url)
{
	const char *slashes = strstr(url, "://");
	return slashes ? (size_t)(slashes - url) + 3 + strcspn(slashes + 3, "/?#") : 0;
}

static void follow(struct remote_get *g)
{
	struct err err;
	const char *to = g->location;
	size_t n = origin_bytes(g->url);
	char url[NET_URL_BYTES];
	bool is_relative = to[0] == '/' && to[1] != '/';
	int bytes = is_relative ? snprintf(url, sizeof url, "%.*s%s", (int)n, g->url, to)
				: snprintf(url, sizeof url, "%s", to);
	if (bytes <= 0 || (size_t)bytes >= sizeof url ||
		!challenge_is_safe(url, g->remote->is_plain) ||
		g->n_redirections++ == REDIRECTIONS_MAX) {
		(void)err_set(&err, ERR_UNREACHABLE,
			"%.100s sends on to \"%.80s\", which is not followed",
			g->remote->config.at->host, to);
		finish(g, false, &err);
		return;
	}
	if (origin_bytes(url) != n || strncasecmp(url, g->url, n) != 0)
		g->is_foreign = true;
	memcpy(g->url, url, (size_t)bytes + 1);
	send_get(g);
}

/* ---- a request ---- */

/* Return whether an answer with a range begins with this byte. Source: RFC 9110, 14.4. */
static bool begins_at(const struct remote_get *g, uint64_t from)
{
	char range[96], wanted[48];
	snprintf(wanted, sizeof wanted, "bytes %llu-", (unsigned long long)from);
	return net_header(g->call, "Content-Range", range, sizeof range) &&
		strncasecmp(range, wanted, strlen(wanted)) == 0;
}

static void on_headers(void *arg)
{
	struct remote_get *g = arg;
	char seconds[16] = "";
	g->status = net_status(g->call);
	if (g->status == 200 && g->order.from > 0 && g->order.restart)
		g->order.restart(g->order.arg);
	g->is_elsewhere = g->status == 206 && !begins_at(g, g->order.from);
	g->location[0] = g->challenge[0] = '\0';
	(void)net_header(g->call, "Location", g->location, sizeof g->location);
	(void)net_header(g->call, "WWW-Authenticate", g->challenge, sizeof g->challenge);
	if (net_header(g->call, "Retry-After", seconds, sizeof seconds)) {
		unsigned long s = strtoul(seconds, NULL, 10);
		g->wait_ms = 1000 * MIN(s, (unsigned long)WAIT_MAX_S);
	}
}

static int on_data(void *arg, const char *data, size_t bytes)
{
	struct remote_get *g = arg;
	if (g->is_elsewhere)
		return 0;
	if (g->status == 200 || g->status == 206)
		return g->order.data(g->order.arg, data, bytes);
	(void)buf_append(&g->said, data, MIN(bytes, SAID_BYTES - g->said.bytes));
	return 0;
}

static void ask_for_all(struct remote_get *g)
{
	g->order.restart(g->order.arg);
	g->order.from = 0;
	send_get(g);
}

/* Return whether an error is one that registries send, in JSON. */
static bool is_of_registry(const struct remote_get *g)
{
	cleanup_json json_t *root = json_loadb(buf_str(&g->said), g->said.bytes, 0, NULL);
	return json_object_get(root, "errors") != NULL;
}

/* Return whether the registry has sent what is no answer: headers without an end, a switch of
 * protocols. */
static bool is_nonsense(const struct remote_get *g, const struct err *err)
{
	return err->code == ERR_PROTOCOL || err->code == ERR_USAGE ||
		(err->code == ERR_LIMIT && g->status == 0);
}

static void on_done(void *arg, const struct net_result *result)
{
	struct remote_get *g = arg;
	struct remote *r = g->remote;
	bool is_cut = result->end == NET_CUT || result->end == NET_TIMEOUT;
	g->call = NULL;
	/* A registry of this host that speaks TLS says nothing, or "bad request", to what it gets
	 * without. */
	bool is_tls = r->is_plain && !r->is_known && !g->is_foreign && !r->authorization &&
		((result->status == 400 && !is_of_registry(g)) ||
			(result->end == NET_CUT && result->status == 0));
	bool is_of_us = !g->is_foreign && result->status > 0;
	/* It does not speak TLS either: the connection was only cut. */
	if (r->is_local && !r->is_known && !r->is_plain && result->status == 0)
		r->is_plain = true;
	r->is_known = r->is_known || (is_of_us && !is_tls);
	if (is_tls) {
		r->is_plain = false;
		g->url[0] = '\0';
		send_get(g);
	} else if (result->end != NET_ANSWER) {
		struct err err = result->err;
		if (is_nonsense(g, &err))
			err.code = ERR_UNREACHABLE;
		finish(g, is_cut || result->end == NET_NO_SERVER, &err);
	} else if (g->is_elsewhere && g->order.from > 0) {
		ask_for_all(g);
	} else if (g->is_elsewhere) {
		finish_status(g);
	} else if (g->status == 200 || g->status == 206) {
		finish(g, false, NULL);
	} else if (g->status >= 301 && g->status <= 308 && g->location[0]) {
		follow(g);
	} else if (g->status == 401 && !g->is_foreign) {
		log_in(g);
	} else if (g->status == 403 && !g->is_foreign) {
		finish_denied(g);
	} else if (g->status == 416 && g->order.from > 0) {
		ask_for_all(g);
	} else {
		finish_status(g);
	}
}

static int start_get(struct remote_get *g, struct err *err)
{
	struct remote *r = g->remote;
	struct net_header headers[3];
	size_t n = 0;
	char range[48];
	if (!g->url[0])
		snprintf(g->url, sizeof g->url, "%s://%s/v2/%s/%s", r->is_plain ? "http" : "https",
			r->host, r->config.at->path, g->part);
	headers[n++] =
		(struct net_header){"Accept", g->order.kind == REMOTE_MANIFEST ? accepted : "*/*"};
	if (r->authorization && !g->is_foreign)
		headers[n++] = (struct net_header){"Authorization", r->authorization};
	if (g->order.from > 0) {
		snprintf(range, sizeof range, "bytes=%llu-", (unsigned long long)g->order.from);
		headers[n++] = (struct net_header){"Range", range};
	}
	buf_clear(&g->said);
	g->status = 0;
	g->is_elsewhere = false;
	g->n_logins = r->n_logins;
	const struct net_request request = {.url = g->url,
		.is_direct = challenge_is_here(g->url),
		.headers = headers,
		.n_headers = n,
		.answer_max_bytes = g->order.max_bytes,
		.connect_ms = CONNECT_MS,
		.idle_ms = IDLE_MS,
		.arg = g,
		.on_headers = on_headers,
		.on_data = on_data,
		.on_done = on_done};
	return net_start(r->net, &request, &g->call, err);
}

static void send_get(struct remote_get *g)
{
	struct err err;
	if (start_get(g, &err) < 0)
		finish(g, false, &err);
}

int remote_get(struct remote_get **out, struct remote *r, const struct remote_order *order,
	struct err *err)
{
	struct remote_get *g = xnew(struct remote_get);
	g->remote = r;
	g->order = *order;
	g->order.name = NULL;
	g->said = BUF_INIT(SAID_BYTES);
	snprintf(g->part, sizeof g->part, "%s/%s",
		order->kind == REMOTE_MANIFEST ? "manifests" : "blobs", order->name);
	g->next = r->gets;
	r->gets = g;
	*out = g;
	int bad = start_get(g, err);
	if (bad < 0)
		drop(g);
	return bad;
}

int remote_open(struct remote **out, const struct remote_config *config, struct err *err)
{
	struct remote *r = xnew(struct remote);
	const char *host = config->at->host;
	*out = NULL;
	r->config = *config;
	int bad = net_open(&r->net, config->loop, err);
	if (bad < 0) {
		free(r);
		return bad;
	}
	if (strcmp(host, hub) == 0)
		host = "registry-1.docker.io";
	snprintf(r->host, sizeof r->host, "%s", host);
	r->is_local = r->is_plain = image_host_is_local(config->at->host);
	*out = r;
	return 0;
}

void remote_close(struct remote *r)
{
	if (!r)
		return;
	for (struct remote_get *g = r->gets, *next; g; g = next) {
		next = g->next;
		drop(g);
	}
	if (r->token)
		net_cancel(r->token);
	buf_wipe(&r->token_text);
	set_authorization(r, NULL);
	net_close(r->net);
	free(r);
}
