/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/http/token.h"

#include "base/alloc.h"
#include "base/num.h"
#include "serve/private_file.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { SETTING_BYTES = 64 };

/* ---- parsing the token file ---- */

/* The current line of the file, for error messages. */
struct place {
	const char *path;
	unsigned line;
};

static int bad(const struct place *at, struct err *err, const char *what, const char *hint)
{
	(void)err_set(err, ERR_USAGE, "%.120s:%u: %s", at->path, at->line, what);
	return err_hint(err, "%s", hint);
}

static int read_rate(const char *text, uint64_t *rate, struct err *err)
{
	char digits[SETTING_BYTES];
	size_t n = strspn(text, "0123456789");
	if (strcmp(text + n, "/min") != 0 || n >= sizeof digits)
		return err_set(err, ERR_USAGE, "not a rate per minute");
	memcpy(digits, text, n);
	digits[n] = '\0';
	return num_parse_count(digits, (struct num_range){1, UINT32_MAX}, rate, err);
}

static int read_count(const char *text, uint64_t *count, struct err *err)
{
	return num_parse_count(text, (struct num_range){1, UINT32_MAX}, count, err);
}

static int read_bytes(const char *text, uint64_t *bytes, struct err *err)
{
	return num_parse_bytes(text, (struct num_range){1, INT64_MAX}, bytes, err);
}

static int read_net(const char *text, uint64_t *net, struct err *err)
{
	static const char *const words[] = {"no", "public", "any"};
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(text, words[i]) == 0) {
			*net = i;
			return 0;
		}
	return err_set(err, ERR_USAGE, "not no, public or any");
}

static int read_flag(const char *text, bool *flag)
{
	if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
		return -EINVAL;
	*flag = text[0] == 'y';
	return 0;
}

/* The settings that may follow the token on a line. The value of a setting is either a number,
 * which `read` parses, or a flag, which `read_flag` parses. */
static const struct setting {
	const char *name;
	size_t offset;
	int (*read)(const char *text, uint64_t *value, struct err *err);
	int (*read_flag)(const char *text, bool *flag);
} settings[] = {
	{"sessions=", offsetof(struct principal_limits, n_sessions), read_count},
	{"steps=", offsetof(struct principal_limits, n_steps), read_count},
	{"memory=", offsetof(struct principal_limits, memory_bytes), read_bytes},
	{"rate=", offsetof(struct principal_limits, steps_per_minute), read_rate},
	{"disk=", offsetof(struct principal_limits, disk_bytes), read_bytes},
	{"paths=", offsetof(struct principal_limits, may_name_host_paths), NULL, read_flag},
	{"net=", offsetof(struct principal_limits, net), read_net},
	{"metrics=", offsetof(struct principal_limits, may_see_metrics), NULL, read_flag},
	{"tools=", offsetof(struct principal_limits, may_use_tools), NULL, read_flag},
};

static int take_setting(const struct place *at, const char *word, struct principal_limits *limits,
	unsigned *seen, struct err *err)
{
	struct err inner;
	for (size_t i = 0; i < ARRAY_LEN(settings); i++) {
		const struct setting *s = &settings[i];
		const char *text = word + strlen(s->name);
		void *field = (char *)limits + s->offset;
		if (strncmp(word, s->name, strlen(s->name)) != 0)
			continue;
		if (*seen & 1U << i)
			return bad(at, err, "a setting given twice", "leave one out");
		*seen |= 1U << i;
		int r = s->read ? s->read(text, field, &inner) : s->read_flag(text, field);
		if (r == 0)
			return 0;
		return bad(at, err, "invalid value of a setting",
			"sessions=10 steps=2 memory=4g rate=60/min disk=1g paths=no net=public "
			"metrics=no tools=no");
	}
	return bad(at, err, "unknown setting",
		"NAME TOKEN sessions=N steps=N memory=SIZE rate=N/min disk=SIZE paths=yes "
		"net=public|any metrics=yes tools=yes");
}

