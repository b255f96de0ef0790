/*
 * The files by id of the front "librechat".
 *
 * All files that a caller stores in the same hour are in the workspace of one session of the
 * caller, whose runtime is the smallest, at STORAGE/FILE/NAME: STORAGE is the id of the storage
 * session, which begins with the number of the hour, and FILE that of the file, whose first
 * character says whether programs may change the file. So nothing but sessions is kept: rights and
 * quotas are those of sessions, a file is found by its ids alone, and goes away when its session
 * has not been used for LIFE_MS. One session for each storage session would be simpler, but a
 * program that makes a file would leave a box behind.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ascii.h"
#include "base/id.h"
#include "base/utf8.h"
#include "serve/front/inside.h"
#include "serve/front/librechat.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define PREFIX "librechat-"

enum {
	HOUR_S = 3600,
	HOUR_CHARACTERS = 6,
	LIFE_MS = 24 * HOUR_S * 1000,
	NAME_MAX_BYTES = 256,
	DEPTH_MAX = 10,
	PATH_MAX_BYTES = 2 * LIBRE_ID_BYTES + NAME_MAX_BYTES
};

/* ---- ids and names ---- */

void libre_make_storage(char id[LIBRE_ID_BYTES])
{
	char hour[HOUR_CHARACTERS + 1];
	snprintf(hour, sizeof hour, "%06x", (unsigned)(time(NULL) / HOUR_S) & 0xffffff);
	id_make(id, LIBRE_ID_BYTES, hour);
}

void libre_make_file(char id[LIBRE_ID_BYTES], bool is_read_only)
{
	id_make(id, LIBRE_ID_BYTES, is_read_only ? "r" : "f");
}

bool libre_is_read_only(const char *file)
{
	return file[0] == 'r';
}

bool libre_is_id(const char *text)
{
	size_t n = 0;
	while (ascii_is_name(text[n]) || text[n] == '-')
		n++;
	return text[n] == '\0' && n == LIBRE_ID_BYTES - 1;
}

const char *libre_wrong_name(const char *name, size_t bytes)
{
	unsigned depth = 0;
	if (bytes == 0 || bytes > NAME_MAX_BYTES)
		return "must not be empty, nor longer than 256 bytes";
	if (memchr(name, '\0', bytes) || memchr(name, '\\', bytes) || !utf8_is_valid(name, bytes))
		return "contains invalid path characters";
	for (const char *at = name; at <= name + bytes; depth++) {
		size_t n = strcspn(at, "/");
		if (n == 0 || (n <= 2 && strspn(at, ".") >= n))
			return "must be a relative path without empty, current or parent segments";
		at += n + 1;
	}
	return depth > DEPTH_MAX ? "exceeds the maximum nesting depth of 10" : NULL;
}

const char *libre_split(const char *path, char file[LIBRE_ID_BYTES])
{
	size_t n = LIBRE_ID_BYTES - 1;
	file[0] = '\0';
	if (strlen(path) < 2 * n + 3 || path[n] != '/' || path[2 * n + 1] != '/')
		return "";
	snprintf(file, LIBRE_ID_BYTES, "%s", path + n + 1);
	return path + 2 * n + 2;
}

/* ---- operations on the session of an hour ---- */

static void name_session(char name[LIBRE_NAME_BYTES], const char *storage)
{
	snprintf(name, LIBRE_NAME_BYTES, PREFIX "%.*s", HOUR_CHARACTERS, storage);
}

void libre_operate(struct front_call *c, const char *operation, const char *path, json_t *params,
	void (*answered)(struct front_call *c, const json_t *result, const struct err *err))
{
	char session[LIBRE_NAME_BYTES];
	name_session(session, path);
	json_put_text(params, "session", session);
	json_put_text(params, "path", path);
	front_operate(c, operation, params, answered);
}

void libre_find(struct front_call *c, const char *storage, const char *file,
	void (*found)(struct front_call *c, const json_t *result, const struct err *err))
{
	char path[2 * LIBRE_ID_BYTES];
	struct err err;
	if (!libre_is_id(storage) || (file && !libre_is_id(file))) {
		(void)err_set(&err, ERR_NOT_FOUND, "there is no such file");
		found(c, NULL, &err);
		return;
	}
	snprintf(path, sizeof path, "%s%s%s", storage, file ? "/" : "", file ? file : "");
	libre_operate(c, "file.list", path, json_need(json_object()), found);
}

/* ---- saving ---- */

static void save_next(struct front_call *c);

static json_t *row_at_hand(struct front_call *c)
{
	size_t at = (size_t)json_get_int(c->kept, "at");
	return json_array_get(json_object_get(c->kept, "save"), at);
}

static void go_on(struct front_call *c)
{
	json_t *row = row_at_hand(c);
	(void)json_object_del(row, "content");
	json_put_int(c->kept, "at", json_get_int(c->kept, "at") + 1);
	save_next(c);
}

static void say_failed(json_t *row, const struct err *err)
{
	json_put_text(row, "error", err->msg);
	json_put_int(row, "code", err->code);
}

static void on_created(struct front_call *c, const json_t *session, const struct err *err)
{
	/* ERR_USAGE: another request has made the session in the meantime. */
	if (session || err->code == ERR_USAGE) {
		save_next(c);
		return;
	}
	say_failed(row_at_hand(c), err);
	go_on(c);
}

static void create(struct front_call *c)
{
	char name[LIBRE_NAME_BYTES];
	name_session(name, json_get_text(c->kept, "storage"));
	json_t *params = json_need(
		json_pack("{s:s, s:s, s:i}", "name", name, "runtime", "shell", "idle_ms", LIFE_MS));
	front_box(c, params, false);
	front_operate(c, "session.create", params, on_created);
}

static void on_saved(struct front_call *c, const json_t *result, const struct err *err)
{
	bool is_tried = json_get_bool(c->kept, "is_made");
	if (!result && err->code == ERR_NOT_FOUND && !is_tried) {
		json_put_bool(c->kept, "is_made", true);
		create(c);
		return;
	}
	if (!result)
		say_failed(row_at_hand(c), err);
	go_on(c);
}

static void save_next(struct front_call *c)
{
	char path[PATH_MAX_BYTES];
	const json_t *row = row_at_hand(c);
	if (!row && json_get_int(c->kept, "then") == LIBRE_RAN) {
		libre_ran(c);
	} else if (!row) {
		libre_uploaded(c);
	} else if (json_object_get(row, "error")) {
		go_on(c);
	} else {
		json_t *params = json_need(json_object());
		snprintf(path, sizeof path, "%s/%s/%s", json_get_text(c->kept, "storage"),
			json_get_text(row, "id"), json_get_text(row, "name"));
		json_put_shared(params, "content", json_object_get(row, "content"));
		json_put_shared(params, "encoding", json_object_get(row, "encoding"));
		libre_operate(c, "file.write", path, params, on_saved);
	}
}

void libre_save(struct front_call *c)
{
	json_put_int(c->kept, "at", 0);
	save_next(c);
}
