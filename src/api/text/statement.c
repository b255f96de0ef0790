/* SPDX-License-Identifier: Apache-2.0 */
#include "api/text/statement.h"

#include "base/attr.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The rules by which the scanner skips the strings and comments of a language. */
struct syntax {
	const char *name;
	const char *quotes; /* quotation marks; each begins a string */
	/* Three quotation marks begin a string that may have several lines. */
	bool has_triples;
	/* A string ends at the end of its line, unless a backslash comes before. */
	bool has_line_strings;
	const char *line_comment; /* what begins a comment that ends with its line, such as "#" */
	bool has_block_comments;  /* comments as in C */
	bool has_backslash;	  /* within a string, a backslash escapes the next character */
	/* `open` has the characters that open a bracket, `close` the characters that close one. */
	const char *open, *close;
};

static const struct syntax syntaxes[] = {
	{"python", "\"'", true, true, "#", false, true, "([{", ")]}"},
	{"javascript", "\"'`", false, false, "//", true, true, "([{", ")]}"},
	{"sql", "\"'`", false, false, "--", true, false, "(", ")"},
	{"shell", "\"'", false, false, "#", false, true, "", ""},
};

/* The result of scanning a text: which brackets, strings and comments are not closed at its end,
 * and how the text ends. */
struct scan {
	int depth;    /* number of brackets that are not closed */
	bool is_open; /* a string or comment is not closed */
	char quote;   /* quotation mark of the string that is not closed; 0: none */
	/* The text ends with a backslash that is not in a string or comment. */
	bool ends_joined;
	/* The last character that is not blank and not in a comment. */
	char last;
	bool opens_block; /* Python: a line ends with a colon outside of brackets */
};

static const struct syntax *syntax_of(const char *runtime)
{
	for (size_t i = 0; i < ARRAY_LEN(syntaxes); i++)
		if (strcmp(syntaxes[i].name, runtime) == 0)
			return &syntaxes[i];
	return &syntaxes[0];
}

/* Skip the string that begins at @at. Returns: the end of the string; the end of the text if the
 * string is not closed. */
static const char *skip_string(const struct syntax *syntax, const char *at, struct scan *scan)
{
	char quote = *at;
	bool is_triple = syntax->has_triples && at[1] == quote && at[2] == quote;
	bool is_raw = quote == '\'' && strcmp(syntax->name, "shell") == 0;
	at += is_triple ? 3 : 1;
	for (; *at; at++) {
		if (*at == '\\' && syntax->has_backslash && !is_raw) {
			at += at[1] != '\0';
			continue;
		}
		/* The string is not closed in its line. Continue after the line; the runtime
		 * will report the error. */
		if (*at == '\n' && !is_triple && syntax->has_line_strings)
			return at;
		if (*at != quote)
			continue;
		if (!is_triple)
			return at + 1;
		if (at[1] == quote && at[2] == quote)
			return at + 3;
	}
	scan->quote = quote;
	scan->is_open = is_triple || !syntax->has_line_strings;
	/* A backslash at the end of the text continues the string in the next line. */
	scan->is_open |= at[-1] == '\\';
	return at;
}

static const char *skip_comment(const struct syntax *syntax, const char *at, struct scan *scan)
{
	if (syntax->has_block_comments && at[0] == '/' && at[1] == '*') {
		const char *end = strstr(at + 2, "*/");
		scan->is_open = !end;
		return end ? end + 2 : at + strlen(at);
	}
	return at + strcspn(at, "\n");
}

static bool begins_comment(const struct syntax *syntax, const char *text, const char *at)
{
	if (syntax->has_block_comments && at[0] == '/' && at[1] == '*')
		return true;
	if (strncmp(at, syntax->line_comment, strlen(syntax->line_comment)) != 0)
		return false;
	/* In a shell, "#" begins a comment only at the start of a word. */
	return strcmp(syntax->name, "shell") != 0 || at == text || isspace((unsigned char)at[-1]);
}

static struct scan scan_text(const struct syntax *syntax, const char *text)
{
	struct scan scan = {0};
	for (const char *at = text; *at;) {
		if (strchr(syntax->quotes, *at)) {
			scan.last = *at;
			at = skip_string(syntax, at, &scan);
		} else if (begins_comment(syntax, text, at)) {
			at = skip_comment(syntax, at, &scan);
		} else if (*at == '\\') {
			scan.ends_joined = at[1] == '\0' || (at[1] == '\n' && at[2] == '\0');
			scan.last = *at;
			at += at[1] ? 2 : 1;
		} else {
			if (*at == '\n' && scan.last == ':' && scan.depth == 0)
				scan.opens_block = true;
			if (strchr(syntax->open, *at))
				scan.depth++;
			else if (strchr(syntax->close, *at))
				scan.depth--;
			if (!isspace((unsigned char)*at))
				scan.last = *at;
			at++;
		}
	}
	scan.opens_block |= scan.last == ':' && scan.depth == 0;
	return scan;
}