static bool is_name(const char *word)
{
	size_t bytes = strlen(word);
	for (const char *at = word; *at; at++)
		if (!isascii(*at) || (!isalnum(*at) && !strchr("._-", *at)))
			return false;
	return bytes > 0 && bytes < PRINCIPAL_NAME_BYTES;
}

/* Return whether the word has the form of a bearer token (b64token in RFC 6750). */
static bool is_token(const char *word)
{
	size_t n = 0, bytes = strlen(word);
	while (isascii(word[n]) && word[n] && (isalnum(word[n]) || strchr("-._~+/", word[n])))
		n++;
	return n > 0 && n + strspn(word + n, "=") == bytes;
}

static void hash(const char *token, size_t bytes, unsigned char out[TOKEN_HASH_BYTES])
{
	(void)crypto_generichash(
		out, TOKEN_HASH_BYTES, (const unsigned char *)token, bytes, NULL, 0);
}

static int take_line(const struct place *at, char *line, struct token_row *row, struct err *err)
{
	char *rest = NULL;
	const char *name = strtok_r(line, " \t\r", &rest);
	*row = (struct token_row){0};
	if (!name || *name == '#')
		return 0;
	const char *token = strtok_r(NULL, " \t\r", &rest);
	if (!is_name(name))
		return bad(at, err, "invalid name",
			"up to 63 letters, digits, dots, dashes and underscores");
	if (strcmp(name, PRINCIPAL_ANYONE) == 0)
		return bad(at, err, "a name that is reserved for callers without a token",
			"choose another");
	if (!token || *token == '#')
		return bad(at, err, "a name without a token", "NAME TOKEN: openssl rand -hex 32");
	if (!is_token(token))
		return bad(at, err, "a token with invalid characters",
			"letters, digits and -._~+/ only: openssl rand -hex 32");
	if (strlen(token) < TOKEN_CHARS_MIN || strlen(token) > TOKEN_CHARS_MAX)
		return bad(at, err, "a token that is too short or too long",
			"use 16 to 512 random characters: openssl rand -hex 32");
	(void)strcpy(row->name, name);
	hash(token, strlen(token), row->hash);
	const char *word;
	unsigned seen = 0;
	while ((word = strtok_r(NULL, " \t\r", &rest)) && *word != '#') {
		int r = take_setting(at, word, &row->limits, &seen, err);
		if (r < 0)
			return r;
	}
	return 1;
}

static int check_new(const struct place *at, const struct token_row *rows, size_t n_rows,
	const struct token_row *row, struct err *err)
{
	for (size_t i = 0; i < n_rows; i++) {
		if (strcmp(rows[i].name, row->name) == 0)
			return bad(at, err, "a name that an earlier line has",
				"write one line for each caller");
		if (sodium_memcmp(rows[i].hash, row->hash, TOKEN_HASH_BYTES) == 0)
			return bad(at, err, "a token that an earlier line has",
				"give each caller a token of its own");
	}
	return 0;
}

int token_parse(
	const char *path, const char *text, struct token_row **out, size_t *n_out, struct err *err)
{
	struct place at = {.path = path};
	struct token_row *rows = calloc(TOKENS_MAX, sizeof *rows), row;
	char *copy = strdup(text), *rest = copy, *line;
	size_t n = 0;
	int r = rows && copy ? 0 : err_set(err, ERR_NO_MEMORY, "no memory for tokens");
	while (r == 0 && (line = strsep(&rest, "\n"))) {
		at.line++;
		r = take_line(&at, line, &row, err);
		if (r <= 0)
			continue;
		r = check_new(&at, rows, n, &row, err);
		if (r == 0 && n == TOKENS_MAX)
			r = bad(&at, err, "too many tokens", "1024 are taken");
		if (r == 0)
			rows[n++] = row;
	}
	if (r == 0 && n == 0) {
		r = err_set(err, ERR_USAGE, "no token in %.150s", path);
		(void)err_hint(
			err, "a line for each caller: NAME TOKEN, from openssl rand -hex 32");
	}
	if (copy)
		sodium_memzero(copy, strlen(text));
	free(copy);
	if (r < 0) {
		free(rows);
		return r;
	}
	*out = rows;
	*n_out = n;
	return 0;
}

