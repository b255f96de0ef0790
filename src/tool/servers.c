/* SPDX-License-Identifier: Apache-2.0 */
#include "tool/servers.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/json.h"
#include "base/utf8.h"
#include "base/word.h"
#include "tool/toml.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { WHERE_BYTES = 160, TIMEOUT_MAX_MS = 24 * 3600 * 1000, RATE_MAX = 1000000 };

struct reader {
	const char *name; /* the name of the file */
	const char *server;
	struct tool_shelf *shelf;
	servers_env *env;
	struct err *err;
};

static int bad(const struct reader *r, const char *member, const char *what)
{
	return err_set(r->err, ERR_USAGE, "tools: %.80s: %.64s%s%.40s: %.100s", r->name, r->server,
		member ? "." : "", member ? member : "", what);
}

static int no_memory(struct err *err)
{
	return err_set(err, ERR_NO_MEMORY, "tools: no memory for servers");
}

/* ---- expanding ${VAR} in texts ---- */

/* Append the value of a variable. @text is what stands between the braces of ${…}. */
static int put_variable(
	const struct reader *r, const char *member, const char *text, size_t bytes, struct buf *out)
{
	char name[128], what[200];
	const char *fallback = memmem(text, bytes, ":-", 2), *end = text + bytes;
	size_t n = fallback ? (size_t)(fallback - text) : bytes;
	if (n > 4 && strncmp(text, "env:", 4) == 0) {
		text += 4;
		n -= 4;
	} else if (memchr(text, ':', n)) {
		snprintf(what, sizeof what, "${%.*s}: only variables can be filled in here",
			(int)MIN(n, 60), text);
		return bad(r, member, what);
	}
	if (n == 0 || n >= sizeof name || memchr(text, '\0', n))
		return bad(r, member, "${} without the name of a variable");
	snprintf(name, sizeof name, "%.*s", (int)n, text);
	const char *value = r->env(name);
	if (value && *value)
		buf_add(out, value);
	else if (fallback)
		buf_append(out, fallback + 2, (size_t)(end - fallback - 2));
	if (value || fallback)
		return 0;
	snprintf(what, sizeof what, "the variable %.64s is not set", name);
	(void)bad(r, member, what);
	return err_hint(r->err, "set it, or write ${%.64s:-default}", name);
}

static int expand(const struct reader *r, const char *member, const json_t *value, const char **out)
{
	cleanup_buf struct buf text = BUF_INIT(SERVER_TEXT_BYTES);
	const char *from = json_string_value(value), *open;
	int done = 0;
	if (!from || strlen(from) != json_string_length(value))
		return bad(r, member, "a text is needed");
	while (done == 0 && (open = strstr(from, "${"))) {
		const char *close = strchr(open, '}');
		if (!close)
			return bad(r, member, "${ without }");
		buf_append(&text, from, (size_t)(open - from));
		done = put_variable(r, member, open + 2, (size_t)(close - open - 2), &text);
		from = close + 1;
	}
	buf_add(&text, from);
	if (done < 0)
		return done;
	if (buf_error(&text) < 0)
		return bad(r, member, "too long a text");
	*out = shelf_text(r->shelf, buf_str(&text));
	return *out ? 0 : no_memory(r->err);
}

/* ---- reading the members of a server: one function for each kind of value ---- */

typedef int take_fn(const struct reader *r, const char *member, const json_t *value, void *field);

static int take_text(const struct reader *r, const char *member, const json_t *value, void *field)
{
	const char *text;
	int done = expand(r, member, value, &text);
	if (done == 0 && !*text)
		return bad(r, member, "it is empty");
	if (done == 0)
		*(const char **)field = text;
	return done;
}

static int take_texts(const struct reader *r, const char *member, const json_t *value, void *field)
{
	struct server_texts *out = field;
	size_t n = json_array_size(value), i;
	const json_t *item;
	int done = 0;
	if (!json_is_array(value) || n > SERVER_LIST_MAX)
		return bad(r, member, "an array of at most 256 texts is needed");
	const char **list = shelf_take(r->shelf, (n + 1) * sizeof *list);
	if (!list)
		return no_memory(r->err);
	json_array_foreach(value, i, item)
	{
		if (done == 0)
			done = expand(r, member, item, &list[i]);
	}
	if (done == 0)
		*out = (struct server_texts){list, n};
	return done;
}

