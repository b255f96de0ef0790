/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/openterminal/request.h"

#include "base/ascii.h"
#include "base/utf8.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

/* FOUND_MAX: more of them would take long, and nobody else is served meanwhile. */
enum { ENTRY_BYTES = 4096, ENTRIES_MAX = 5000, FOUND_MAX = 200000 };

/* Append a part of a URL without its escapes. */
static void add_part(struct buf *out, const char *text, size_t bytes, bool is_query)
{
	for (size_t i = 0; i < bytes; i++) {
		char byte = is_query && text[i] == '+' ? ' ' : text[i];
		int high = byte == '%' && i + 2 < bytes ? ascii_hex_value(text[i + 1]) : -1;
		int low = high >= 0 ? ascii_hex_value(text[i + 2]) : -1;
		if (low >= 0) {
			byte = (char)(high * 16 + low);
			i += 2;
		}
		(void)buf_append(out, &byte, 1);
	}
}

static bool is_text(const struct buf *part)
{
	return buf_error(part) == 0 && !memchr(buf_str(part), 0, part->bytes) &&
		utf8_is_valid(buf_str(part), part->bytes);
}

/* Add one "name=value". Returns: false if it is not text. */
static bool add_pair(json_t *query, const char *pair, size_t bytes)
{
	const char *equals = memchr(pair, '=', bytes);
	size_t n = equals ? (size_t)(equals - pair) : bytes;
	cleanup_buf struct buf name = BUF_INIT(bytes + 1), value = BUF_INIT(bytes + 1);
	add_part(&name, pair, n, true);
	if (equals)
		add_part(&value, equals + 1, bytes - n - 1, true);
	if (!is_text(&name) || !is_text(&value))
		return false;
	if (strcasecmp(buf_str(&value), "null") == 0)
		return true;
	json_t *all = json_object_get(query, buf_str(&name));
	if (!all) {
		all = json_need(json_array());
		json_put_new(query, buf_str(&name), all);
	}
	json_add_text(all, buf_str(&value));
	return true;
}

int ot_read_query(const char *target, json_t **out, struct err *err)
{
	const char *at = strchr(target, '?');
	size_t n = 0;
	*out = json_need(json_object());
	for (at = at ? at + 1 : ""; *at;) {
		size_t bytes = strcspn(at, "&");
		bool is_good = ++n <= OT_QUERY_MAX && add_pair(*out, at, bytes);
		if (!is_good) {
			json_decref(*out);
			*out = NULL;
			return err_set(err, ERR_USAGE,
				n > OT_QUERY_MAX ? "too many values in the query"
						 : "a value of the query is not text");
		}
		at += bytes + (at[bytes] == '&');
	}
	return 0;
}

bool ot_read_rest(const char *target, const char *dir, char out[OT_PATH_BYTES])
{
	size_t end = strcspn(target, "?");
	const char *at = strstr(target, dir);
	cleanup_buf struct buf part = BUF_INIT(OT_PATH_BYTES - 1);
	out[0] = '\0';
	if (!at || at + strlen(dir) > target + end)
		return false;
	at += strlen(dir);
	add_part(&part, at, (size_t)(target + end - at), false);
	if (!is_text(&part))
		return false;
	memcpy(out, buf_str(&part), part.bytes + 1);
	return true;
}

/* ---- paths ---- */

/* Append the parts of @path to @out, which is "" or an absolute path without a "/" at its end. */
static bool add_path(char out[OT_PATH_BYTES], const char *path, size_t bytes)
{
	size_t n = strlen(out);
	for (const char *at = path, *end = path + bytes; at < end;) {
		size_t part = 0;
		while (at + part < end && at[part] != '/')
			part++;
		if (part == 2 && at[0] == '.' && at[1] == '.') {
			while (n > 0 && out[--n] != '/')
				;
			out[n] = '\0';
		} else if (part > 0 && !(part == 1 && at[0] == '.')) {
			if (n + part + 2 > OT_PATH_BYTES)
				return false;
			out[n++] = '/';
			memcpy(out + n, at, part);
			n += part;
			out[n] = '\0';
		}
		at += part + (at + part < end);
	}
	return true;
}

bool ot_clean_path(const char *path, size_t bytes, const char *cwd, char out[OT_PATH_BYTES])
{
	out[0] = '\0';
	if (bytes == 0 || memchr(path, 0, bytes) || !utf8_is_valid(path, bytes))
		return false;
	if (path[0] != '/' && !add_path(out, cwd, strlen(cwd)))
		return false;
	if (!add_path(out, path, bytes))
		return false;
	if (out[0] == '\0')
		memcpy(out, "/", 2);
	return true;
}

bool ot_is_id(const char *text)
{
	size_t n = strlen(text);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 127)
			return false;
	return n > 0 && n <= OT_ID_BYTES && utf8_is_valid(text, n);
}

/* ---- escape sequences ---- */

static void add_character(struct buf *out, uint32_t c)
{
	char text[UTF8_MAX_BYTES];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	for (size_t i = n; i-- > 0; c >>= 6)
		text[i] = (char)(n == 1 ? c : i == 0 ? first[n] | c : 0x80 | (c & 0x3f));
	(void)buf_append(out, text, n);
}

/* Read up to @max digits of @base. Returns: how many there are. */
static size_t read_digits(const char *text, size_t bytes, size_t max, uint32_t base, uint32_t *out)
{
	size_t n = 0;
	*out = 0;
	for (; n < max && n < bytes; n++) {
		int digit = ascii_hex_value(text[n]);
		if (digit < 0 || (uint32_t)digit >= base)
			break;
		*out = *out * base + (uint32_t)digit;
	}
	return n;
}