/* ---- shell: counting open "if", "while", "case", "{" and the like ---- */

static int word_weight(const char *word, size_t bytes)
{
	static const struct {
		const char *word;
		int weight;
	} rows[] = {{"if", 1}, {"fi", -1}, {"for", 1}, {"while", 1}, {"until", 1}, {"select", 1},
		{"done", -1}, {"case", 1}, {"esac", -1}, {"{", 1}, {"}", -1}};
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (strlen(rows[i].word) == bytes && strncmp(rows[i].word, word, bytes) == 0)
			return rows[i].weight;
	return 0;
}

static bool is_command_next(const char *word, size_t bytes)
{
	static const char *const words[] = {"then", "else", "do", "{", "!", "if", "while", "until"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i]) == bytes && strncmp(words[i], word, bytes) == 0)
			return true;
	return false;
}

static int shell_depth(const struct syntax *syntax, const char *text)
{
	struct scan unused = {0};
	bool is_start = true;
	int depth = 0;
	for (const char *at = text; *at;) {
		size_t bytes = strcspn(at, " \t\n;&|()\"'#\\");
		if (bytes > 0) {
			depth += is_start ? word_weight(at, bytes) : 0;
			is_start = is_start && is_command_next(at, bytes);
			at += bytes;
		} else if (*at == '"' || *at == '\'') {
			at = skip_string(syntax, at, &unused);
			is_start = false;
		} else if (begins_comment(syntax, text, at)) {
			at = skip_comment(syntax, at, &unused);
		} else {
			is_start = is_start || strchr("\n;&|(", *at);
			at += *at == '\\' && at[1] ? 2 : 1;
		}
	}
	return depth;
}

static bool ends_with_operator(const char *text)
{
	size_t n = strlen(text);
	while (n > 0 && isspace((unsigned char)text[n - 1]))
		n--;
	return n > 0 && (text[n - 1] == '|' || (n > 1 && strncmp(text + n - 2, "&&", 2) == 0));
}

/* ---- shell: here-documents ---- */

enum { HERE_MAX = 4, HERE_WORD_BYTES = 64 };

/* A here-document of a shell. It is written as <<WORD with any word, for example <<EOF. Its body
 * is the lines that follow, up to a line that contains only this word. */
struct here {
	char word[HERE_WORD_BYTES];
	bool is_indented; /* <<-WORD: tabs may precede the WORD that ends the body */
};

/* Read <<WORD, the start of a here-document such as <<EOF, at *@at, and move *@at behind WORD.
 * Returns: false if no usable WORD follows the <<. */
static bool take_here(const char **at, struct here *here)
{
	const char *p = *at + 2;
	size_t n = 0;
	here->is_indented = *p == '-';
	p += here->is_indented;
	p += strspn(p, " \t");
	for (; *p && !strchr(" \t\n;&|<>()", *p); p++)
		if (!strchr("\"'\\", *p) && n < HERE_WORD_BYTES)
			here->word[n++] = *p;
	if (n == 0 || n == HERE_WORD_BYTES)
		return false;
	here->word[n] = '\0';
	*at = p;
	return true;
}

/* Replace the body of the here-document @here by blanks. The body begins at *@at. It ends with the
 * line that contains only here->word: for <<EOF, the line "EOF". Move *@at to the line after this
 * last line. Returns: false if the text ends before the last line is found. */
static bool blank_body(char **at, const struct here *here)
{
	while (**at) {
		char *line = *at;
		size_t bytes = strcspn(line, "\n");
		size_t indent = here->is_indented ? strspn(line, "\t") : 0;
		bool is_end = bytes - indent == strlen(here->word) &&
			memcmp(line + indent, here->word, bytes - indent) == 0;
		memset(line, ' ', bytes);
		*at += bytes + (line[bytes] == '\n');
		if (is_end)
			return true;
	}
	return false;
}

static bool is_arithmetic(const char *text, const char *at)
{
	for (; at > text && at[-1] != '\n'; at--)
		if (at[0] == '(' && at[-1] == '(')
			return true;
	return false;
}

/* Replace the bodies of all here-documents by blanks. Returns: whether all of them are complete. */
static bool blank_bodies(const struct syntax *syntax, char *text)
{
	struct scan unused = {0};
	struct here heres[HERE_MAX];
	size_t n = 0;
	for (char *at = text; *at;) {
		const char *next = at + 1;
		if (*at == '\n' && n > 0) {
			at++;
			for (size_t i = 0; i < n; i++)
				if (!blank_body(&at, &heres[i]))
					return false;
			n = 0;
			continue;
		}
		if (strchr(syntax->quotes, *at))
			next = skip_string(syntax, at, &unused);
		else if (begins_comment(syntax, text, at))
			next = skip_comment(syntax, at, &unused);
		else if (*at == '\\')
			next += at[1] != '\0';
		else if (strncmp(at, "<<<", 3) == 0)
			next = at + 3;
		else if (strncmp(at, "<<", 2) == 0 && n < HERE_MAX && !is_arithmetic(text, at)) {
			next = at;
			if (take_here(&next, &heres[n]))
				n++;
			else
				next = at + 2;
		}
		at += next - at;
	}
	return n == 0;
}