/* Read {name: text}: environment variables or headers. */
static int take_pairs(const struct reader *r, const char *member, const json_t *value, void *field)
{
	struct server_pairs *out = field;
	size_t n = json_object_size(value), i = 0;
	const char *name;
	json_t *item;
	int done = 0;
	if (!json_is_object(value) || n > SERVER_LIST_MAX)
		return bad(r, member, "an object of at most 256 texts is needed");
	struct server_pair *list = shelf_take(r->shelf, (n + 1) * sizeof *list);
	if (!list)
		return no_memory(r->err);
	json_object_foreach(json_unconst(value), name, item)
	{
		if (done == 0 && (!*name || strpbrk(name, "=\r\n")))
			done = bad(r, member, "not a name of a variable or a header");
		if (done == 0)
			done = expand(r, member, item, &list[i].value);
		list[i].name = shelf_text(r->shelf, name);
		if (done == 0 && !list[i].name)
			done = no_memory(r->err);
		i++;
	}
	if (done == 0)
		*out = (struct server_pairs){list, n};
	return done;
}

static int take_time(
	const struct reader *r, const char *member, const json_t *value, void *field, double unit)
{
	double ms = json_number_value(value) * unit;
	if (!json_is_number(value) || !(ms >= 1) || ms > TIMEOUT_MAX_MS)
		return bad(r, member, "a time of at most a day is needed");
	*(uint64_t *)field = (uint64_t)ms;
	return 0;
}

static int take_ms(const struct reader *r, const char *member, const json_t *value, void *field)
{
	return take_time(r, member, value, field, 1);
}

static int take_seconds(
	const struct reader *r, const char *member, const json_t *value, void *field)
{
	return take_time(r, member, value, field, 1000);
}

static int take_rate(const struct reader *r, const char *member, const json_t *value, void *field)
{
	json_int_t n = json_integer_value(value);
	if (n < 1 || n > RATE_MAX)
		return bad(r, member, "a number of calls per minute is needed");
	*(uint64_t *)field = (uint64_t)n;
	return 0;
}

static int take_protocol(
	const struct reader *r, const char *member, const json_t *value, void *field)
{
	static const char *const words[] = {"auto", "legacy", "modern"};
	const char *text = json_string_value(value);
	for (size_t i = 0; text && i < ARRAY_LEN(words); i++)
		if (strcmp(text, words[i]) == 0) {
			*(enum server_protocol *)field = (enum server_protocol)i;
			return 0;
		}
	return bad(r, member, "auto, legacy or modern is needed");
}

static int take_bool(const struct reader *r, const char *member, const json_t *value, void *field)
{
	if (!json_is_boolean(value))
		return bad(r, member, "true or false is needed");
	*(bool *)field = json_is_true(value);
	return 0;
}

/* Check the member "type", which is not needed: url and command imply the transport. For the
 * transport "sse", explain that it no longer exists. */
static int take_type(const struct reader *r, const char *member, const json_t *value, void *field)
{
	static const char *const words[] = {"stdio", "http", "streamable-http", "streamableHttp"};
	const char *text = json_string_value(value);
	(void)field;
	for (size_t i = 0; text && i < ARRAY_LEN(words); i++)
		if (strcmp(text, words[i]) == 0)
			return 0;
	(void)bad(r, member, "stdio or http is needed");
	return text && strcmp(text, "sse") == 0
		? err_hint(r->err,
			  "the transport \"sse\" ended with 2024-11-05; ask the server's "
			  "maker for its http address")
		: -EINVAL;
}

struct draft {
	struct tool_server server;
	const char *bearer_variable;
	bool is_disabled, is_enabled;
};

