/*
 * Extraction of the code from a reply, which is Markdown in the styles of many models.
 *
 * The text is read line by line. A fence (CommonMark) or a tag such as <execute> begins a block,
 * which extends to its closing line. The first block whose language is known, or that looks like
 * Python, is the code. Other blocks, such as tables and output, are skipped as a whole, so that
 * code that they quote is not run. If no block is found, the whole text may be a program without a
 * fence: this is assumed if every line looks like Python.
 *
 * Models often go on after their code and invent its output. If a block has no closing line, it
 * ends before the first line that begins like invented output (see `made_up`). If the text breaks
 * off within the closing tag, the first characters of this tag are dropped.
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/answer/extract.h"

#include "base/ascii.h"
#include "base/attr.h"

#include <stdint.h>
#include <string.h>
#include <strings.h>

enum { TAG_BYTES = 24, FENCE_MIN = 3, INDENT_MAX = 3 };

struct markdown {
	const char *data;
	size_t bytes;
};

/* A block: its content is from `at` to `end`, and `next` is the offset behind its closing line. */
struct block {
	const char *runtime;
	size_t at, end, next;
	bool is_closed, is_code;
	unsigned indent;
};

static const struct {
	const char *tag, *runtime;
} fence_tags[] = {
	{"python", "python"},
	{"py", "python"},
	{"python3", "python"},
	{"ipython", "python"},
	{"repl", "python"},
	{"tool_code", "python"},
	{"pycon", NULL},
	{"javascript", "javascript"},
	{"js", "javascript"},
	{"node", "javascript"},
	{"nodejs", "javascript"},
	{"mjs", "javascript"},
	{"typescript", "javascript"},
	{"ts", "javascript"},
	{"sql", "sql"},
	{"sqlite", "sql"},
	{"bash", "shell"},
	{"sh", "shell"},
	{"shell", "shell"},
	{"zsh", "shell"},
};

static const struct {
	const char *open, *close, *runtime;
} tags[] = {
	{"<execute_python>", "</execute_python>", "python"},
	{"<execute_ipython>", "</execute_ipython>", "python"},
	{"<execute_bash>", "</execute_bash>", "shell"},
	{"<execute_javascript>", "</execute_javascript>", "javascript"},
	{"<execute_sql>", "</execute_sql>", "sql"},
	{"<execute>", "</execute>", NULL},
	{"<run_code>", "</run_code>", NULL},
	{"<code>", "</code>", NULL},
};

/* A line behind the code that begins with one of these texts is output that the model has
 * invented. */
static const char *const made_up[] = {"observation:", "<observation>",
	"execution logs:", "execution result:", "```output", "[step ", "<end_code>", "</s>",
	"user:", "human:"};

/* ---- lines and white space ---- */

static bool is_name(char c)
{
	unsigned char u = (unsigned char)c, low = u | 0x20;
	return (low >= 'a' && low <= 'z') || (u >= '0' && u <= '9') || u == '_' || u >= 0x80;
}

/* line_end() returns the offset of the end of the line at @at; next_line() returns the offset of
 * the line that follows. */
static size_t line_end(const struct markdown *t, size_t at)
{
	const char *end = memchr(t->data + at, '\n', t->bytes - at);
	return end ? (size_t)(end - t->data) : t->bytes;
}

static size_t next_line(const struct markdown *t, size_t at)
{
	return MIN(line_end(t, at) + 1, t->bytes);
}

static bool begins(const struct markdown *t, size_t at, const char *word)
{
	size_t n = strlen(word);
	return t->bytes - at >= n && strncasecmp(t->data + at, word, n) == 0;
}

static size_t skip_blanks(const struct markdown *t, size_t at, size_t end)
{
	while (at < end && (t->data[at] == ' ' || t->data[at] == '\t'))
		at++;
	return at;
}

static size_t skip_white(const struct markdown *t, size_t at, size_t end)
{
	while (at < end && ascii_is_space(t->data[at]))
		at++;
	return at;
}

static size_t trim_end(const struct markdown *t, size_t at, size_t end)
{
	while (end > at && ascii_is_space(t->data[end - 1]))
		end--;
	return end;
}

/* ---- recognizing Python ---- */

/* Return whether @line may follow "import " or "from ": names, commas, "as", "import". */
static bool is_import_list(const char *line, size_t bytes)
{
	size_t n_words = 0;
	bool needs_comma = false;
	for (size_t i = 0; i < bytes;) {
		if (line[i] == '#')
			break;
		if (is_name(line[i]) || line[i] == '.' || line[i] == '*') {
			size_t n = i;
			while (n < bytes && (is_name(line[n]) || line[n] == '.' || line[n] == '*'))
				n++;
			bool is_word = (n - i == 2 && memcmp(line + i, "as", 2) == 0) ||
				(n - i == 6 && memcmp(line + i, "import", 6) == 0);
			if (needs_comma && !is_word)
				return false;
			needs_comma = !is_word;
			n_words++;
			i = n;
			continue;
		}
		if (!strchr(" \t,();", line[i]))
			return false;
		needs_comma = needs_comma && line[i] != ',' && line[i] != ';';
		i++;
	}
	return n_words > 0;
}