static int read_file(const char *path, struct token_row **rows, size_t *n_rows, struct err *err)
{
	static const struct private_file file = {.what = "token file",
		.form = "a line for each caller: NAME TOKEN, from openssl rand -hex 32",
		.spill = "chmod 600, and make new tokens",
		.max_bytes = TOKEN_FILE_BYTES};
	char *text;
	int r = private_file_read(&file, path, &text, err);
	if (r < 0)
		return r;
	r = token_parse(path, text, rows, n_rows, err);
	private_file_free(text);
	return r;
}

/* ---- the list of callers and their tokens ---- */

/* A caller. It is kept when its token is removed from the file, because sessions and running calls
 * still refer to its principal. */
struct caller {
	struct caller *next;
	struct operation_context context;
};

struct token {
	unsigned char hash[TOKEN_HASH_BYTES];
	const struct caller *caller;
};

struct token_list {
	char path[PATH_MAX];
	struct operation_context base;
	struct caller *callers;
	struct token *tokens;
	size_t n_tokens;
};

static struct caller *find_caller(const struct token_list *list, const char *name)
{
	struct caller *c = list->callers;
	while (c && strcmp(principal_name(c->context.principal), name) != 0)
		c = c->next;
	return c;
}

static int take_caller(struct token_list *list, const struct token_row *row,
	const struct caller **out, struct err *err)
{
	struct caller *c = find_caller(list, row->name);
	if (c) {
		*out = c;
		return 0;
	}
	c = xnew(struct caller);
	c->context = list->base;
	int r = principal_new(&c->context.principal, row->name, &row->limits, err);
	if (r < 0) {
		free(c);
		return r;
	}
	c->next = list->callers;
	list->callers = c;
	*out = c;
	return 0;
}

int token_list_reload(struct token_list *list, struct err *err)
{
	struct token_row *rows = NULL;
	size_t n_rows = 0;
	int r = read_file(list->path, &rows, &n_rows, err);
	if (r < 0)
		return r;
	struct token *tokens = n_rows ? calloc(n_rows, sizeof *tokens) : NULL;
	if (!tokens)
		r = err_set(err, ERR_NO_MEMORY, "no memory for tokens");
	for (size_t i = 0; r == 0 && i < n_rows; i++) {
		memcpy(tokens[i].hash, rows[i].hash, TOKEN_HASH_BYTES);
		r = take_caller(list, &rows[i], &tokens[i].caller, err);
	}
	for (size_t i = 0; r == 0 && i < n_rows; i++)
		principal_set_limits(tokens[i].caller->context.principal, &rows[i].limits);
	free(rows);
	if (r < 0) {
		free(tokens);
		return r;
	}
	free(list->tokens);
	list->tokens = tokens;
	list->n_tokens = n_rows;
	return 0;
}

int token_list_open(struct token_list **out, const char *path, const struct operation_context *base,
	struct err *err)
{
	*out = NULL;
	struct token_list *list = xnew(struct token_list);
	snprintf(list->path, sizeof list->path, "%s", path);
	list->base = *base;
	int r = token_list_reload(list, err);
	if (r < 0) {
		token_list_close(list);
		return r;
	}
	*out = list;
	return 0;
}

const struct operation_context *token_find(const struct token_list *list, const char *token)
{
	unsigned char asked[TOKEN_HASH_BYTES];
	const struct caller *found = NULL;
	hash(token, strlen(token), asked);
	/* Compare with all tokens, even after a match, so that the time does not tell which one
	 * matches. */
	for (size_t i = 0; i < list->n_tokens; i++)
		if (sodium_memcmp(list->tokens[i].hash, asked, TOKEN_HASH_BYTES) == 0)
			found = list->tokens[i].caller;
	return found ? &found->context : NULL;
}

void token_list_close(struct token_list *list)
{
	if (!list)
		return;
	while (list->callers) {
		struct caller *c = list->callers;
		list->callers = c->next;
		principal_free(c->context.principal);
		free(c);
	}
	free(list->tokens);
	free(list);
}
