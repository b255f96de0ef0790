/* The sessions of the front "nemo": their names, their list and their end. SPDX-License-Identifier:
 * Apache-2.0 */
#include "base/ascii.h"
#include "base/buf.h"
#include "base/digest.h"
#include "serve/front/inside.h"
#include "serve/front/nemo.h"

#include <stdio.h>
#include <string.h>

enum { ID_DIGEST_BYTES = 48, TARGET_BYTES = 64 << 10, PAGE = 100 };

/* ---- names ---- */

void nemo_name_session(char name[NEMO_NAME_BYTES], const char *id)
{
	char digest[DIGEST_BYTES];
	size_t bytes = strlen(id), n = 0;
	while (n < bytes && (ascii_is_name(id[n]) || strchr(".-=", id[n])))
		n++;
	if (n == bytes && bytes > 0 && bytes <= NEMO_ID_BYTES) {
		snprintf(name, NEMO_NAME_BYTES, NEMO_PREFIX "%s", id);
		return;
	}
	digest_text(digest, id, bytes);
	snprintf(name, NEMO_NAME_BYTES, NEMO_PREFIX "=%.*s", ID_DIGEST_BYTES, digest);
}

/* ---- GET /sessions ---- */

/* Add the rows of a page of session.list to @sessions, by the X-Session-ID. The operator's list has
 * sessions of other owners, too. */
static void add_sessions(json_t *sessions, const json_t *page)
{
	const json_t *row;
	size_t i;
	json_array_foreach(page, i, row)
	{
		const char *name = json_get_text(row, "name");
		int64_t created_ms = json_get_int(row, "created_ms"), used_ms = created_ms;
		if (strncmp(name, NEMO_PREFIX, strlen(NEMO_PREFIX)) != 0 ||
			json_object_get(row, "owner"))
			continue;
		/* A session that ends after idle_ms tells when it was used. */
		if (json_object_get(row, "idle_ms") && json_object_get(row, "expires_ms"))
			used_ms = json_get_int(row, "expires_ms") - json_get_int(row, "idle_ms");
		json_put_new(sessions, name + strlen(NEMO_PREFIX),
			json_need(json_pack("{s:s, s:f, s:f, s:b}", "backend", "ipython", "created",
				(double)created_ms / 1000, "last_used",
				(double)MAX(used_ms, created_ms) / 1000, "alive", 1)));
	}
}

static void on_listed(struct front_call *c, const json_t *result, const struct err *err);

/* Ask for the sessions that were made before @last; NULL: for the newest ones. */
static void ask_page(struct front_call *c, const json_t *last)
{
	json_t *params = json_need(json_pack("{s:i}", "limit", PAGE));
	json_put_shared(params, "before", json_object_get(last, "session"));
	front_operate(c, "session.list", params, on_listed);
}

static void on_listed(struct front_call *c, const json_t *result, const struct err *err)
{
	const json_t *page = json_object_get(result, "sessions");
	size_t n = json_array_size(page);
	if (!result) {
		front_fail(c, err);
		return;
	}
	add_sessions(c->kept, page);
	if (json_get_bool(result, "truncated") && n > 0)
		ask_page(c, json_array_get(page, n - 1));
	else
		front_answer(
			c, 200, json_pack("{s:O, s:s}", "sessions", c->kept, "backend", "ipython"));
}

void nemo_start_list(struct front_call *c)
{
	c->kept = json_need(json_object());
	ask_page(c, NULL);
}

/* ---- DELETE /sessions/ID ---- */

static void on_deleted(struct front_call *c, const json_t *result, const struct err *err)
{
	const char *id = json_string_value(c->kept);
	if (result)
		front_answer(c, 200,
			json_pack("{s:o}", "message",
				json_sprintf("IPython session %s deleted successfully", id)));
	else if (err->code == ERR_NOT_FOUND)
		front_answer(c, 404,
			json_pack("{s:o}", "error",
				json_sprintf("IPython session %s not found", id)));
	else
		front_fail(c, err);
}

/* Append the X-Session-ID in @target, "…/sessions/ID?…", without its percent escapes. */
static void read_id(struct buf *id, const char *target)
{
	static const char directory[] = "/sessions/";
	const char *at = strstr(target, directory);
	if (!at)
		return;
	for (at += strlen(directory); *at && *at != '?';) {
		int high = at[0] == '%' ? ascii_hex_value(at[1]) : -1;
		int low = high >= 0 ? ascii_hex_value(at[2]) : -1;
		char byte = low >= 0 ? (char)(high * 16 + low) : *at;
		buf_append(id, &byte, 1);
		at += low >= 0 ? 3 : 1;
	}
}

void nemo_start_delete(struct front_call *c)
{
	cleanup_buf struct buf id = BUF_INIT(TARGET_BYTES);
	char name[NEMO_NAME_BYTES];
	read_id(&id, c->x ? http_target(c->x) : "");
	if (buf_error(&id) < 0 || id.bytes == 0 || strchr(buf_str(&id), '/') ||
		strlen(buf_str(&id)) != id.bytes) {
		nemo_nothing(c);
		return;
	}
	nemo_name_session(name, buf_str(&id));
	c->kept = json_new_text(buf_str(&id), id.bytes);
	front_operate(
		c, "session.close", json_need(json_pack("{s:s}", "session", name)), on_deleted);
}
