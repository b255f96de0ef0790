/* SPDX-License-Identifier: Apache-2.0 */
#include "api/call/path_message.h"

#include "base/json.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

#define HOME "/home/user"

/* Bounds of texts: a byte that is not UTF-8 becomes a character of three. */
enum {
	NAME_TEXT_BYTES = 3 * 255,
	PATH_TEXT_BYTES = 3 * (PATH_BYTES + 256),
	OWNER_TEXT_BYTES = 3 * 64,
	ATTRIBUTES_MAX = 64,
	KEY_TEXT_BYTES = 3 * 255,
	VALUE_TEXT_BYTES = 3 * 4096,
	MODE_MAX = 07777,
	ID_MAX = 0x7fffffff,
	NS_MAX = 999999,
};

/* ---- paths ---- */

int path_clean(const char *path, char out[PATH_BYTES + 1], struct err *err)
{
	char whole[sizeof HOME + 1 + PATH_BYTES + 1];
	bool is_home = path[0] == '~' && (path[1] == '/' || !path[1]);
	size_t n = 0;
	snprintf(whole, sizeof whole, "%s%s%s", path[0] == '/' ? "" : HOME,
		is_home || path[0] == '/' ? "" : "/", is_home ? path + 1 : path);
	for (const char *at = whole; *at;) {
		at += strspn(at, "/");
		size_t bytes = strcspn(at, "/");
		if (bytes == 2 && memcmp(at, "..", 2) == 0) {
			while (n > 0 && out[--n] != '/')
				;
		} else if (bytes > 0 && !(bytes == 1 && at[0] == '.')) {
			if (n + 1 + bytes > PATH_BYTES)
				return err_fail(err, ERR_USAGE, "choose a shorter one",
					"%.100s…: over %d bytes", path, PATH_BYTES);
			out[n++] = '/';
			memcpy(out + n, at, bytes);
			n += bytes;
		}
		at += bytes;
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return 0;
}

/* ---- what the program says ---- */

json_t *path_line(const char *line, size_t bytes)
{
	json_t *said = bytes <= PATH_LINE_BYTES
		? json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL)
		: NULL;
	if (json_is_object(said))
		return said;
	json_decref(said);
	return NULL;
}

static bool is_one_of(const char *word, const char *const *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(words[i], word) == 0)
			return true;
	return false;
}

/* Members of an entry. */
static const struct member {
	const char *name;
	json_type type;
	int64_t max; /* of the bytes of a text, or of a number */
	bool is_needed;
} members[] = {
	{"name", JSON_STRING, NAME_TEXT_BYTES, true},
	{"path", JSON_STRING, PATH_TEXT_BYTES, true},
	{"type", JSON_STRING, NAME_BYTES, true},
	{"size", JSON_INTEGER, INT64_MAX, true},
	{"mode", JSON_INTEGER, MODE_MAX, true},
	{"owner", JSON_STRING, OWNER_TEXT_BYTES, true},
	{"group", JSON_STRING, OWNER_TEXT_BYTES, true},
	{"uid", JSON_INTEGER, UINT32_MAX, true},
	{"gid", JSON_INTEGER, UINT32_MAX, true},
	{"modified_ms", JSON_INTEGER, INT64_MAX, true},
	{"modified_ns", JSON_INTEGER, NS_MAX, true},
	{"link", JSON_STRING, PATH_TEXT_BYTES, false},
	{"link_mode", JSON_INTEGER, MODE_MAX, false},
	{"inexact", JSON_TRUE, 0, false},
};

static bool is_good(const struct member *m, const json_t *value)
{
	if (!value)
		return !m->is_needed;
	if (json_typeof(value) != m->type)
		return false;
	if (m->type == JSON_STRING)
		return json_string_length(value) <= (size_t)m->max &&
			strlen(json_string_value(value)) == json_string_length(value);
	int64_t number = json_integer_value(value);
	return m->type != JSON_INTEGER || (number >= 0 && number <= m->max);
}

