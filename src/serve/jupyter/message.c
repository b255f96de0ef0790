/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/jupyter/message.h"

#include "api/text/json.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static const char *const part_names[SIGNED_PARTS] = {
	"header", "parent header", "metadata", "content"};

/* ---- reading ---- */

static bool is_delimiter(const struct signed_part *frame)
{
	return frame->bytes == strlen(JUPYTER_DELIMITER) &&
		memcmp(frame->data, JUPYTER_DELIMITER, frame->bytes) == 0;
}

/* Read the identities before the delimiter. */
static int read_route(struct jupyter_route *route, const struct signed_part *frames,
	size_t n_frames, struct err *err)
{
	size_t n = 0;
	while (n < n_frames && !is_delimiter(&frames[n]))
		n++;
	if (n == n_frames)
		return err_set(err, ERR_PROTOCOL, "frames without " JUPYTER_DELIMITER);
	if (n > JUPYTER_IDS)
		return err_set(err, ERR_LIMIT, "%zu identities, limit %d", n, JUPYTER_IDS);
	for (size_t i = 0; i < n; i++) {
		if (frames[i].bytes == 0 || frames[i].bytes > JUPYTER_ID_BYTES)
			return err_set(err, ERR_LIMIT, "an identity of %zu bytes, limit %d",
				frames[i].bytes, JUPYTER_ID_BYTES);
		memcpy(route->data[i], frames[i].data, frames[i].bytes);
		route->bytes[i] = (unsigned char)(frames[i].bytes - 1);
	}
	route->n = n;
	return 0;
}

static int read_part(
	json_t **out, const struct signed_part *part, const char *name, struct err *err)
{
	json_error_t why;
	size_t n_values = json_parts(part->data, part->bytes);
	if (n_values > JUPYTER_VALUES)
		return err_set(
			err, ERR_LIMIT, "%s: %zu values, limit %d", name, n_values, JUPYTER_VALUES);
	*out = json_loadb(part->data, part->bytes, JSON_ALLOW_NUL, &why);
	if (!*out)
		return err_set(err, ERR_PROTOCOL, "%s: not JSON: %.100s", name, why.text);
	return json_is_object(*out) ? 0 : err_set(err, ERR_PROTOCOL, "%s: not an object", name);
}

/* Return a member of the header that names something; NULL if it cannot be a name. */
static const char *name_of(const json_t *header, const char *member)
{
	const json_t *value = json_object_get(header, member);
	const char *text = json_string_value(value);
	size_t bytes = json_string_length(value);
	return text && bytes > 0 && bytes <= JUPYTER_NAME_BYTES && strlen(text) == bytes ? text
											 : NULL;
}

static int check_names(struct jupyter_message *m, struct err *err)
{
	m->type = name_of(m->header, "msg_type");
	m->id = name_of(m->header, "msg_id");
	return m->type && m->id
		? 0
		: err_set(err, ERR_PROTOCOL, "header: msg_id and msg_type are missing or no names");
}

static int read_parts(struct jupyter_message *m, const struct signed_part *parts, struct err *err)
{
	json_t **const places[] = {&m->header, &m->parent, &m->metadata, &m->content};
	size_t bytes = 0;
	int r = 0;
	for (int i = 0; i < SIGNED_PARTS; i++)
		bytes += MIN(parts[i].bytes, (size_t)JUPYTER_TEXT_BYTES + 1);
	if (bytes > JUPYTER_TEXT_BYTES)
		return err_set(err, ERR_LIMIT, "a message over %d MiB", JUPYTER_TEXT_BYTES >> 20);
	m->bytes = bytes;
	for (int i = 0; r == 0 && i < SIGNED_PARTS; i++)
		r = read_part(places[i], &parts[i], part_names[i], err);
	return r < 0 ? r : check_names(m, err);
}

int jupyter_read(struct jupyter_message *out, struct signer *signer,
	const struct signed_part *frames, size_t n_frames, struct err *err)
{
	struct jupyter_message m = {.type = NULL};
	int r = read_route(&m.route, frames, n_frames, err);
	if (r < 0)
		return r;
	const struct signed_part *rest = frames + m.route.n + 1; /* the signature */
	size_t n = n_frames - m.route.n - 1;
	if (n < 1 + SIGNED_PARTS)
		return err_set(err, ERR_PROTOCOL, "%zu frames after " JUPYTER_DELIMITER, n);
	m.n_buffers = n - 1 - SIGNED_PARTS;
	if ((r = signer_check(signer, rest + 1, rest, err)) < 0)
		return r;
	if ((r = read_parts(&m, rest + 1, err)) < 0) {
		jupyter_done(&m);
		return r;
	}
	*out = m;
	return 0;
}

int jupyter_read_parts(
	struct jupyter_message *out, const struct signed_part parts[SIGNED_PARTS], struct err *err)
{
	struct jupyter_message m = {.type = NULL};
	int r = read_parts(&m, parts, err);
	if (r < 0)
		jupyter_done(&m);
	else
		*out = m;
	return r;
}

int jupyter_read_object(
	struct jupyter_message *out, const json_t *object, size_t bytes, struct err *err)
{
	static const char *const members[SIGNED_PARTS] = {
		"header", "parent_header", "metadata", "content"};
	struct jupyter_message m = {.bytes = bytes};
	json_t **const places[] = {&m.header, &m.parent, &m.metadata, &m.content};
	int r = 0;
	for (int i = 0; r == 0 && i < SIGNED_PARTS; i++) {
		json_t *part = json_object_get(object, members[i]);
		bool is_missing = !part || json_is_null(part);
		if (!is_missing && !json_is_object(part))
			r = err_set(err, ERR_PROTOCOL, "%s: not an object", part_names[i]);
		else
			*places[i] = is_missing ? json_need(json_object()) : json_incref(part);
	}
	if (r == 0)
		r = check_names(&m, err);
	if (r < 0)
		jupyter_done(&m);
	else
		*out = m;
	return r;
}

void jupyter_done(struct jupyter_message *m)
{
	json_decref(m->header);
	json_decref(m->parent);
	json_decref(m->metadata);
	json_decref(m->content);
	m->header = m->parent = m->metadata = m->content = NULL;
	m->type = m->id = NULL;
}

/* ---- writing ---- */

json_t *jupyter_header(const char *type, const char *id, const char *session, const char *date)
{
	return json_need(json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "msg_id", id, "msg_type", type,
		"username", "kernel", "session", session, "date", date, "version",
		JUPYTER_VERSION));
}

int jupyter_write(struct jupyter_text *out, const struct signer *signer,
	const json_t *const parts[SIGNED_PARTS], struct err *err)
{
	struct jupyter_text text = {.signature = ""};
	struct signed_part frames[SIGNED_PARTS];
	for (int i = 0; i < SIGNED_PARTS; i++) {
		text.parts[i] = parts[i] ? json_text(parts[i], JSON_COMPACT) : strdup("{}");
		if (!text.parts[i]) {
			jupyter_text_done(&text);
			return err_set(err, ERR_NO_MEMORY, "no memory for a message");
		}
		text.bytes[i] = strlen(text.parts[i]);
		frames[i] = (struct signed_part){text.parts[i], text.bytes[i]};
	}
	signer_sign(signer, frames, text.signature);
	*out = text;
	return 0;
}

void jupyter_text_done(struct jupyter_text *text)
{
	for (int i = 0; i < SIGNED_PARTS; i++)
		free(take_ptr(text->parts[i]));
}