/* Return whether the line consists only of names and commas: "a, b.c". */
static bool are_names(const char *line, size_t bytes)
{
	bool has_name = false, is_over = false;
	for (size_t i = 0; i < bytes; i++) {
		bool is_part = is_name(line[i]) || line[i] == '.';
		if (is_part && is_over)
			return false;
		has_name |= is_part;
		is_over = has_name && line[i] == ' ';
		if (line[i] == ',')
			has_name = is_over = false;
	}
	return has_name;
}

/* Return whether the line begins like an assignment, a call or an index: names, and then "=",
 * "(", "[" or an operator such as "+=". */
static bool is_action(const char *line, size_t bytes)
{
	size_t i = 0;
	while (i < bytes && (is_name(line[i]) || strchr("., ", line[i])))
		i++;
	if (i == 0 || i == bytes || !are_names(line, i))
		return false;
	if (line[i] == '(' || line[i] == '[')
		return is_name(line[i - 1]) && !memchr(line, ',', i);
	return line[i] == '=' ||
		(strchr("+-*/%&|", line[i]) && i + 1 < bytes && line[i + 1] == '=');
}

/* Return whether the line is the head of a compound statement of Python, such as "if x > 1:".
 * The line must end in a colon. An English sentence, such as "if you like:", may also begin with a
 * word of Python and end in a colon. To exclude such sentences, `needs` lists, for most of
 * these words, texts of which the line must contain at least one. */
static bool is_compound(const char *line, size_t bytes)
{
	static const struct {
		const char *word;
		/*
		 * A line that begins with `word` may be code or an English sentence. The line
		 * counts as code only if it contains at least one of the texts in `needs`:
		 * - "if x > 1:" contains ">", so this line is code.
		 * - "if you like:" contains none of the texts, so this line is prose.
		 * In two cases, a line is code without any of the texts:
		 * - `needs` is empty.
		 * - There is no space behind `word`, as in "if ready:".
		 */
		const char *needs[6];
	} words[] = {
		{"def ", {"("}},
		{"class ", {NULL}},
		{"for ", {" in "}},
		{"async ", {"("}},
		{"with ", {"(", " as "}},
		{"try", {NULL}},
		{"else", {NULL}},
		{"finally", {NULL}},
		{"except", {NULL}},
		{"if ", {"=", "<", ">", "(", " in ", "not "}},
		{"elif ", {"=", "<", ">", "(", " in ", "not "}},
		{"while ", {"=", "<", ">", "(", "True", "1"}},
	};
	if (bytes == 0 || line[bytes - 1] != ':')
		return false;
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i].word);
		if (bytes <= n || memcmp(line, words[i].word, n) != 0)
			continue;
		bool has_one = !words[i].needs[0] || !memchr(line + n, ' ', bytes - n);
		for (size_t k = 0; k < ARRAY_LEN(words[i].needs) && words[i].needs[k]; k++)
			has_one |= memmem(line, bytes, words[i].needs[k],
					   strlen(words[i].needs[k])) != NULL;
		return has_one;
	}
	return false;
}

enum line_kind { LINE_PROSE, LINE_NEUTRAL, LINE_CODE };

static enum line_kind judge_line(const char *line, size_t bytes)
{
	if (bytes == 0 || ascii_is_space(line[0]) || strchr("#)]}@\"'", line[0]))
		return LINE_NEUTRAL;
	if (bytes > 7 && memcmp(line, "import ", 7) == 0)
		return is_import_list(line + 7, bytes - 7) ? LINE_CODE : LINE_PROSE;
	if (bytes > 5 && memcmp(line, "from ", 5) == 0)
		return memmem(line, bytes, " import ", 8) && is_import_list(line + 5, bytes - 5)
			? LINE_CODE
			: LINE_PROSE;
	return is_compound(line, bytes) || is_action(line, bytes) ? LINE_CODE : LINE_PROSE;
}

static bool looks_like_code(const struct markdown *t, size_t at, size_t end)
{
	bool has_code = false;
	while (at < end) {
		size_t n = MIN(line_end(t, at), end);
		enum line_kind kind = judge_line(t->data + at, trim_end(t, at, n) - at);
		if (kind == LINE_PROSE)
			return false;
		has_code |= kind == LINE_CODE;
		at = n + 1;
	}
	return has_code;
}

/* ---- blocks: fences and tags ---- */