#define SERVER(field) offsetof(struct draft, server.field)
static const struct {
	const char *name;
	take_fn *take;
	size_t offset;
} members[] = {
	{"type", take_type, 0},
	{"command", take_text, SERVER(command)},
	{"args", take_texts, SERVER(args)},
	{"env", take_pairs, SERVER(env)},
	{"cwd", take_text, SERVER(cwd)},
	{"url", take_text, SERVER(url)},
	{"headers", take_pairs, SERVER(headers)},
	{"http_headers", take_pairs, SERVER(headers)},
	{"bearer_token_env_var", take_text, offsetof(struct draft, bearer_variable)},
	{"timeout", take_ms, SERVER(timeout_ms)},
	{"tool_timeout_sec", take_seconds, SERVER(timeout_ms)},
	{"protocol", take_protocol, SERVER(protocol)},
	{"allow", take_texts, SERVER(allow)},
	{"enabled_tools", take_texts, SERVER(allow)},
	{"deny", take_texts, SERVER(deny)},
	{"disabled_tools", take_texts, SERVER(deny)},
	{"approve", take_texts, SERVER(approve)},
	{"approveTainted", take_texts, SERVER(approve_tainted)},
	{"rate", take_rate, SERVER(per_minute)},
	{"trust", take_bool, SERVER(is_trusted)},
	{"disabled", take_bool, offsetof(struct draft, is_disabled)},
	{"enabled", take_bool, offsetof(struct draft, is_enabled)},
};

/* Read one member. Ignore unknown members, because other programs use the same file. But a name
 * that resembles a known one is an error, because it is probably misspelled. */
static int take_member(
	const struct reader *r, struct draft *d, const char *name, const json_t *value)
{
	const char *meant = NULL;
	for (size_t i = 0; i < ARRAY_LEN(members); i++) {
		if (strcmp(members[i].name, name) == 0)
			return members[i].take(r, name, value, (char *)d + members[i].offset);
		if (word_distance(members[i].name, name) <= (strlen(name) > 5 ? 2 : 1))
			meant = members[i].name;
	}
	if (!meant)
		return 0;
	(void)bad(r, name, "unknown member");
	return err_hint(r->err, "did you mean %s?", meant);
}

static int add_bearer(const struct reader *r, struct draft *d)
{
	cleanup_buf struct buf text = BUF_INIT(SERVER_TEXT_BYTES);
	struct server_pairs *headers = &d->server.headers;
	const char *key = r->env(d->bearer_variable);
	if (!key || !*key)
		return bad(r, "bearer_token_env_var", "the variable is not set");
	struct server_pair *list = shelf_take(r->shelf, (headers->n + 1) * sizeof *list);
	buf_addf(&text, "Bearer %s", key);
	if (!list || buf_error(&text) < 0)
		return no_memory(r->err);
	for (size_t i = 0; i < headers->n; i++)
		list[i] = headers->item[i];
	list[headers->n] =
		(struct server_pair){"Authorization", shelf_text(r->shelf, buf_str(&text))};
	*headers = (struct server_pairs){list, headers->n + 1};
	return list[headers->n - 1].value ? 0 : no_memory(r->err);
}

static int check(const struct reader *r, const struct draft *d)
{
	const struct tool_server *s = &d->server;
	if (!s->command == !s->url)
		return bad(r, NULL,
			s->url ? "a command or a url, not both" : "a command or a url is needed");
	if (s->url && strncmp(s->url, "http://", 7) != 0 && strncmp(s->url, "https://", 8) != 0)
		return bad(r, "url", "an address of http:// or https:// is needed");
	return 0;
}

static int check_name(const struct reader *r, const char *name)
{
	cleanup_buf struct buf shown = BUF_INIT((size_t)8 * SERVER_NAME_BYTES);
	size_t n = strlen(name);
	if (n == 0 || n > SERVER_NAME_BYTES)
		return bad(r, NULL, "the name of a server has 1 to 64 bytes");
	if (utf8_escape_terminal(&shown, name, n, UTF8_ONE_LINE) < 0 ||
		strcmp(buf_str(&shown), name) != 0)
		return bad(r, NULL, "the name of a server has a control character");
	return 0;
}

