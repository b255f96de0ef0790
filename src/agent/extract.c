/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/extract.h"

#include "agent/fence.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* How a model begins what only we can say. */
static const char *const inventions[] = {
	"Observation:", "Output:", "Execution logs:", "REPL output:", "Execution result:"};

struct span {
	const char *data;
	size_t bytes;
};

void extract_done(struct extract *e)
{
	buf_done(&e->text);
}

static struct span trim(struct span s)
{
	while (s.bytes > 0 && isspace((unsigned char)*s.data))
		s.data++, s.bytes--;
	while (s.bytes > 0 && isspace((unsigned char)s.data[s.bytes - 1]))
		s.bytes--;
	return s;
}

static bool begins(struct span s, const char *word)
{
	size_t n = strlen(word);
	return s.bytes >= n && memcmp(s.data, word, n) == 0;
}

/* The next line of @s, without its end; @s goes behind it. */
static struct span take_line(struct span *s)
{
	const char *end = memchr(s->data, '\n', s->bytes);
	struct span line = {s->data, end ? (size_t)(end - s->data) : s->bytes};
	size_t n = end ? line.bytes + 1 : line.bytes;
	s->data += n;
	s->bytes -= n;
	return line;
}

/* Up to the first line with a result that the model made up itself. */
static struct span cut_inventions(struct span s)
{
	struct span rest = s;
	while (rest.bytes > 0) {
		struct span line = take_line(&rest);
		for (size_t i = 0; i < ARRAY_LEN(inventions); i++)
			if (begins(line, inventions[i]))
				return (struct span){s.data, (size_t)(line.data - s.data)};
	}
	return s;
}

/* Behind the reasoning that some servers leave in the text; nothing, when it does not end. */
static struct span skip_thought(struct span s)
{
	static const char end[] = "</think>";
	struct span t = trim(s);
	if (!begins(t, "<think>"))
		return s;
	const char *found = memmem(t.data, t.bytes, end, sizeof end - 1);
	const char *after = found ? found + sizeof end - 1 : s.data + s.bytes;
	return (struct span){after, (size_t)(s.data + s.bytes - after)};
}

/* Without the blank lines around it; the first line's indentation stays. */
static struct span trim_lines(struct span s)
{
	struct span rest = s;
	while (rest.bytes > 0) {
		struct span line = take_line(&rest);
		if (trim(line).bytes > 0) {
			s = (struct span){line.data, (size_t)(s.data + s.bytes - line.data)};
			break;
		}
	}
	while (s.bytes > 0 && isspace((unsigned char)s.data[s.bytes - 1]))
		s.bytes--;
	return s;
}

/* What is left of a closing tag or fence that was cut off in the middle. */
static struct span cut_half_closing(struct span s, const struct fence *f)
{
	char marks[FENCE_LINE_BYTES + 1];
	size_t n_marks = MIN(f->n_marks, FENCE_LINE_BYTES);
	memset(marks, f->mark, n_marks);
	marks[n_marks] = '\0';
	const char *closing = f->closing ? f->closing : marks;
	for (size_t n = strlen(closing); n > 0; n--) {
		bool is_there = s.bytes >= n && memcmp(s.data + s.bytes - n, closing, n) == 0;
		/* Marks close only at the beginning of a line; "<" alone is an operator. */
		size_t at = s.bytes - n;
		bool is_closing = f->closing ? n > 1 : at == 0 || s.data[at - 1] == '\n';
		if (is_there && is_closing)
			return (struct span){s.data, at};
	}
	return s;
}

/* A fence around all of it, as some models write inside of tags. */
static struct span strip_fence(struct span s)
{
	struct fence f = FENCE_INIT;
	struct span t = trim(s);
	if (!begins(t, "```") && !begins(t, "~~~"))
		return s;
	(void)fence_feed(&f, t.data, t.bytes);
	(void)fence_feed(&f, "\n", 1);
	if (f.is_closed)
		return (struct span){t.data + f.begin, f.end - f.begin};
	if (f.has_plain)
		return (struct span){t.data + f.plain_begin, f.plain_end - f.plain_begin};
	return s;
}

/* Lines without as much indentation as the block itself had. */
static int put_code(struct buf *out, struct span code, size_t indent)
{
	code = trim_lines(code);
	while (code.bytes > 0) {
		struct span line = take_line(&code);
		size_t n = 0;
		while (n < indent && n < line.bytes &&
			(line.data[n] == ' ' || line.data[n] == '\t'))
			n++;
		size_t bytes = line.bytes;
		if (bytes > n && line.data[bytes - 1] == '\r')
			bytes--;
		int r = buf_append(out, line.data + n, bytes - n);
		if (r == 0 && code.bytes > 0)
			r = buf_add(out, "\n");
		if (r < 0)
			return r;
	}
	return 0;
}