/* If [@at, @end) ends with the first characters of the closing tag @close, return where they
 * begin; otherwise return @end. */
static size_t without_half_tag(const struct markdown *t, size_t at, size_t end, const char *close)
{
	for (size_t n = MIN(strlen(close) - 1, end - at); n > 0; n--)
		if (memcmp(t->data + end - n, close, n) == 0)
			return end - n;
	return end;
}

/* A model may go on after its code, and invent the output of the code. Find the first line of
 * [@at, @end) that begins like such output, for example with "Observation:". Returns: the offset of
 * this line; @end if there is no such line. */
static size_t find_made_up(const struct markdown *t, size_t at, size_t end)
{
	for (; at < end; at = next_line(t, at)) {
		size_t from = skip_blanks(t, at, end);
		for (size_t i = 0; i < ARRAY_LEN(made_up); i++)
			if (begins(t, from, made_up[i]))
				return at;
		if (line_end(t, at) >= end)
			break;
	}
	return end;
}

struct fence {
	char mark;
	size_t n;
	unsigned indent;
	size_t info_at, info_end, inside;
};

static bool read_fence(const struct markdown *t, size_t at, struct fence *f)
{
	size_t end = line_end(t, at), from = at;
	while (from < end && t->data[from] == ' ' && from - at < INDENT_MAX)
		from++;
	size_t n = 0;
	while (from + n < end && strchr("`~", t->data[from + n]) &&
		t->data[from + n] == t->data[from])
		n++;
	if (n < FENCE_MIN)
		return false;
	*f = (struct fence){.mark = t->data[from],
		.n = n,
		.indent = (unsigned)(from - at),
		.info_at = skip_blanks(t, from + n, end),
		.info_end = trim_end(t, from + n, end),
		.inside = MIN(end + 1, t->bytes)};
	f->info_end = MAX(f->info_at, f->info_end);
	/* A line such as "```code```" is not a fence but code within a line. */
	return f->mark != '`' || !memchr(t->data + f->info_at, '`', f->info_end - f->info_at);
}

static bool closes(const struct markdown *t, size_t at, const struct fence *open)
{
	struct fence f;
	return read_fence(t, at, &f) && f.mark == open->mark && f.n >= open->n &&
		(f.info_at == f.info_end || t->data[f.info_at] == '<'); /* "```<end_code>" */
}

