/* Questions about code that is being typed: completion, help, is it complete?
 * SPDX-License-Identifier: Apache-2.0 */
#include "api/text/magic.h"
#include "api/text/statement.h"
#include "base/ascii.h"
#include "base/attr.h"
#include "base/utf8.h"
#include "serve/jupyter/inside.h"

#include <string.h>

/* ASKED_CHARS: how much of the text before the cursor drivers look at. */
enum { ASKED_BYTES = 16 << 10, TAB = 4 };

/* Code with a cursor. */
struct asked_code {
	const char *code;
	size_t bytes, at; /* the cursor, in bytes */
	int64_t cursor;	  /* the cursor, in characters */
};

/* Find the byte at which character @n begins; the end if there are less. */
static size_t byte_of(const char *text, size_t bytes, int64_t n)
{
	size_t at = 0;
	int32_t character;
	for (int64_t i = 0; i < n && at < bytes; i++)
		at += utf8_decode(text + at, bytes - at, &character);
	return at;
}

/* Read code and cursor of a request. A text with NUL ends there. */
static struct asked_code asked_of(const json_t *content)
{
	const json_t *cursor = json_object_get(content, "cursor_pos");
	struct asked_code p = {.code = json_get_text(content, "code")};
	p.bytes = strlen(p.code);
	p.at = json_is_integer(cursor) ? byte_of(p.code, p.bytes, json_integer_value(cursor))
				       : p.bytes;
	p.cursor = (int64_t)utf8_count(p.code, p.at);
	return p;
}

/* Return the text before the cursor, of which drivers need the end. Owns: the caller decrefs. */
static json_t *text_before(const struct asked_code *p)
{
	size_t from = p->at > ASKED_BYTES ? p->at - ASKED_BYTES : 0;
	while (from > 0 && from < p->at && ((unsigned char)p->code[from] & 0xc0) == 0x80)
		from++;
	return json_new_text(p->code + from, p->at - from);
}

/* ---- completion ---- */

/* Return how many bytes at the end of the text before the cursor are the beginning of @name. */
static size_t typed_of(const struct asked_code *p, const char *name)
{
	size_t n = MIN(strlen(name), p->at);
	while (n > 0 && strncmp(p->code + p->at - n, name, n) != 0)
		n--;
	return n;
}

/* Reply with @names, of which those are shown that continue what was typed. */
static void give_names(struct kernel *k, const json_t *names)
{
	const struct asked_code p = asked_of(k->current->m.content);
	json_t *matches = json_need(json_array());
	const json_t *name;
	size_t i, typed = 0;
	json_array_foreach(names, i, name)
	{
		size_t n = json_is_string(name) ? typed_of(&p, json_string_value(name)) : 0;
		typed = MAX(typed, n);
	}
	json_array_foreach(names, i, name)
	{
		if (json_is_string(name) && typed_of(&p, json_string_value(name)) == typed)
			json_add_shared(matches, name);
	}
	int64_t n_typed = (int64_t)utf8_count(p.code + p.at - typed, typed);
	kernel_reply(k, k->current, "complete_reply",
		json_pack("{s:s, s:o, s:I, s:I, s:{}}", "status", "ok", "matches", matches,
			"cursor_start", (json_int_t)(p.cursor - n_typed), "cursor_end",
			(json_int_t)p.cursor, "metadata"),
		NULL);
	kernel_end(k);
}

/* A session that is busy or gone completes nothing. */
static void on_completed(struct kernel *k, const json_t *result, const struct err *err attr_unused)
{
	give_names(k, json_object_get(result, "names"));
}

/* Return the names of our own commands with their %, if the line of the cursor begins with one. */
static json_t *command_names(const struct kernel *k, const struct asked_code *p)
{
	const char *line = p->code + p->at;
	while (line > p->code && line[-1] != '\n')
		line--;
	size_t bytes = p->at - (size_t)(line - p->code);
	if (bytes == 0 || line[0] != '%' || memchr(line, ' ', bytes) || memchr(line, '\t', bytes))
		return NULL;
	cleanup_json json_t *plain = magic_names(MAGIC_END_, NULL);
	json_t *names = json_need(json_array());
	const json_t *name;
	size_t i;
	json_array_foreach(plain, i, name)
	{
		cleanup_buf struct buf text = BUF_INIT(KERNEL_NAME_BYTES);
		buf_addf(&text, "%%%s", json_string_value(name));
		if (own_magic_is(buf_str(&text), k->runtime))
			json_add_text(names, buf_str(&text));
	}
	return names;
}

