/* Requests to the front "open-terminal", as a hostile client writes them: targets, paths, ids,
 * escapes, changes of a text, and output that is cut into entries. The input: the target, NUL, a
 * text, NUL, a target to replace, NUL, its replacement. SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"

#include "base/utf8.h"
#include "serve/openterminal/request.h"

#include <stdlib.h>
#include <string.h>

static void check_path(const char *path, size_t bytes, const char *cwd)
{
	char out[OT_PATH_BYTES], again[OT_PATH_BYTES];
	if (!ot_clean_path(path, bytes, cwd, out))
		return;
	MUST(out[0] == '/' && strlen(out) < OT_PATH_BYTES && utf8_is_valid(out, strlen(out)));
	MUST(!strstr(out, "//") && !strstr(out, "/../") && !strstr(out, "/./"));
	MUST(out[1] == '\0' || out[strlen(out) - 1] != '/');
	MUST(ot_clean_path(out, strlen(out), "/other", again) && strcmp(out, again) == 0);
}

static void check_target(const char *target)
{
	char rest[OT_PATH_BYTES];
	json_t *query = NULL;
	struct err err;
	if (ot_read_query(target, &query, &err) == 0) {
		MUST(json_is_object(query) && json_object_size(query) <= OT_QUERY_MAX);
		json_decref(query);
	}
	if (ot_read_rest(target, "/", rest)) {
		MUST(strlen(rest) < OT_PATH_BYTES && utf8_is_valid(rest, strlen(rest)));
		check_path(rest, strlen(rest), "/home/user");
	}
	(void)ot_is_id(target);
}

static void check_entries(const char *text, size_t bytes, bool is_by_line, size_t tail)
{
	bool is_cut;
	json_t *all = ot_entries(text, bytes, is_by_line, tail, &is_cut);
	MUST(json_is_array(all) && (tail == 0 || json_array_size(all) <= tail));
	MUST(is_cut || bytes == 0 || json_array_size(all) > 0);
	json_decref(all);
}

static void check_text(const uint8_t *data, size_t bytes, const struct ot_change *given)
{
	const char *text = bytes ? (const char *)data : "";
	struct ot_change change = *given;
	struct err err;
	cleanup_buf struct buf plain = BUF_INIT(bytes + 1), changed = BUF_INIT(2 * bytes + 16);
	ot_unescape(&plain, text, bytes);
	MUST(buf_error(&plain) == 0 && plain.bytes <= bytes);
	struct ot_lines lines = ot_find_lines(text, bytes, change.first, change.last);
	MUST(lines.begin <= lines.end && lines.end <= bytes && lines.n <= bytes);
	(void)buf_append(&changed, text, bytes);
	if (ot_change(&changed, &change, &err) == 0)
		MUST(changed.bytes <= 2 * bytes + 16);
	check_entries(text, bytes, false, 0);
	check_entries(text, bytes, true, 1 + bytes % 7);
	check_path(text, bytes, "/home/user");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const uint8_t *target, *text, *from;
	size_t n_target = fuzz_part(&data, &bytes, &target);
	size_t n_text = fuzz_part(&data, &bytes, &text);
	size_t n_from = fuzz_part(&data, &bytes, &from);
	char *copy = fuzz_text(target, n_target);
	struct ot_change change = {.target = n_from ? (const char *)from : "",
		.target_bytes = n_from,
		.replacement = bytes ? (const char *)data : "",
		.replacement_bytes = bytes,
		.first = n_target % 5,
		.last = n_target % 3,
		.is_any_number = n_from % 2};
	check_target(copy);
	check_text(text, n_text, &change);
	free(copy);
	return 0;
}