/* Read the word behind the fence in lower case: "python" from "{python}" or "Python title=x". */
static void fence_word(const struct markdown *t, const struct fence *f, char out[TAG_BYTES])
{
	size_t at = f->info_at, n = 0;
	while (at < f->info_end && strchr("{.[", t->data[at]))
		at++;
	while (at < f->info_end && n < TAG_BYTES - 1 && is_name(t->data[at])) {
		char c = t->data[at++];
		out[n++] = (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
	}
	out[n] = '\0';
}

static void judge_fence(const struct markdown *t, const struct fence *f, struct block *b)
{
	char word[TAG_BYTES];
	fence_word(t, f, word);
	if (!word[0]) {
		b->is_code = looks_like_code(t, b->at, b->end);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(fence_tags); i++) {
		if (strcmp(word, fence_tags[i].tag) == 0) {
			b->runtime = fence_tags[i].runtime;
			b->is_code = b->runtime != NULL;
		}
	}
}

static bool take_fence(const struct markdown *t, size_t at, size_t limit, struct block *b)
{
	struct fence f;
	if (!read_fence(t, at, &f))
		return false;
	*b = (struct block){.at = MIN(f.inside, limit), .indent = f.indent};
	size_t line = b->at;
	while (line < limit && !closes(t, line, &f))
		line = next_line(t, line);
	b->is_closed = line < limit && closes(t, line, &f);
	b->end = b->is_closed ? line : find_made_up(t, b->at, limit);
	b->next = b->is_closed ? next_line(t, line) : limit;
	if (!b->is_closed)
		b->end = without_half_tag(t, b->at, b->end, "\n```");
	judge_fence(t, &f, b);
	return true;
}

static size_t find(const struct markdown *t, size_t at, const char *word)
{
	const char *found = memmem(t->data + at, t->bytes - at, word, strlen(word));
	return found ? (size_t)(found - t->data) : t->bytes;
}

/* If the code inside a tag has a fence around it, remove the fence. */
static void unwrap(const struct markdown *t, struct block *b)
{
	struct block inner;
	size_t at = skip_white(t, b->at, b->end);
	while (at > b->at && t->data[at - 1] != '\n')
		at--;
	if (at >= b->end || !take_fence(t, at, b->end, &inner))
		return;
	b->runtime = inner.runtime ? inner.runtime : b->runtime;
	b->at = inner.at;
	b->indent = inner.indent;
	b->end = MIN(inner.end, b->end);
	if (!b->is_closed && inner.is_closed) {
		b->is_closed = true;
		b->next = inner.next;
	}
}

static bool take_tag(const struct markdown *t, size_t at, struct block *b)
{
	size_t from = skip_blanks(t, at, t->bytes);
	for (size_t i = 0; i < ARRAY_LEN(tags); i++) {
		if (!begins(t, from, tags[i].open))
			continue;
		size_t inside = from + strlen(tags[i].open), close = find(t, inside, tags[i].close);
		*b = (struct block){
			.runtime = tags[i].runtime, .at = inside, .end = close, .is_code = true};
		b->is_closed = close < t->bytes;
		b->next = b->is_closed ? close + strlen(tags[i].close) : t->bytes;
		if (!b->is_closed) {
			b->end = find_made_up(t, inside, t->bytes);
			b->end = without_half_tag(t, inside, b->end, tags[i].close);
		}
		unwrap(t, b);
		return true;
	}
	return false;
}

/* ---- the code of a whole reply ---- */

/* Skip thoughts at the beginning of the text. Returns: the offset behind them; the end of the
 * text if they are not closed; 0 without thoughts. */
static size_t skip_thoughts(const struct markdown *t)
{
	static const char *const thoughts[][2] = {
		{"<think>", "</think>"}, {"<thinking>", "</thinking>"}};
	size_t at = skip_white(t, 0, t->bytes);
	for (size_t i = 0; i < ARRAY_LEN(thoughts); i++) {
		if (!begins(t, at, thoughts[i][0]))
			continue;
		size_t close = find(t, at, thoughts[i][1]);
		return close == t->bytes ? close : close + strlen(thoughts[i][1]);
	}
	return 0;
}

static void take(const struct markdown *t, const struct block *b, struct extract *out)
{
	size_t at = b->at;
	/* Drop empty lines in front of the code, but keep the indentation of its first line. */
	while (at < b->end && skip_blanks(t, at, b->end) < b->end &&
		strchr("\r\n", t->data[skip_blanks(t, at, b->end)]))
		at = MIN(next_line(t, at), b->end);
	*out = (struct extract){.kind = EXTRACT_CODE,
		.runtime = b->runtime,
		.indent = b->indent,
		.code_at = at,
		.code_bytes = trim_end(t, at, b->end) - at,
		.is_closed = b->is_closed,
		.end = b->is_closed ? b->next : b->end};
	if (out->code_bytes == 0)
		*out = (struct extract){.kind = EXTRACT_NOTHING, .end = out->end};
}

void extract_code(const char *text, size_t bytes, struct extract *out)
{
	const struct markdown t = {text, bytes};
	struct block b;
	bool has_code = false;
	size_t begin = skip_thoughts(&t);
	*out = (struct extract){.kind = EXTRACT_TEXT, .end = bytes};
	for (size_t at = begin; at < bytes;) {
		if (!take_tag(&t, at, &b) && !take_fence(&t, at, bytes, &b)) {
			at = next_line(&t, at);
			continue;
		}
		if (b.is_code && has_code)
			out->n_more++;
		else if (b.is_code)
			take(&t, &b, out);
		has_code |= b.is_code;
		at = MAX(b.next, at + 1);
	}
	if (has_code)
		return;
	begin = skip_white(&t, begin, bytes);
	if (begin == bytes) {
		out->kind = EXTRACT_NOTHING;
	} else if (looks_like_code(&t, begin, bytes)) {
		b = (struct block){.at = begin, .end = bytes, .next = bytes};
		take(&t, &b, out);
		out->is_bare = true;
	}
}

bool extract_runtime(const char *tag, size_t bytes, const char **runtime)
{
	for (size_t i = 0; i < ARRAY_LEN(fence_tags); i++)
		if (fence_tags[i].runtime && strlen(fence_tags[i].tag) == bytes &&
			strncasecmp(fence_tags[i].tag, tag, bytes) == 0) {
			*runtime = fence_tags[i].runtime;
			return true;
		}
	return false;
}

bool extract_is_whole(const char *text, size_t bytes)
{
	struct extract found;
	extract_code(text, bytes, &found);
	/* A closing tag is complete with its ">". A closing fence is complete only with its
	 * newline, because "```" may still become "```python". */
	return found.kind == EXTRACT_CODE && found.is_closed && found.end > 0 &&
		strchr("\n>", text[found.end - 1]);
}

int extract_write(struct buf *out, const char *text, const struct extract *e)
{
	size_t at = e->code_at, end = e->code_at + e->code_bytes;
	const struct markdown t = {text, end};
	while (at < end) {
		size_t next = next_line(&t, at);
		for (unsigned i = 0; i < e->indent && at < next && text[at] == ' '; i++)
			at++;
		int r = buf_append(out, text + at, next - at);
		if (r < 0)
			return r;
		at = next;
	}
	return 0;
}