static int read_server(struct reader *r, struct tool_servers *out, const char *name, json_t *value)
{
	struct draft d = {
		.server = {.timeout_ms = SERVER_TIMEOUT_MS, .per_minute = SERVER_CALLS_PER_MINUTE},
		.is_enabled = true};
	const char *member;
	json_t *item;
	r->server = name;
	int done = check_name(r, name);
	if (done == 0 && !json_is_object(value))
		done = bad(r, NULL, "an object is needed");
	json_object_foreach(value, member, item)
	{
		if (done == 0)
			done = take_member(r, &d, member, item);
	}
	if (done < 0 || d.is_disabled || !d.is_enabled)
		return done;
	done = check(r, &d);
	if (done == 0 && d.bearer_variable)
		done = add_bearer(r, &d);
	d.server.name = shelf_text(r->shelf, name);
	if (done == 0 && !d.server.name)
		done = no_memory(r->err);
	if (done == 0)
		out->server[out->n++] = d.server;
	return done;
}

static int read_root(struct reader *r, struct tool_servers *out, json_t *root)
{
	static const char *const names[] = {"mcpServers", "servers", "mcp_servers"};
	json_t *all = NULL, *one;
	const char *name;
	int done = 0;
	for (size_t i = 0; !all && i < ARRAY_LEN(names); i++)
		all = json_object_get(root, names[i]);
	if (!json_is_object(all))
		return err_set(r->err, ERR_USAGE,
			"tools: %.100s: no \"mcpServers\", \"servers\" or [mcp_servers.NAME]",
			r->name);
	if (json_object_size(all) > SERVERS_MAX)
		return err_set(
			r->err, ERR_LIMIT, "tools: %.100s: over %d servers", r->name, SERVERS_MAX);
	out->server = shelf_take(r->shelf, (json_object_size(all) + 1) * sizeof *out->server);
	if (!out->server)
		return no_memory(r->err);
	json_object_foreach(all, name, one)
	{
		if (done == 0)
			done = read_server(r, out, name, one);
	}
	return done;
}

static int parse(const char *text, size_t bytes, const char *name, json_t **out, struct err *err)
{
	json_error_t wrong;
	size_t at = 0;
	while (at < bytes && strchr(" \t\r\n", text[at]) && text[at])
		at++;
	if (bytes > SERVERS_FILE_BYTES)
		return err_set(
			err, ERR_LIMIT, "tools: %.100s: over %d bytes", name, SERVERS_FILE_BYTES);
	if (at == bytes || text[at] != '{')
		return toml_read(text, bytes, name, out, err) == 0 ? 0 : err_wrap(err, "tools");
	*out = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &wrong);
	return *out ? 0
		    : err_set(err, ERR_USAGE, "tools: %.100s:%d:%d: %.100s", name, wrong.line,
			      wrong.column, wrong.text);
}

int servers_read(struct tool_servers *out, const char *text, size_t bytes, const char *name,
	servers_env *env, struct err *err)
{
	struct tool_servers all = {0};
	struct reader r = {.name = name, .server = "", .shelf = &all.shelf, .env = env, .err = err};
	cleanup_json json_t *root = NULL;
	int done = parse(text, bytes, name, &root, err);
	if (done == 0)
		done = read_root(&r, &all, root);
	if (done < 0)
		servers_done(&all);
	else
		*out = all;
	return done;
}

int servers_load(struct tool_servers *out, const char *path, servers_env *env, struct err *err)
{
	cleanup_buf struct buf text = BUF_INIT(SERVERS_FILE_BYTES);
	int r = file_load(&text, path, "tools:", err);
	return r < 0 ? r : servers_read(out, buf_str(&text), text.bytes, path, env, err);
}

void servers_done(struct tool_servers *s)
{
	shelf_done(&s->shelf);
	*s = (struct tool_servers){0};
}

bool servers_glob(const char *pattern, const char *text)
{
	const char *star = NULL, *tried = NULL;
	while (*text) {
		if (*pattern == '*') {
			star = pattern++;
			tried = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star) {
			pattern = star + 1;
			text = ++tried;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

bool servers_is_among(const struct server_texts *patterns, const char *name)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (servers_glob(patterns->item[i], name))
			return true;
	return false;
}

bool servers_allows(const struct tool_server *s, const char *name)
{
	return !servers_is_among(&s->deny, name) &&
		(s->allow.n == 0 || servers_is_among(&s->allow, name));
}
