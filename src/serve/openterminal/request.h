/* What outsiders write in requests: queries, paths, escapes. Makes no system call.
 * SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>

enum { OT_PATH_BYTES = 4096, OT_ID_BYTES = 256, OT_QUERY_MAX = 64 };

/*
 * Read the query of @target, "/path?a=1&b=2", as {"a": ["1"], "b": ["2"]}. Values that are the word
 * "null" are left out, as clients write it for what they leave out.
 * Errors: ERR_USAGE: over OT_QUERY_MAX values, or one is not text. Owns: the caller decrefs *@out.
 */
int ot_read_query(const char *target, json_t **out, struct err *err);

/* Read the path of @target behind the first @dir, without its escapes, up to the query. Returns:
 * false if it is too long, not text, or has NUL. */
bool ot_read_rest(const char *target, const char *dir, char out[OT_PATH_BYTES]);

/*
 * Write to @out the absolute form of @path, which is relative to @cwd, without ".", ".." and
 * repeated slashes. What is above "/" is "/". Returns: false if it is too long, empty, or has NUL
 * or bytes that are not UTF-8.
 */
bool ot_clean_path(const char *path, size_t bytes, const char *cwd, char out[OT_PATH_BYTES]);

/* Return whether a header is an id: up to OT_ID_BYTES of UTF-8 without control characters. */
bool ot_is_id(const char *text);

/*
 * Append @text to @out with its escape sequences as what they stand for: \n, \x03, \u00e9, \033 and
 * the others of Python's texts. Models write them. What is no sequence stays as it is.
 */
void ot_unescape(struct buf *out, const char *text, size_t bytes);

/* Lines of a text: where they begin and end in it, in bytes; and how many the whole text has. */
struct ot_lines {
	size_t begin, end, n;
};

/* Find the lines @first to @last, from 1; 0: from the beginning, to the end. */
struct ot_lines ot_find_lines(const char *text, size_t bytes, size_t first, size_t last);

/* One piece of `replace_file_content`. */
struct ot_change {
	const char *target, *replacement;
	size_t target_bytes, replacement_bytes;
	size_t first, last; /* lines, from 1; 0: all */
	bool is_any_number;
};

/* Replace in @text, whose maximum length is the limit. Errors: ERR_USAGE: the target is not there,
 * or more than once; ERR_LIMIT. */
int ot_change(struct buf *text, const struct ot_change *change, struct err *err);

/* Cut output of a program into entries {"type": "output", "data"}: of whole lines, each of one line
 * or of many up to 4096 bytes. @tail: keep only the last of them; 0: all. *@is_cut: some were left
 * out. Owns: the caller decrefs. */
json_t *ot_entries(const char *text, size_t bytes, bool is_by_line, size_t tail, bool *is_cut);