/* Append what the sequence at @text, a backslash, stands for. Returns: its length; 0: it is none.
 */
static size_t add_sequence(struct buf *out, const char *text, size_t bytes)
{
	static const char names[] = "ntrabfv\\'\"e", values[] = "\n\t\r\a\b\f\v\\'\"\033";
	uint32_t c;
	if (bytes < 2)
		return 0;
	const char *name = memchr(names, text[1], sizeof names - 1);
	size_t want = text[1] == 'x' ? 2 : text[1] == 'u' ? 4 : text[1] == 'U' ? 8 : 0;
	if (name) {
		(void)buf_append(out, &values[name - names], 1);
		return 2;
	}
	if (want > 0) {
		bool is_character = read_digits(text + 2, bytes - 2, want, 16, &c) == want &&
			c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
		if (is_character)
			add_character(out, c);
		return is_character ? 2 + want : 0;
	}
	size_t n = read_digits(text + 1, bytes - 1, 3, 8, &c);
	if (n > 0)
		add_character(out, c);
	return n > 0 ? 1 + n : 0;
}

void ot_unescape(struct buf *out, const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes;) {
		size_t n = text[i] == '\\' ? add_sequence(out, text + i, bytes - i) : 0;
		if (n == 0)
			(void)buf_append(out, text + i, 1);
		i += n ? n : 1;
	}
}

/* ---- lines and changes ---- */

struct ot_lines ot_find_lines(const char *text, size_t bytes, size_t first, size_t last)
{
	struct ot_lines found = {.begin = first <= 1 ? 0 : bytes, .end = bytes};
	size_t line = 1;
	for (size_t at = 0; at < bytes; line++) {
		const char *stop = memchr(text + at, '\n', bytes - at);
		size_t next = stop ? (size_t)(stop - text) + 1 : bytes;
		if (line == first)
			found.begin = at;
		if (line == last)
			found.end = next;
		found.n = line;
		at = next;
	}
	if (found.end < found.begin)
		found.end = found.begin;
	return found;
}

static size_t count(const char *text, size_t bytes, const struct ot_change *change)
{
	size_t n = 0;
	const char *end = text + bytes, *at = text;
	while (n <= FOUND_MAX &&
		(at = memmem(at, (size_t)(end - at), change->target, change->target_bytes))) {
		n++;
		at += change->target_bytes;
	}
	return n;
}

static void add_replaced(
	struct buf *out, const char *text, size_t bytes, const struct ot_change *change)
{
	const char *end = text + bytes, *at = text, *found;
	while ((found = memmem(at, (size_t)(end - at), change->target, change->target_bytes))) {
		(void)buf_append(out, at, (size_t)(found - at));
		(void)buf_append(out, change->replacement, change->replacement_bytes);
		at = found + change->target_bytes;
	}
	(void)buf_append(out, at, (size_t)(end - at));
}

int ot_change(struct buf *text, const struct ot_change *change, struct err *err)
{
	const char *data = buf_str(text);
	if (change->target_bytes == 0)
		return err_set(err, ERR_USAGE, "Target string is empty");
	struct ot_lines lines = ot_find_lines(data, text->bytes, change->first, change->last);
	size_t begin = lines.begin, end = lines.end;
	size_t n = count(data + begin, end - begin, change);
	if (n == 0)
		return err_set(err, ERR_USAGE, "Target string not found: '%.*s'",
			(int)utf8_cut(change->target, change->target_bytes, 100), change->target);
	if (n > 1 && !change->is_any_number)
		return err_set(err, ERR_USAGE,
			"Found %zu occurrences of target string but allow_multiple is false", n);
	if (n > FOUND_MAX)
		return err_set(err, ERR_USAGE,
			"Found over %d occurrences of target string: replace them with a program",
			FOUND_MAX);
	struct buf out = BUF_INIT(text->max_bytes);
	(void)buf_append(&out, data, begin);
	add_replaced(&out, data + begin, end - begin, change);
	(void)buf_append(&out, data + end, text->bytes - end);
	buf_done(text);
	*text = out;
	return buf_error(text) < 0
		? err_set(err, ERR_LIMIT, "the file would be over %zu MiB", text->max_bytes >> 20)
		: 0;
}

/* ---- output ---- */

json_t *ot_entries(const char *text, size_t bytes, bool is_by_line, size_t tail, bool *is_cut)
{
	cleanup_json json_t *back = json_need(json_array()); /* last one first */
	json_t *all = json_need(json_array());
	size_t max = tail > 0 && tail < ENTRIES_MAX ? tail : ENTRIES_MAX;
	*is_cut = false;
	for (size_t end = bytes; end > 0 && !*is_cut;) {
		/* Go back by whole lines, but not so far that the entry becomes too long. */
		size_t begin = end;
		do {
			const char *stop = begin > 1 ? memrchr(text, '\n', begin - 1) : NULL;
			size_t line = stop ? (size_t)(stop - text) + 1 : 0;
			if (begin < end && end - line > ENTRY_BYTES)
				break;
			begin = line;
		} while (begin > 0 && !is_by_line && end - begin < ENTRY_BYTES);
		json_add_new(back,
			json_pack("{s:s, s:o}", "type", "output", "data",
				json_new_text(text + begin, end - begin)));
		end = begin;
		*is_cut = end > 0 && json_array_size(back) >= max;
	}
	for (size_t i = json_array_size(back); i-- > 0;)
		json_add_shared(all, json_array_get(back, i));
	return all;
}
