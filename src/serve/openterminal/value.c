/* Values of requests to the front "open-terminal". SPDX-License-Identifier: Apache-2.0 */
#include "serve/openterminal/inside.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

json_t *ot_params(const struct front_call *c)
{
	return json_need(json_pack("{s:s}", "session", json_get_text(c->kept, "session")));
}

bool ot_is_left(struct front_call *c)
{
	if (c->x)
		return false;
	(void)front_take(c);
	return true;
}

const char *ot_query(const struct front_call *c, const char *name)
{
	const json_t *all = json_object_get(json_object_get(c->kept, "query"), name);
	return json_string_value(json_array_get(all, 0));
}

bool ot_query_number(struct front_call *c, const char *name, double min, double max, double *out)
{
	const char *text = ot_query(c, name);
	char *end, message[80];
	if (!text)
		return true;
	double value = strtod(text, &end);
	if (*text && !*end && isfinite(value) && value >= min && value <= max) {
		*out = value;
		return true;
	}
	snprintf(message, sizeof message, "Input should be a number from %.0f to %.0f", min, max);
	ot_invalid(c, "query", name, message);
	return false;
}

bool ot_query_flag(struct front_call *c, const char *name, bool *out)
{
	static const char *const words[] = {"false", "true", "0", "1", "no", "yes", "off", "on"};
	const char *text = ot_query(c, name);
	if (!text)
		return true;
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcasecmp(words[i], text) == 0) {
			*out = i % 2;
			return true;
		}
	ot_invalid(c, "query", name, "Input should be a valid boolean");
	return false;
}

/* Make a path of a request absolute. */
static bool take_path(struct front_call *c, const char *where, const char *name,
	const json_t *value, char out[OT_PATH_BYTES])
{
	if (ot_clean_path(json_string_value(value), json_string_length(value),
		    json_get_text(c->kept, "cwd"), out))
		return true;
	ot_invalid(c, where, name, "Input should be a path of up to 4095 bytes");
	return false;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): it is written */
bool ot_query_path(
	struct front_call *c, const char *name, const char *fallback, char out[OT_PATH_BYTES])
{
	const char *text = ot_query(c, name);
	if (!text && !fallback) {
		ot_invalid(c, "query", name, "Field required");
		return false;
	}
	cleanup_json json_t *value = json_need(json_string(text ? text : fallback));
	return take_path(c, "query", name, value, out);
}

void ot_at_home(struct front_call *c)
{
	json_put_text(c->kept, "cwd", OT_HOME);
}

const char *ot_body_text(struct front_call *c, const char *name)
{
	const json_t *value = json_object_get(c->body, name);
	if (json_is_string(value))
		return json_string_value(value);
	ot_invalid(c, "body", name, value ? "Input should be a valid string" : "Field required");
	return NULL;
}

bool ot_body_path(struct front_call *c, const char *name, char out[OT_PATH_BYTES])
{
	return ot_body_text(c, name) &&
		take_path(c, "body", name, json_object_get(c->body, name), out);
}

/* ---- media types ---- */

static const struct {
	const char *ending, *type;
} types[] = {
	{"avif", "image/avif"},
	{"bmp", "image/bmp"},
	{"css", "text/css; charset=utf-8"},
	{"csv", "text/csv; charset=utf-8"},
	{"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
	{"gif", "image/gif"},
	{"gz", "application/gzip"},
	{"htm", "text/html; charset=utf-8"},
	{"html", "text/html; charset=utf-8"},
	{"ico", "image/vnd.microsoft.icon"},
	{"ipynb", "application/x-ipynb+json"},
	{"jpeg", "image/jpeg"},
	{"jpg", "image/jpeg"},
	{"js", "text/javascript; charset=utf-8"},
	{"json", "application/json"},
	{"md", "text/markdown; charset=utf-8"},
	{"mjs", "text/javascript; charset=utf-8"},
	{"mp3", "audio/mpeg"},
	{"mp4", "video/mp4"},
	{"ogg", "audio/ogg"},
	{"pdf", "application/pdf"},
	{"png", "image/png"},
	{"pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"},
	{"py", "text/x-python; charset=utf-8"},
	{"sh", "text/x-sh; charset=utf-8"},
	{"svg", "image/svg+xml"},
	{"tar", "application/x-tar"},
	{"tif", "image/tiff"},
	{"tiff", "image/tiff"},
	{"tsv", "text/tab-separated-values; charset=utf-8"},
	{"txt", "text/plain; charset=utf-8"},
	{"wasm", "application/wasm"},
	{"wav", "audio/x-wav"},
	{"webm", "video/webm"},
	{"webp", "image/webp"},
	{"xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
	{"xml", "text/xml; charset=utf-8"},
	{"zip", "application/zip"},
};

const char *ot_type(const char *path)
{
	const char *name = strrchr(path, '/'), *dot = strrchr(name ? name : path, '.');
	for (size_t i = 0; dot && i < ARRAY_LEN(types); i++)
		if (strcasecmp(types[i].ending, dot + 1) == 0)
			return types[i].type;
	return "application/octet-stream";
}