static int set_code(struct extract *out, const char *runtime, struct span code, size_t indent)
{
	static const char end_code[] = "<end_code>";
	code = trim_lines(code);
	size_t n = sizeof end_code - 1;
	if (code.bytes >= n && memcmp(code.data + code.bytes - n, end_code, n) == 0)
		code.bytes -= n;
	out->kind = EXTRACT_CODE;
	out->runtime = runtime;
	return put_code(&out->text, code, indent);
}

/* A block of code, or one that the text ends in. @all is all of the reply's text. */
static int take_block(struct extract *out, struct span all, struct span text, const struct fence *f)
{
	struct span code = {text.data + f->begin, f->end - f->begin};
	out->kept_bytes = (size_t)(text.data - all.data) + f->at;
	if (!f->is_closed) {
		code.bytes = text.bytes - f->begin;
		struct span cut = cut_inventions(code);
		if (cut.bytes < code.bytes)
			out->kept_bytes = (size_t)(cut.data + cut.bytes - all.data);
		code = cut_half_closing(cut, f);
	}
	struct span rest = {all.data + out->kept_bytes, all.bytes - out->kept_bytes};
	out->has_more = trim(rest).bytes > 0;
	return set_code(out, f->runtime, f->closing ? strip_fence(code) : code, f->indent);
}

/* {"code": "…", "language": "…"} Returns: 1 when it is one, 0, or negative errno. */
static int take_json(struct extract *out, const char *data, size_t bytes)
{
	static const char *const names[] = {"runtime", "language", "lang"};
	json_t *call = json_loadb(data, bytes, JSON_DISABLE_EOF_CHECK, NULL);
	const json_t *code = json_object_get(call, "code");
	const char *runtime = NULL;
	for (size_t i = 0; i < ARRAY_LEN(names) && !runtime; i++) {
		const char *name = json_string_value(json_object_get(call, names[i]));
		runtime = name ? fence_runtime(name, strlen(name)) : NULL;
	}
	struct span s = {json_string_value(code), json_string_length(code)};
	int r = 0;
	if (trim(s).bytes > 0) {
		r = set_code(out, runtime ? runtime : "python", strip_fence(s), 0);
		r = r < 0 ? r : 1;
	}
	json_decref(call);
	return r;
}

static int take_call(struct extract *out, const struct reply *reply)
{
	for (size_t i = 0; i < reply->n_parts; i++) {
		const struct part *p = &reply->parts[i];
		size_t bytes = strlen(p->text);
		if (p->kind != PART_TOOL_CALL || bytes == 0)
			continue;
		int r = take_json(out, p->text, bytes);
		/* Some send the code itself where its wrapping should be. */
		if (r == 0 && trim((struct span){p->text, bytes}).data[0] != '{' &&
			extract_is_python(p->text, bytes))
			r = set_code(out, "python", (struct span){p->text, bytes}, 0) < 0 ? -ENOMEM
											  : 1;
		if (r != 0) {
			out->call_id = p->id ? p->id : "";
			return r;
		}
	}
	return 0;
}

/* A call written as text: `{"code": …}` or `functions.run_code({"code": …})`. */
static int take_written_call(struct extract *out, struct span text)
{
	struct span s = trim(text);
	const char *brace = memchr(s.data, '{', s.bytes);
	if (!brace)
		return 0;
	for (const char *p = s.data; p < brace; p++)
		if (!isalnum((unsigned char)*p) && !strchr("._( ", *p))
			return 0;
	bool is_call = brace == s.data || brace[-1] == '(';
	return is_call ? take_json(out, brace, (size_t)(s.data + s.bytes - brace)) : 0;
}

static int take_text(struct extract *out, struct span all, struct span text)
{
	struct fence f = FENCE_INIT;
	if (fence_feed(&f, text.data, text.bytes) < 0 && !f.closing)
		(void)fence_feed(&f, "\n", 1);
	f.at = MIN(f.at, text.bytes);
	if (f.runtime && f.begin < text.bytes)
		return take_block(out, all, text, &f);
	int r = take_written_call(out, text);
	if (r != 0)
		return r;
	struct span cut = cut_inventions(text);
	struct span plain = {text.data + f.plain_begin, f.plain_end - f.plain_begin};
	out->has_more = cut.bytes < text.bytes;
	out->kept_bytes = (size_t)(cut.data + cut.bytes - all.data);
	if (f.has_plain && extract_is_python(plain.data, plain.bytes))
		return set_code(out, "python", plain, 0);
	if (extract_is_python(cut.data, cut.bytes))
		return set_code(out, "python", cut, 0);
	struct span said = trim(cut);
	out->kind = said.bytes > 0 ? EXTRACT_TEXT : EXTRACT_NONE;
	return buf_append(&out->text, said.data, said.bytes);
}

