/*
 * The front "jupyter": the REST API of Jupyter Server, and the WebSockets of its kernels. Source:
 * jupyter_server, services/api/api.yaml, and its handlers.
 *
 * A kernel is a session of retort, in a box of its own, whose cells kernel.c runs. It belongs to
 * the principal that has made it; for all others it does not exist.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/jupyter/server.h"

#include "api/operation/principal.h"
#include "base/ascii.h"
#include "base/id.h"
#include "base/utf8.h"
#include "serve/jupyter/inside.h"

#include <stdio.h>
#include <string.h>

#define API_VERSION "2.14.0" /* of Jupyter Server, whose API this is */

static const struct server_spec specs[] = {
	{"python3", "Python 3 in a box (retort)", "python", "python"},
	{"javascript", "JavaScript in a box (retort)", "javascript", "javascript"},
	{"sql", "SQL in a box (retort)", "sql", "sql"},
	{"bash", "shell in a box (retort)", "bash", "shell"},
};

/* ---- requests and answers ---- */

void server_refuse(struct front_call *c, unsigned status, const char *message)
{
	front_answer(c, status,
		json_pack("{s:o, s:n}", "message", json_new_text(message, strlen(message)),
			"reason"));
}

static void fail(struct front_call *c, unsigned status, const struct err *err)
{
	char text[ERR_MSG_BYTES + ERR_HINT_BYTES + 4];
	snprintf(text, sizeof text, "%s%s%s", err->msg, err->hint[0] ? ": " : "", err->hint);
	front_answer(c, status,
		json_pack("{s:o, s:s}", "message", json_new_text(text, strlen(text)), "reason",
			err_word(err->code)));
}

/* Return the path of the request, from @dir on. NULL: the client has gone. */
static const char *find_dir(const struct front_call *c, const char *dir)
{
	const char *target = c->x ? http_target(c->x) : "";
	const char *end = strchr(target, '?'), *at = strstr(target, dir);
	return at && (!end || at < end) ? at : NULL;
}

bool server_read_path(const struct front_call *c, const char *dir, char out[SERVER_PATH_BYTES])
{
	const char *at = find_dir(c, dir);
	size_t n = 0;
	for (at += at ? strlen(dir) : 0; at && *at && *at != '?' && n + 1 < SERVER_PATH_BYTES;) {
		int high = at[0] == '%' ? ascii_hex_value(at[1]) : -1;
		int low = high >= 0 ? ascii_hex_value(at[2]) : -1;
		out[n++] = low >= 0 ? (char)(high * 16 + low) : *at;
		at += low >= 0 ? 3 : 1;
	}
	out[n] = '\0';
	if (n > 0 && out[n - 1] == '/')
		out[--n] = '\0';
	return n + 2 < SERVER_PATH_BYTES && strlen(out) == n && utf8_is_valid(out, n);
}

void server_set_location(const struct front_call *c, const char *dir, const char *id)
{
	char text[2 * SERVER_ID_BYTES + 32];
	if (!c->x)
		return;
	bool is_below = strncmp(http_target(c->x), "/jupyter/", strlen("/jupyter/")) == 0;
	snprintf(text, sizeof text, "%s%s%s", is_below ? "/jupyter" : "", dir, id);
	(void)http_set_header(c->x, "Location", text);
}