static enum statement_state look_shell(const struct syntax *syntax, const char *text)
{
	char *copy = strdup(text);
	if (!copy)
		return STATEMENT_COMPLETE;
	bool is_whole = blank_bodies(syntax, copy);
	const struct scan scan = scan_text(syntax, copy);
	is_whole = is_whole && !scan.is_open && !scan.ends_joined &&
		shell_depth(syntax, copy) <= 0 && !ends_with_operator(copy);
	free(copy);
	return is_whole ? STATEMENT_COMPLETE : STATEMENT_MORE;
}

/* ---- deciding whether a statement is complete ---- */

static bool is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

bool statement_is_cell(const char *runtime, const char *text)
{
	text += strspn(text, " \t\r\n");
	return strcmp(runtime, "python") == 0 && strncmp(text, "%%", 2) == 0;
}

/* Return whether the text is a command for a notebook (IPython) and not Python code: "!ls",
 * "%time f()", "?f". */
static bool is_spoken(const char *text)
{
	text += strspn(text, " \t\r\n");
	return text[0] && strchr("!%?", text[0]);
}

static enum statement_state look_spoken(const char *text)
{
	size_t bytes = strlen(text);
	if (statement_is_cell("python", text))
		return STATEMENT_BLOCK;
	return text[bytes - 1] == '\\' ? STATEMENT_MORE : STATEMENT_COMPLETE;
}

static enum statement_state look_python(const struct scan *scan, const char *text)
{
	const char *first = text + strspn(text, " \t\r\n");
	return scan->opens_block || first[0] == '@' ? STATEMENT_BLOCK : STATEMENT_COMPLETE;
}

enum statement_state statement_look(const char *runtime, const char *text)
{
	const struct syntax *syntax = syntax_of(runtime);
	if (is_blank(text))
		return STATEMENT_COMPLETE;
	if (strcmp(syntax->name, "shell") == 0)
		return look_shell(syntax, text);
	if (strcmp(syntax->name, "python") == 0 && is_spoken(text))
		return look_spoken(text);
	struct scan scan = scan_text(syntax, text);
	if (scan.is_open || scan.depth > 0 || scan.ends_joined)
		return STATEMENT_MORE;
	if (strcmp(syntax->name, "python") == 0)
		return look_python(&scan, text);
	if (strcmp(syntax->name, "sql") == 0)
		return scan.last == ';' || scan.last == '\0' || text[strspn(text, " \t\n")] == '.'
			? STATEMENT_COMPLETE
			: STATEMENT_MORE;
	return STATEMENT_COMPLETE;
}

bool statement_goes_on(const char *line)
{
	static const char *const words[] = {"else", "elif", "except", "finally", "case"};
	size_t bytes = strspn(line, "abcdefghijklmnopqrstuvwxyz");
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i]) == bytes && strncmp(words[i], line, bytes) == 0)
			return true;
	return false;
}

bool statement_leaves(const char *runtime, const char *text)
{
	static const struct {
		const char *runtime, *text;
	} rows[] = {{"python", "exit"}, {"python", "exit()"}, {"python", "exit(0)"},
		{"python", "quit"}, {"python", "quit()"}, {"python", "quit(0)"},
		{"python", "sys.exit()"}, {"python", "sys.exit(0)"}, {"javascript", ".exit"},
		{"javascript", "process.exit()"}, {"javascript", "process.exit(0)"},
		{"sql", ".exit"}, {"sql", ".quit"}, {"shell", "exit"}, {"shell", "exit 0"}};
	text += strspn(text, " \t\r\n");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		size_t bytes = strlen(rows[i].text);
		if (strcmp(rows[i].runtime, runtime) == 0 &&
			strncmp(rows[i].text, text, bytes) == 0 && is_blank(text + bytes))
			return true;
	}
	return false;
}

bool statement_is_in_string(const char *runtime, const char *text)
{
	const struct syntax *syntax = syntax_of(runtime);
	char quote = scan_text(syntax, text).quote;
	const char *end = text + strlen(text);
	if (!quote || (quote == '"' && strcmp(syntax->name, "sql") == 0))
		return false;
	while (end > text && (isalnum((unsigned char)end[-1]) || strchr("_.", end[-1])))
		end--;
	return end == text || !strchr("${", end[-1]);
}