void look_up_complete(struct kernel *k, struct kernel_request *r)
{
	const struct asked_code p = asked_of(r->m.content);
	cleanup_json json_t *commands = command_names(k, &p);
	if (commands || !k->session[0]) {
		give_names(k, commands);
		return;
	}
	kernel_operate(k, "step.complete",
		json_need(json_pack("{s:s, s:s, s:o}", "session", k->session, "runtime", k->runtime,
			"text", text_before(&p))),
		on_completed);
}

/* ---- help ---- */

static bool is_of_name(char c)
{
	return ascii_is_name(c) || ((unsigned char)c & 0x80);
}

/* Find the name that ends at @to: its first byte. */
static size_t start_of_name(const char *code, size_t to)
{
	while (to > 0 && (is_of_name(code[to - 1]) || code[to - 1] == '.'))
		to--;
	return to;
}

/* Find the name at the cursor, such as "os.path.join". Without one, find that of the call in whose
 * brackets the cursor is: "open" for "open(path, ". Returns: its length, 0 if there is none. */
static size_t name_at(const struct asked_code *p, const char **name)
{
	size_t to = p->at, from;
	int depth = 0;
	while (to < p->bytes && is_of_name(p->code[to]))
		to++;
	from = start_of_name(p->code, to);
	if (from == to || ascii_is_digit(p->code[from])) {
		for (to = from; to > 0 && depth >= 0; to--)
			depth += p->code[to - 1] == ')' ? 1 : p->code[to - 1] == '(' ? -1 : 0;
		to = depth < 0 ? to : 0;
		from = start_of_name(p->code, to);
	}
	*name = p->code + from;
	return to - from;
}

static void give_help(struct kernel *k, const char *text)
{
	json_t *data = json_need(json_object());
	if (text)
		json_put_text(data, "text/plain", text);
	kernel_reply(k, k->current, "inspect_reply",
		json_pack("{s:s, s:b, s:o, s:{}}", "status", "ok", "found", text != NULL, "data",
			data, "metadata"),
		NULL);
	kernel_end(k);
}

static void on_helped(struct kernel *k, const json_t *result, const struct err *err attr_unused)
{
	give_help(k, json_string_value(json_array_get(json_object_get(result, "names"), 0)));
}

void look_up_inspect(struct kernel *k, struct kernel_request *r)
{
	const struct asked_code p = asked_of(r->m.content);
	cleanup_buf struct buf text = BUF_INIT(ASKED_BYTES);
	const char *name = NULL;
	size_t bytes = name_at(&p, &name);
	bool is_long = json_get_int(r->m.content, "detail_level") > 0;
	buf_append(&text, name, bytes);
	buf_add(&text, is_long ? "??" : "?");
	if (bytes == 0 || buf_error(&text) < 0 || !k->session[0] ||
		strcmp(k->runtime, "python") != 0) {
		give_help(k, NULL);
		return;
	}
	kernel_operate(k, "step.complete",
		json_need(json_pack("{s:s, s:s, s:o}", "session", k->session, "runtime", k->runtime,
			"text", json_new_text(buf_str(&text), text.bytes))),
		on_helped);
}

/* ---- is it complete? ---- */

/* Return the indentation with which a block goes on after @code. */
static size_t next_indent(const char *code)
{
	size_t bytes = strlen(code);
	while (bytes > 0 && strchr(" \t\r\n", code[bytes - 1]))
		bytes--;
	bool is_opening = bytes > 0 && code[bytes - 1] == ':';
	while (bytes > 0 && code[bytes - 1] != '\n')
		bytes--;
	return strspn(code + bytes, " ") + (is_opening ? TAB : 0);
}

void look_up_is_complete(struct kernel *k, struct kernel_request *r)
{
	static const char blanks[] = "                                                ";
	const char *code = json_get_text(r->m.content, "code");
	enum statement_state state = statement_look(k->runtime, code);
	size_t bytes = strlen(code);
	/* An empty line ends a block. */
	if (state == STATEMENT_BLOCK && bytes > 0 && code[bytes - 1] == '\n')
		state = STATEMENT_COMPLETE;
	json_t *content = json_need(json_pack(
		"{s:s}", "status", state == STATEMENT_COMPLETE ? "complete" : "incomplete"));
	if (state != STATEMENT_COMPLETE)
		json_put_textn(content, "indent", blanks,
			state == STATEMENT_BLOCK ? MIN(next_indent(code), sizeof blanks - 1) : 0);
	kernel_reply(k, r, "is_complete_reply", content, NULL);
}