void server_make_id(char out[SERVER_ID_BYTES])
{
	unsigned char raw[16];
	char text[2 * sizeof raw + 1];
	id_random(raw, sizeof raw);
	raw[6] = (unsigned char)((raw[6] & 0x0f) | 0x40); /* version 4; source: RFC 9562, 5.4 */
	raw[8] = (unsigned char)((raw[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof raw; i++)
		snprintf(text + 2 * i, 3, "%02x", raw[i]);
	snprintf(out, SERVER_ID_BYTES, "%.8s-%.4s-%.4s-%.4s-%.12s", text, text + 8, text + 12,
		text + 16, text + 20);
}

/* ---- what the server says of itself ---- */

static void start_version(struct front_call *c)
{
	front_answer(c, 200, json_pack("{s:s}", "version", API_VERSION));
}

static void start_status(struct front_call *c)
{
	const struct server *s = server_of(c);
	const char *last = s->started;
	json_int_t n = 0, n_channels = 0;
	for (const struct server_kernel *k = s->kernels; k; k = k->next)
		if (k->is_known && k->context->principal == c->context->principal) {
			n++;
			last = strcmp(k->date, last) > 0 ? k->date : last;
			n_channels += k->n_channels;
		}
	front_answer(c, 200,
		json_pack("{s:s, s:s, s:I, s:I}", "started", s->started, "last_activity", last,
			"kernels", n, "connections", n_channels));
}

static void start_me(struct front_call *c)
{
	const struct principal *p = c->context->principal;
	const char *name = p ? principal_name(p) : "operator";
	json_t *identity = json_pack("{s:s, s:s, s:s, s:s, s:n, s:n}", "username", name, "name",
		name, "display_name", name, "initials", "", "avatar_url", "color");
	front_answer(c, 200, json_pack("{s:o, s:{}}", "identity", identity, "permissions"));
}

/* ---- kernelspecs ---- */

const struct server_spec *server_find_spec(const char *name)
{
	if (!name[0])
		return &specs[0];
	for (size_t i = 0; i < ARRAY_LEN(specs); i++)
		if (strcmp(specs[i].name, name) == 0 || strcmp(specs[i].runtime, name) == 0)
			return &specs[i];
	return NULL;
}

static json_t *spec_json(const struct server_spec *spec)
{
	return json_pack("{s:s, s:{s:[], s:{}, s:s, s:s, s:s, s:{s:b}}, s:{}}", "name", spec->name,
		"spec", "argv", "env", "display_name", spec->shown, "language", spec->language,
		"interrupt_mode", "message", "metadata", "debugger", 0, "resources");
}

static void start_specs(struct front_call *c)
{
	json_t *all = json_need(json_object());
	for (size_t i = 0; i < ARRAY_LEN(specs); i++)
		json_put_new(all, specs[i].name, spec_json(&specs[i]));
	front_answer(c, 200, json_pack("{s:s, s:o}", "default", specs[0].name, "kernelspecs", all));
}

static void start_spec(struct front_call *c)
{
	char name[SERVER_PATH_BYTES];
	bool is_well = server_read_path(c, "/api/kernelspecs/", name);
	const struct server_spec *spec = is_well && name[0] ? server_find_spec(name) : NULL;
	if (spec)
		front_answer(c, 200, spec_json(spec));
	else
		server_refuse(c, 404, "Kernel spec not found");
}

/* ---- the table of routes ---- */

static void nothing(struct front_call *c)
{
	server_refuse(c, 404, "Not Found");
}

static const struct front_row rows[] = {
	{"GET", "/api", start_version},
	{"GET", "/api/status", start_status},
	{"GET", "/api/me", start_me},
	{"GET", "/api/kernelspecs", start_specs},
	{"GET", "/api/kernels", server_start_kernels},
	{"POST", "/api/kernels", server_start_new_kernel},
	{"GET", "/api/sessions", server_start_sessions},
	{"POST", "/api/sessions", server_start_new_session},
	{"GET", "/api/contents", server_start_contents},
	{"GET", "/login", server_start_login_page, .is_open = true},
	{"POST", "/login", server_start_login, .is_open = true, .is_raw = true},
	{"GET", "/api/kernelspecs/", start_spec},
	{"GET", "/api/kernels/", server_start_kernel},
	{"POST", "/api/kernels/", server_start_kernel_action},
	{"DELETE", "/api/kernels/", server_start_kernel_end},
	{"GET", "/api/sessions/", server_start_session},
	{"PATCH", "/api/sessions/", server_start_session_change},
	{"DELETE", "/api/sessions/", server_start_session_end},
	{"GET", "/api/contents/", server_start_contents},
	{"PUT", "/api/contents/", server_start_contents_put},
	{"DELETE", "/api/contents/", server_start_contents_end},
	{NULL, "/", nothing},
};

const struct front_wire front_jupyter = {.name = "jupyter",
	.rows = rows,
	.n_rows = ARRAY_LEN(rows),
	.is_any_type = true,
	.may_be_empty = true,
	.key_query = "token",
	.key_cookie = SERVER_COOKIE,
	.fail = fail,
	.stop = server_stop};
