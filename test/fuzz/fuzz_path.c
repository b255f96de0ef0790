/* What a box says to the operations path.*, a line each; the lines are also tried as paths. What is
 * accepted has only known members, within bounds. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "api/call/path_message.h"
#include "base/json.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

static void check_path(const char *text)
{
	char path[PATH_BYTES + 1], again[PATH_BYTES + 1];
	struct err err = {0};
	if (strlen(text) > PATH_BYTES)
		return;
	if (path_clean(text, path, &err) < 0) {
		MUST(err.code == ERR_USAGE && err.hint[0] && strlen(text) > PATH_BYTES - 16);
		return;
	}
	MUST(path[0] == '/' && strlen(path) <= PATH_BYTES);
	MUST(!strstr(path, "//") && !strstr(path, "/./") && !strstr(path, "/../"));
	MUST(!path[1] || path[strlen(path) - 1] != '/');
	MUST(path_clean(path, again, &err) == 0 && strcmp(path, again) == 0);
}

static void check_entry(const json_t *entry)
{
	static const char *const known[] = {"name", "path", "type", "size", "mode", "owner",
		"group", "uid", "gid", "modified_ms", "modified_ns", "link", "link_mode", "inexact",
		"attributes"};
	json_t *value, *all = json_unconst(entry);
	const char *key;
	json_object_foreach(all, key, value)
	{
		size_t n = 0;
		while (n < ARRAY_LEN(known) && strcmp(known[n], key) != 0)
			n++;
		MUST(n < ARRAY_LEN(known));
		MUST(!json_is_integer(value) || json_integer_value(value) >= 0);
		MUST(json_string_length(value) <= 16384);
	}
	MUST(json_get_text(entry, "path")[0] == '/' && json_get_text(entry, "name")[0]);
	MUST(json_get_int(entry, "mode") <= 07777);
}

static void check_said(const char *line, size_t bytes)
{
	struct err err = {0};
	json_t *said = path_line(line, bytes);
	json_t *entry = path_entry(said), *event = path_event(said);
	if (entry)
		check_entry(entry);
	if (event)
		MUST(json_object_size(event) <= 4 && json_get_text(event, "event")[0]);
	if (event && json_object_get(event, "entry"))
		check_entry(json_object_get(event, "entry"));
	if (path_error(line, bytes, &err)) {
		MUST(err.msg[0] && utf8_is_valid(err.msg, strlen(err.msg)));
		for (const char *s = err.msg; *s; s++)
			MUST((unsigned char)*s >= ' ' && *s != 0x7f);
		MUST(utf8_is_valid(err.hint, strlen(err.hint)));
	}
	json_decref(entry);
	json_decref(event);
	json_decref(said);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = fuzz_text(data, bytes), *rest = text, *line;
	while ((line = strsep(&rest, "\n"))) {
		check_path(line);
		check_said(line, strlen(line));
	}
	free(text);
	return 0;
}