int extract_reply(struct extract *out, const struct reply *reply)
{
	*out = (struct extract){.text = BUF_INIT(EXTRACT_CODE_BYTES)};
	char *text = reply_text(reply);
	if (!text)
		return -ENOMEM;
	struct span all = {text, strlen(text)};
	out->kept_bytes = all.bytes;
	int r = take_call(out, reply);
	if (r == 0)
		r = take_text(out, all, skip_thought(all));
	free(text);
	return r < 0 ? r : 0;
}

/* One line of Python: what it can begin with, in the words of its grammar. */
static const char *const statements[] = {"import ", "from ", "def ", "class ", "for ", "while ",
	"if ", "elif ", "else:", "try:", "except", "finally:", "with ", "return", "raise ",
	"async ", "await ", "assert ", "del ", "global ", "pass", "break", "continue", "yield ",
	"@"};
/* Those of them that prose begins with, too, end in a colon or have another word. */
static bool is_statement(struct span s)
{
	char last = s.data[s.bytes - 1];
	for (size_t i = 0; i < ARRAY_LEN(statements); i++) {
		if (!begins(s, statements[i]))
			continue;
		if (i >= 2 && i <= 7)
			return last == ':';
		if (i == 1)
			return memmem(s.data, s.bytes, " import ", 8) != NULL;
		return last != '.' && last != '?' && last != '!';
	}
	return false;
}

/* "name", "a.b", "a[0]": what can be called or assigned to. Returns: its length. */
static size_t read_target(struct span s)
{
	size_t n = 0;
	int depth = 0;
	if (s.bytes == 0 || (!isalpha((unsigned char)*s.data) && *s.data != '_'))
		return 0;
	while (n < s.bytes) {
		unsigned char c = (unsigned char)s.data[n];
		depth += c == '[' ? 1 : c == ']' ? -1 : 0;
		if (!isalnum(c) && c != '_' && c != '.' && c != '[' && c != ']' && depth <= 0)
			break;
		n++;
	}
	return n;
}

/* An assignment or a call. */
static bool is_action(struct span s)
{
	size_t n = read_target(s);
	if (n == 0)
		return false;
	if (n < s.bytes && s.data[n] == '(')
		return s.data[s.bytes - 1] != '.';
	struct span rest = {s.data + n, s.bytes - n};
	while (begins(rest, ",") || begins(rest, " ")) {
		rest = trim((struct span){rest.data + 1, rest.bytes - 1});
		n = read_target(rest);
		/* Two words are no pair of names. */
		if (n > 0 && rest.data[-1] != ' ' && rest.data[-1] != ',')
			return false;
		if (n > 0 && memchr(s.data, ',', (size_t)(rest.data - s.data)) == NULL)
			return false;
		rest.data += n;
		rest.bytes -= n;
		if (n == 0)
			break;
	}
	static const char *const operators[] = {
		"=", "+=", "-=", "*=", "/=", "%=", "|=", "&=", ":="};
	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		if (begins(rest, operators[i]) && !begins(rest, "=="))
			return true;
	return false;
}

bool extract_is_python(const char *text, size_t bytes)
{
	struct span s = {text, bytes};
	size_t n_actions = 0;
	bool is_inside = false; /* of something that brackets or indentation hold together */
	while (s.bytes > 0) {
		struct span line = take_line(&s), t = trim(line);
		bool is_indented = line.bytes > 0 && (*line.data == ' ' || *line.data == '\t');
		if (t.bytes == 0 || *t.data == '#')
			continue;
		bool is_closer = strchr(")]}", *t.data) && is_inside;
		if ((is_indented || is_closer) && is_inside)
			continue;
		bool is_done = is_action(t);
		if (!is_done && !is_statement(t))
			return false;
		n_actions += is_done || begins(t, "import ") || begins(t, "from ");
		is_inside = strchr(":([{,\\", t.data[t.bytes - 1]) != NULL || is_inside;
	}
	return n_actions > 0;
}