static bool are_attributes_good(const json_t *said)
{
	const char *key;
	json_t *value, *all = json_unconst(said);
	if (!said)
		return true;
	if (!json_is_object(said) || json_object_size(said) > ATTRIBUTES_MAX)
		return false;
	json_object_foreach(all, key, value) if (strlen(key) > KEY_TEXT_BYTES ||
		!json_is_string(value) ||
		json_string_length(value) > VALUE_TEXT_BYTES) return false;
	return true;
}

json_t *path_entry(const json_t *said)
{
	static const char *const types[] = {"file", "directory", "link", "other"};
	const json_t *attributes = json_object_get(said, "attributes");
	json_t *entry = json_need(json_object());
	bool is_right = json_is_object(said) && are_attributes_good(attributes) &&
		is_one_of(json_get_text(said, "type"), types, ARRAY_LEN(types));
	for (size_t i = 0; is_right && i < ARRAY_LEN(members); i++) {
		const json_t *value = json_object_get(said, members[i].name);
		is_right = is_good(&members[i], value);
		json_put_shared(entry, members[i].name, value);
	}
	json_put_shared(entry, "attributes", attributes);
	is_right = is_right && json_get_text(entry, "path")[0] == '/' &&
		json_get_text(entry, "name")[0];
	if (is_right)
		return entry;
	json_decref(entry);
	return NULL;
}

json_t *path_event(const json_t *said)
{
	static const char *const types[] = {"create", "write", "remove", "rename", "chmod"};
	const char *event = json_get_text(said, "event"), *type = json_get_text(said, "type");
	const char *name = json_get_text(said, "name");
	const json_t *about = json_object_get(said, "entry");
	if (strcmp(event, "watching") == 0 || strcmp(event, "missed") == 0)
		return json_need(json_pack("{s:s}", "event", event));
	json_t *entry = about ? path_entry(about) : NULL;
	bool is_right = strcmp(event, "change") == 0 && is_one_of(type, types, ARRAY_LEN(types)) &&
		name[0] && strlen(name) <= PATH_TEXT_BYTES && !about == !entry;
	if (!is_right) {
		json_decref(entry);
		return NULL;
	}
	json_t *out = json_need(json_object());
	json_put_text(out, "event", "change");
	json_put_text(out, "name", name);
	json_put_text(out, "type", type);
	json_put_new(out, "entry", entry);
	return out;
}

/* Copy a text of the program so that no terminal interprets it. */
static void put_shown(char *out, size_t room, const char *text)
{
	cleanup_buf struct buf shown = BUF_INIT(16 * ERR_MSG_BYTES);
	size_t bytes = strnlen(text, ERR_MSG_BYTES);
	(void)utf8_escape_terminal(&shown, text, bytes, UTF8_ONE_LINE);
	size_t n = utf8_cut(buf_str(&shown), shown.bytes, room - 1);
	memcpy(out, buf_str(&shown), n);
	out[n] = '\0';
}

bool path_error(const char *line, size_t bytes, struct err *err)
{
	static const enum err_code codes[] = {ERR_NOT_FOUND, ERR_ACCESS, ERR_USAGE, ERR_NO_SPACE,
		ERR_LIMIT, ERR_IO, ERR_NO_MEMORY};
	cleanup_json json_t *said = path_line(line, bytes);
	char message[ERR_MSG_BYTES], hint[ERR_HINT_BYTES];
	put_shown(message, sizeof message, json_get_text(said, "message"));
	put_shown(hint, sizeof hint, json_get_text(said, "hint"));
	for (size_t i = 0; message[0] && i < ARRAY_LEN(codes); i++) {
		if (strcmp(err_word(codes[i]), json_get_text(said, "code")) != 0)
			continue;
		/* The box had no memory, not the host. */
		enum err_code code = codes[i] == ERR_NO_MEMORY ? ERR_LIMIT : codes[i];
		(void)err_set(err, code, "%s", message);
		if (hint[0])
			(void)err_hint(err, "%s", hint);
		return true;
	}
	return false;
}
